"""Tanto: the second programming system, for chips of Tensix cores.

`language` compiles kernels from their C++-like source, `cores` runs them and computes numbers, `timing` lowers what they did to
rows of a device program. `api` is the host's side.
"""
