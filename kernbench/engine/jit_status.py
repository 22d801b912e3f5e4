"""Whether the compiled loops are there, and their first call in a process, which compiles them if they are not."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

from kernbench.limits.time_limit import current_watch
from kernels_jit.compile.cache import is_warm
from kernels_jit.compile.lock import compile_lock

Returned = TypeVar("Returned")


def needs_compile(*, group: bool = False) -> bool:
    """True until the compiled loops of this version are in the cache; with `group`, those of runs in a batch."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return False
    return not is_warm() or (group and not is_warm("batch.run_points"))


def call_first(loop: Callable[..., Returned], *arguments: object, group: bool = False) -> Returned:
    """Call a loop for the first time in this process; with `group`, that of runs in a batch.

    If it is not in the cache, one process compiles it while others wait. A time limit counts neither.
    """
    if not needs_compile(group=group):
        return loop(*arguments)
    watch = current_watch()
    with watch.suspended() if watch else nullcontext(), compile_lock():
        return loop(*arguments)
