"""Time limit of a run, held by a thread that watches it and raises an exception in the thread of the run.

That stops any Python code, in whatever thread, without cost to runs that keep their limit. CPython has a documented call for it
(`PyThreadState_SetAsyncExc`). A signal would reach the main thread alone, and workers of a cluster are other threads.
Neither stops compiled code: loops of the simulator return every second, and a worker process that does not react is
killed (`kernbench.sweep.execution.process_pool`).

A kernel has a limit without being asked, since one that loops for ever would hang the run: the time of one call on one PE,
or of a live kernel between two of its asks.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic, sleep

from kernbench.errors import LimitError
from kernbench.limits.memory_budget import is_out_of_memory, tell_full
from kernbench.limits.run_limits import tell_s

KERNEL_S = 600.0  # of a kernel without a limit: a hundred million calls of tl, more than memory holds operations
AGAIN_S = 5.0  # until it is raised again, for code that has caught it; longer than it takes to word an error
LOOK_S = 0.1  # how often the watching thread looks
_TURNS = 8  # of a loop: an exception that is on its way to a thread is raised at the next one
REMEDY = "if nothing in it loops for ever, give a longer time limit (--time-limit, or time_limit in a grid)"


class TimeLimitReached(BaseException):  # no Exception: code of users that handles those must not handle it
    """Raised in the thread of a run at any line, when its time is over. Its text says which limit it was."""

    def __init__(self) -> None:
        watch = _watches.get(threading.get_ident())
        if watch is not None:
            watch.reached = True
        super().__init__("its time is over" if watch is None else watch.reason)


class Watch:
    """The time of what one thread does."""

    def __init__(self, limit_s: float | None) -> None:
        self.reason = ""
        self.reached = False  # whether the exception has come to the thread
        self._limit_s = limit_s
        self._begun = monotonic()
        self._kernel_begun: float | None = None
        self._raised: float | None = None
        self._suspended: float | None = None

    def begin_kernel(self) -> None:
        """A kernel begins a step: a call on one PE, or what a live kernel does between two asks."""
        self._kernel_begun = monotonic()

    def end_kernel(self) -> None:
        """The step is over."""
        self._kernel_begun = None

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Do not count the time of the block."""
        self._suspended = monotonic()
        try:
            yield
        finally:
            self._begun += monotonic() - self._suspended
            self._suspended = None

    def is_due(self, now: float) -> bool:
        """Whether to raise now; `reason` is then the text. Called by the watching thread."""
        if self._suspended is not None or (self._raised is not None and now < self._raised + AGAIN_S):
            return False
        limit_s, kernel_begun = self._limit_s, self._kernel_begun
        if limit_s is not None and now > self._begun + limit_s:
            self.reason = f"it takes longer than its time limit of {tell_s(limit_s)}"
        elif limit_s is None and kernel_begun is not None and now > kernel_begun + KERNEL_S:
            self.reason = f"it has not come to its end after {tell_s(KERNEL_S)}"
        else:
            return False
        self._raised = now
        return True


_watches: dict[int, Watch] = {}  # by thread
_lock = threading.Lock()
_wake = threading.Event()
_watcher: threading.Thread | None = None


@contextmanager
def limit_time(limit_s: float | None, tell: Callable[[], str]) -> Generator[None]:
    """Limit the block to some seconds of wall time; with None each kernel in it to `KERNEL_S`. Within another it has no effect.

    `tell()` begins the sentence of the error with what is done: "bench 'x', recording it". Errors: LimitError, also where the
    block runs out of memory.
    """
    thread = threading.get_ident()
    if thread in _watches:
        yield
        return
    watch = Watch(limit_s)
    try:
        try:
            _begin(thread, watch)
            yield
        finally:
            _end(thread, watch)
        if watch.reached:  # code of the user has caught it, and who knows what it left undone
            raise LimitError(f"{tell()}: {watch.reason}; {REMEDY}")
    except TimeLimitReached as reached:
        _end(thread, watch)  # again, if it came at the very begin of the first
        raise LimitError(f"{tell()}: {reached}; {REMEDY}") from reached
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise LimitError(f"{tell()}: {tell_full(error)}") from error


def current_watch() -> Watch | None:
    """The watch of this thread, if there is one."""
    return _watches.get(threading.get_ident())


@contextmanager
def watched_kernel() -> Generator[None]:
    """Limit the time of the block as that of a step of a kernel, if this thread has a watch."""
    watch = current_watch()
    if watch is None:
        yield
        return
    watch.begin_kernel()
    try:
        yield
    finally:
        watch.end_kernel()


def _begin(thread: int, watch: Watch) -> None:
    global _watcher
    with _lock:
        _watches[thread] = watch
        if _watcher is None or not _watcher.is_alive():  # a fork of a process has no thread of its parent
            _watcher = threading.Thread(target=_look, name="kernbench time limit", daemon=True)
            _watcher.start()
    _wake.set()


def _end(thread: int, watch: Watch) -> None:
    """Stop watching a thread. What is on its way is raised here, and counts: the time was over before the end.

    It is not taken back: CPython 3.11 would then look for it at every turn of a loop from there on, and hang in a profiler.
    """
    while True:
        try:
            with _lock:
                _watches.pop(thread, None)
            for _ in range(_TURNS):
                pass
            return
        except TimeLimitReached:
            watch.reached = True


def _look() -> None:
    """The life of the watching thread."""
    while True:
        with _lock:
            if not _watches:
                _wake.clear()
            now = monotonic()
            for thread, watch in _watches.items():
                if watch.is_due(now):
                    _raise_in(thread, TimeLimitReached)
        _wake.wait()
        sleep(LOOK_S)


def _raise_in(thread: int, kind: type[BaseException]) -> None:
    """Raise an exception in a thread at its next line of Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))
