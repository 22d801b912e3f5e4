"""The second pass: compute the numbers of a program from its notes and the times of a run."""
