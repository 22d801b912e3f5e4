"""A pause of the garbage collector while kernels are recorded.

What a kernel does is noted, in `tl` with a note for each call. Notes live as long as the program and are part of no cycle. The
collector would scan them all again and again, which is a quarter of the time of recording in `tl`, and a twelfth of a program
of Tanto.
"""

from __future__ import annotations

from kernels_jit.compile.gc_pause import pause_gc

__all__ = ["pause_gc"]
