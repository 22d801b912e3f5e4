"""A pause of Python's garbage collector while millions of objects are made and few become garbage."""

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
