"""The house decorator: the one place that says how loops are compiled, and why so.

* lazily: signatures written out would cost a second of import for every twenty functions;
* with all that they call, as a whole (see `kernels_jit.linking`);
* cached, in a directory that follows all sources (see `kernels_jit.cache`), in files of our own (`kernels_jit.overloads`);
* without the GIL, so that runs may share a process;
* without fastmath, because results are the same bytes everywhere;
* not in parallel inside a run: sweeps run points side by side, and `prange` forbids a later fork.

Under `NUMBA_DISABLE_JIT=1` the functions stay plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

from kernels_jit.linking import Loop

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile a function on its first call: `@jit` above a plain function of arrays and integers."""
    return _compile_lazily(function, count_references=True)


def inlined(function: F) -> F:
    """Compile as `inner` does, a function that becomes part of each caller whatever its size: it is a name for some lines."""
    return _compile_lazily(function, count_references=False, forceinline=True)


def inner(function: F) -> F:
    """Compile a function that works in arrays it is given, and neither makes nor answers any.

    It does not count references. Numba counts those to every array at every call, atomically, and that was a third of the
    time of work in which flits are few and calls many.
    """
    return _compile_lazily(function, count_references=False)


def _compile_lazily(function: F, *, count_references: bool, forceinline: bool = False) -> F:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    options = {
        "nopython": True,
        "nogil": True,
        "fastmath": False,
        "error_model": "numpy",
        "boundscheck": None,
        "_nrt": count_references,
        "forceinline": forceinline,
    }
    return Loop(function, targetoptions=options)  # type: ignore[return-value]
