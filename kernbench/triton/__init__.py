"""Triton kernels: the language, and how its programs meet the machine."""
