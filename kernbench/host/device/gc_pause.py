"""A pause of the garbage collector while kernels are recorded.

Each call of a kernel leaves a note, which stays and is part of no cycle. The collector goes through all of them again and
again, for a quarter of the time that recording takes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_gc() -> Iterator[None]:
    """No collection within the block; afterwards the collector is as it was."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
