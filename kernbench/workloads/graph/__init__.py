"""Graphs of operators: the middle form between files of networks and the kernels of a machine."""
