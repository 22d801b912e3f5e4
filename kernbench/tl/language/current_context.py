"""The context of the running kernel, one for each Python thread; tensor operators act on it.

Live kernels take turns in one thread, so the code that resumes a kernel sets its context and restores the previous one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kernbench.tl.language.errors import NoContextError, fail

if TYPE_CHECKING:
    from kernbench.tl.language.context import TLContext


class _Active(threading.local):
    context: TLContext | None = None


_active = _Active()


def find_active() -> TLContext | None:
    """The running kernel's context, or None outside kernels."""
    return _active.context


def active() -> TLContext:
    """The running kernel's context. Errors: NoContextError (a RuntimeError) outside kernels."""
    context = _active.context
    if context is None:
        fail("a tensor operator was used outside a kernel", "use it in a function that launch runs", NoContextError)
    return context


def swap_active(context: TLContext | None) -> TLContext | None:
    """Make a context the active one; returns the previous one, to be restored."""
    previous = _active.context
    _active.context = context
    return previous


def run_kernel(fn: Callable[..., Any], tl: TLContext, *args: Any, **kwargs: Any) -> Any:
    """Run `fn(*args, tl=tl, **kwargs)` with its context as the active one; the previous one is restored afterwards.

    With a context that has no runner, `tl.commands` then lists the commands of the kernel.
    """
    with activate(tl):
        return fn(*args, tl=tl, **kwargs)


@contextmanager
def activate(context: TLContext) -> Generator[None]:
    """Make a context the active one within the block."""
    previous = swap_active(context)
    try:
        yield
    finally:
        swap_active(previous)
