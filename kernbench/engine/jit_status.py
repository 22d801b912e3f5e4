"""Whether the compiled loops are there, and calls of them; the first call in a process compiles the rest.

What is compiled is logged (`logging.getLogger("kernbench")`, level INFO), unless somebody else listens, as commands do.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from time import perf_counter
from typing import TypeVar

from kernbench.limits.time_limit import current_watch
from kernels_jit.compile.cache import is_warm
from kernels_jit.compile.lock import compile_lock
from kernels_jit.compile.progress import Compiling, compiled_s, listen

__all__ = ["RUN", "RUN_POINTS", "RUN_WITH_CREDITS", "Compiling", "enter", "listen", "needs_compile", "running_s"]

LOGGER = "kernbench"
LINE_S = 10

Returned = TypeVar("Returned")

RUN, RUN_POINTS, RUN_WITH_CREDITS = "loop.run", "batch.run_points", "loop.run_with_credits"

_entered: set[Callable[..., object]] = set()


def needs_compile(loop: str = RUN) -> bool:
    """True until a loop of this version, by module and name, is in the cache."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") == "0" and not is_warm(loop)


def enter(loop: Callable[..., Returned], *arguments: object) -> Returned:
    """Call a loop. If it is not in the cache, one process compiles it while others wait. A time limit counts neither."""
    if loop in _entered:
        return loop(*arguments)
    if needs_compile(f"{loop.__module__.rpartition('.')[2]}.{loop.__name__}"):
        watch = current_watch()
        with watch.suspended() if watch else nullcontext(), compile_lock():
            returned = loop(*arguments)
    else:
        returned = loop(*arguments)
    _entered.add(loop)
    return returned


def running_s() -> float:
    """Seconds on a clock that stops while this process compiles."""
    return perf_counter() - compiled_s()


class CompilingLines:
    """A line on what is compiled after its first second, then one each ten."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._told_s = -LINE_S

    def tell(self, now: Compiling | None) -> None:
        """Write a line on what is compiled now, if it is time for one; None: nothing is any more."""
        if now is None:
            self._told_s = -LINE_S
        elif now.seconds - self._told_s >= LINE_S:
            self._told_s = now.seconds
            self._write(describe(now))


def describe(now: Compiling) -> str:
    """A line on what is compiled."""
    if now.name is None:
        return f"waiting for another process that compiles the simulator, {now.seconds:.0f} s"
    done = f"{now.translated} of {now.functions} functions" if now.translated < now.functions else "machine code"
    return f"compiling the simulator, once: {now.name}, {done}, {now.seconds:.0f} s"


def _log(line: str) -> None:
    import logging

    logging.getLogger(LOGGER).info(line)


listen(CompilingLines(_log).tell)
