"""A pause of the garbage collector while kernels are recorded.

Each call of a kernel makes a note, which lives as long as the program and is part of no cycle. The collector would scan
all notes again and again, which is a quarter of the time of recording.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_gc() -> Iterator[None]:
    """Disable collection within the block; afterwards restore the state of the collector."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
