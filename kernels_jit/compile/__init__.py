"""Compilation of loops, the cache of machine code, and memory access of compiled code."""
