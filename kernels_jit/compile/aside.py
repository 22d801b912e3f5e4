"""Compiling in a thread of its own, so that the main thread hears signals.

Python runs the handler of a signal, such as that of Ctrl-C, in the main thread between two lines of Python. A thread in which
LLVM works comes to none for half a minute, or to those of a callback, which drops what the handler raises. So the main thread
waits for another one, and Python interrupts that. LLVM cannot be stopped: a command ends without it (`leave`).
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

_STACK_BYTES = 64 << 20  # of such a thread; where the shell sets no limit it would get 2 MiB
_threads: set[threading.Thread] = set()


def call_aside(
    function: Callable[Parameters, Returned], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Returned:
    """Call a function in another thread if this is the main one; returns what it returns, raises what it raises."""
    if threading.current_thread() is not threading.main_thread():
        return function(*args, **kwargs)
    returned, raised = list[Returned](), list[BaseException]()

    def work() -> None:
        try:
            returned.append(function(*args, **kwargs))
        except BaseException as error:
            raised.append(error)

    before = threading.stack_size(_STACK_BYTES)
    try:
        thread = threading.Thread(target=work, name="kernbench compiling")
        _threads.add(thread)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    _threads.discard(thread)
    if raised:
        raise raised[0]
    return returned[0]


def leave(code: int) -> None:
    """End the process with an exit code if something is still compiled, for which Python would wait; else do nothing."""
    if any(thread.is_alive() for thread in _threads):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # full, or closed
                stream.flush()
        os._exit(code)
