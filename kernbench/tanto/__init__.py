"""Tanto: the second programming system, for chips of Tensix cores.

`language` compiles kernels from their C++-like source, `chip` holds what a program creates on a device, `cores` runs kernels and
computes numbers, `timing` lowers what they did to rows of a device program.
"""
