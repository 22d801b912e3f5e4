"""The decorators of compiled functions, with all compile options and their reasons.

* lazily: signatures written out would cost a second of import for every twenty functions;
* entry points are cached, in a directory that follows all sources (see `compile.cache`), and loaded without what only a
  compilation needs;
* functions that every run calls make no arrays: a kept function that does loads numba's rules for arrays, 30 ms;
* without the GIL, so that runs may share a process;
* without fastmath, because results are the same bytes everywhere;
* not in parallel inside a run: sweeps run points side by side, and `prange` forbids a later fork.

Under `NUMBA_DISABLE_JIT=1` the functions stay plain Python.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar

import numba

from kernels_jit.compile.aside import call_aside
from kernels_jit.compile.cache import directory, filed_by_content
from kernels_jit.compile.gc_pause import pause_gc
from kernels_jit.compile.progress import compiling
from kernels_jit.compile.whole_program import compilers

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


_INNER, _ENTRY = (
    options | ({"pipeline_class": compiler} if compiler else {})
    for options, compiler in zip((inner_options(), _OPTIONS), compilers() or (None, None), strict=True)
)


@cache
def lean_cache() -> type[Any] | None:
    """numba's cache of a function, but that it loads machine code without the rules by which numba generates code.

    numba imports all of them, and SciPy's linear algebra, before it loads a function: a fifth of the time of a short command.
    Machine code needs none, only the runtime that counts references of arrays. A compilation loads the rules itself. None for a
    numba in which this is done in another way, which then loads as it does.
    """
    try:
        from numba.core.caching import FunctionCache
        from numba.core.runtime.nrt import rtsys
    except ImportError:
        return None
    if not all(hasattr(FunctionCache, name) for name in ("_load_overload", "_guard_against_spurious_io_errors")):
        return None

    class LeanCache(FunctionCache):
        def load_overload(self, sig: Any, target_context: Any) -> Any:
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)

    return LeanCache


CHECKED = os.environ.get("KERNBENCH_CHECKED", "0") not in ("", "0")
"""Whether loops assert their invariants (docs/engine.md). Tests switch it on; it is read when loops are imported."""


def jit(function: F) -> F:
    """Compile a function that Python calls, on its first call, and keep its machine code."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    function.__code__ = filed_by_content(function.__code__)
    compiled: Any = numba.njit(**_ENTRY)(function)
    _keep(compiled)
    compiled.compile = partial(_compile, compiled, compiled.compile)
    return compiled


def _compile(compiled: Any, compile_for: Callable[..., Any], signature: Any) -> Any:
    """Compile a function for a signature, or load it, aside and with its progress."""
    with compiling(compiled), pause_gc():  # numba makes many objects and drops few: a tenth of its time
        return call_aside(compile_for, signature)


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
        if (lean := lean_cache()) and type(getattr(compiled, "_cache", None)) is lean.__base__:
            compiled._cache = lean(compiled.py_func)
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
