"""The house decorator: the one place that says how loops are compiled, and why so.

* lazily: signatures written out would cost a second of import for every twenty functions;
* cached, in a directory that follows all sources (see `kernels_jit.cache`);
* without the GIL, so that runs may share a process;
* without fastmath, because results are the same bytes everywhere;
* not in parallel inside a run: sweeps run points side by side, and `prange` forbids a later fork.

The cache directory is numba's only while a function is being decorated, so other users of numba keep theirs.
Under `NUMBA_DISABLE_JIT=1` the functions stay plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numba

from kernels_jit.cache import directory

F = TypeVar("F", bound=Callable[..., Any])


@cache
def _directory() -> str:
    return str(directory())


def jit(function: F) -> F:
    """Compile a function on its first call: `@jit` above a plain function of arrays and integers."""
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, _directory()  # type: ignore[attr-defined]
    try:
        return numba.njit(cache=True, nogil=True, fastmath=False, error_model="numpy")(function)  # type: ignore[return-value]
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
