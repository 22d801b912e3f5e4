"""How far compiling is: which function, how much of it, since when; and how long it has taken in all.

A first run compiles for seconds. Whoever shows that to people registers a listener, which hears each second.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

PULSE_S = 1.0


class Compiling(NamedTuple):
    """What is compiled: an entry point, and how many of its functions numba has translated, after some seconds."""

    name: str | None  # None: another process compiles, and this one waits
    translated: int
    functions: int
    seconds: float


Listener = Callable[[Compiling | None], None]
_listener: Listener | None = None
_lock = threading.Lock()
_active = 0  # threads that compile or load
_begun_s = _sum_s = 0.0
_translated = 0


def listen(listener: Listener | None) -> None:
    """Let a function hear, from another thread, what is compiled: each second, and None at its end if it heard anything."""
    global _listener
    _listener = listener


def note_translation() -> None:
    """Note that numba begins to translate a function."""
    global _translated
    _translated += 1


def compiled_s() -> float:
    """Seconds of this process in which functions were compiled or loaded."""
    with _lock:
        return _sum_s + (perf_counter() - _begun_s if _active else 0.0)


@contextmanager
def compiling(function: Any) -> Iterator[None]:
    """Count the time, and let the listener hear each second that an entry point is compiled, but not what it calls itself."""
    global _active, _begun_s, _sum_s
    over, watcher = threading.Event(), None
    with _lock:
        _active += 1
        if _active == 1:
            _begun_s = perf_counter()
            if _listener:
                watcher = threading.Thread(target=_pulse, args=(function, over, _listener), daemon=True)
                watcher.start()
    try:
        yield
    finally:
        with _lock:
            _active -= 1
            if _active == 0:
                _sum_s += perf_counter() - _begun_s
        if watcher:
            over.set()
            watcher.join()


def _pulse(function: Any, over: threading.Event, listener: Listener) -> None:
    begun_s, before, functions = perf_counter(), _translated, 0
    while not over.wait(PULSE_S):
        functions = functions or count_below(function)
        translated = min(_translated - before, functions)
        listener(Compiling(function.__name__, translated, functions, perf_counter() - begun_s))
    if functions:
        listener(None)


@contextmanager
def waiting() -> Iterator[Callable[[], None]]:
    """Gives a function to be called now and then while this process waits for another one that compiles."""
    begun_s, told = perf_counter(), 0

    def tell() -> None:
        nonlocal told
        seconds = perf_counter() - begun_s
        if _listener and seconds >= (told + 1) * PULSE_S:
            told = int(seconds / PULSE_S)
            _listener(Compiling(None, 0, 0, seconds))

    yield tell
    if _listener and told:
        _listener(None)


def count_below(function: Any) -> int:
    """The number of compiled functions that a compiled function calls, on all levels, with itself."""
    found, todo = {function}, [function]
    while todo:
        plain = todo.pop().py_func
        called = (plain.__globals__.get(name) for name in plain.__code__.co_names)
        below = {value for value in called if hasattr(value, "py_func")} - found
        found |= below
        todo += below
    return len(found)
