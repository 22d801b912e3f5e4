"""Kernels that run once by themselves, as scripts of what they do, from which the rows of many cores are made."""
