"""The context of the kernel that runs now, one for each Python thread: what tensor operators act on.

Live kernels take turns in one thread, so whoever resumes a kernel sets its context and puts the former one back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kernbench.tl.errors import NoContextError, fail

if TYPE_CHECKING:
    from kernbench.tl.context import TLContext


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


def exchange_active(context: TLContext | None) -> TLContext | None:
    """Make a context the active one; answers the former, to be put back."""
    former = _active.context
    _active.context = context
    return former


def run_kernel(fn: Callable[..., Any], tl: TLContext, *args: Any, **kwargs: Any) -> Any:
    """Run `fn(*args, tl=tl, **kwargs)` with its context as the active one; afterwards the former one is that again.

    With a context that has no runner, `tl.commands` then lists what the kernel asks for.
    """
    with activate(tl):
        return fn(*args, tl=tl, **kwargs)


@contextmanager
def activate(context: TLContext) -> Iterator[None]:
    """Make a context the active one within the block."""
    former = exchange_active(context)
    try:
        yield
    finally:
        exchange_active(former)
