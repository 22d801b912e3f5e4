"""The decorators of compiled functions, with all compile options and their reasons.

* lazily: signatures written out would cost a second of import for every twenty functions;
* entry points are cached, in a directory that follows all sources (see `compile.cache`);
* without the GIL, so that runs may share a process;
* without fastmath, because results are the same bytes everywhere;
* not in parallel inside a run: sweeps run points side by side, and `prange` forbids a later fork.

Under `NUMBA_DISABLE_JIT=1` the functions stay plain Python.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numba

from kernels_jit.compile.cache import directory

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_NO_WRAPPERS = ("no_cpython_wrapper", "no_cfunc_wrapper")


def inner_options() -> dict[str, Any]:
    """Options of functions that only compiled code calls: without the wrappers for calls from Python.

    That saves a fifth of compile time. numba does not document these options; if they are missing there is a warning.
    """
    try:
        from numba.core.options import DefaultOptions

        known = all(hasattr(DefaultOptions, option) for option in _NO_WRAPPERS)
    except ImportError:
        known = False
    if not known:
        warnings.warn("this numba compiles wrappers for inner functions too; a first run takes longer", stacklevel=2)
        return _OPTIONS
    return _OPTIONS | dict.fromkeys(_NO_WRAPPERS, True)


_INNER = inner_options()

CHECKED = os.environ.get("KERNBENCH_CHECKED", "0") not in ("", "0")
"""Whether loops assert their invariants (docs/engine.md). Tests switch it on; it is read when loops are imported."""


def jit(function: F) -> F:
    """Compile a function that Python calls, on its first call, and keep its machine code."""
    compiled: Any = numba.njit(**_OPTIONS)(function)
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        _keep(compiled)
    return compiled


def inner(function: F) -> F:
    """Compile a function that compiled code calls. It becomes part of the entry points, which are cached."""
    return numba.njit(**_INNER)(function)  # type: ignore[return-value]


def inlined(function: F) -> F:
    """Compile as `inner` does, and inline the function into each caller whatever its size."""
    return numba.njit(forceinline=True, **_INNER)(function)  # type: ignore[return-value]


def _keep(compiled: Any) -> None:
    """Let numba cache a function in our directory. It reads that setting when a function's cache is switched on."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(directory())  # type: ignore[attr-defined]
    try:
        compiled.enable_caching()
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
