"""A pause of the garbage collector while kernels are recorded.

What a kernel does is noted, in `tl` with a note for each call. Notes live as long as the program and are part of no cycle. The
collector would scan them all again and again, which is a quarter of the time of recording in `tl`, and a twelfth of a program
of Tanto.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def pause_gc() -> Generator[None]:
    """Disable collection within the block; afterwards restore the state of the collector."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
