"""The language of Triton kernels: blocks, pointers, functions, jit."""
