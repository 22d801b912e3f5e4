"""Running the kernels of a program: their objects, the numbers that they move and compute, and who waits for whom."""
