"""Run a kernel on a PE, recorded or live.

Recorded: the kernel runs to its end before the simulation and writes all its rows. Live: the kernel is a greenlet that
advances as far as its rows have run, so its numbers are real. Both write the same rows, except for the asks of a live kernel,
which take no time. A recorded kernel with neighbours is a greenlet too, since it may have to ask which message has arrived; if
it does not ask, it runs to its end at once. greenlet is imported only when needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.errors import InputError, KernelError, LimitError
from kernbench.limits.time_limit import watched_kernel
from kernbench.tl.language.context import TLContext
from kernbench.tl.language.current_context import activate, swap_active
from kernbench.tl.language.errors import naming
from kernbench.tl.live import LiveLowering
from kernbench.tl.lowering.lower import Lowering

if TYPE_CHECKING:
    from kernbench.tl.pe import PeContext
    from kernbench.tl.registry import Kernel


def record_kernel(pe: PeContext, fn: Kernel, args: Sequence[Any] = (), *, name: str | None = None) -> None:
    """Run `fn(*args, tl=...)` to its end, appending its rows to the PE's thread.

    Errors: KernelError naming the kernel, the PE and the kernel's line; the exception it raised is its cause. For an
    error of `tl` it has the same class: a ValueError for an epilogue, a RuntimeError for full scratch. LimitError for a kernel
    that exceeds the limits of the run.
    """
    context = _make_context(pe, Lowering(pe))
    before = pe.thread.row_count
    with watched_kernel(), activate(context):
        _call(pe, context, fn, args, name)
    program = pe.program
    program.issued_ops += pe.thread.row_count - before
    if program.issued_ops > program.most_ops:
        raise LimitError(f"{_tell(pe, fn, name)}: {program.ops_error()}")


class SteppedKernel:
    """A kernel that advances as far as its rows have run: a live kernel, or one that may ask which message has arrived.

    `resume` is called once at its start and then for each ask of its thread, at which the thread's rows must end.
    """

    def __init__(
        self, pe: PeContext, fn: Kernel, args: Sequence[Any] = (), *, name: str | None = None, live: bool = True
    ) -> None:
        from greenlet import getcurrent, greenlet

        def pause() -> None:
            """Called in the greenlet. It does not refer to this kernel, which would be part of a cycle and outlive its end."""
            getcurrent().parent.switch()  # type: ignore[union-attr]

        self._current, self._program, self._thread = getcurrent, pe.program, pe.thread
        self._name = _tell(pe, fn, name)
        self._context = context = _make_context(pe, (LiveLowering if live else Lowering)(pe, pause))
        self._greenlet = greenlet(lambda: _call(pe, context, fn, args, name))

    def resume(self) -> bool:
        """Continue the kernel; returns whether it paused at another ask. Errors: KernelError as `record_kernel`."""
        self._greenlet.parent = self._current()
        previous = swap_active(self._context)
        program, before = self._program, self._thread.row_count
        with watched_kernel():
            try:
                if program.issued_ops > program.most_ops:  # raised in the kernel, which has no ask left that way
                    if not self._greenlet:  # it has not begun
                        raise LimitError(f"{self._name}: {program.ops_error()}")
                    self._greenlet.throw(program.ops_error())
                else:
                    self._greenlet.switch()
            finally:
                swap_active(previous)
        program.issued_ops += self._thread.row_count - before
        return not self._greenlet.dead


def _make_context(pe: PeContext, runner: Lowering) -> TLContext:
    figures, place = pe.machine.figures, pe.place
    scratch_bytes, tcm_bytes = int(figures["pe.scratch_bytes"]), int(figures["pe_tcm.bytes"])
    if scratch_bytes >= tcm_bytes:
        raise InputError(f"pe.scratch_bytes is {scratch_bytes}, but pe_tcm.bytes is only {tcm_bytes}; make it smaller")
    return TLContext(
        pe_id=place.pe,
        num_programs=pe.num_programs,
        dispatch_cycles=int(figures["pe_cpu.dispatch_cycles"]),
        runner=runner,
        cube_id=place.cube,
        num_cubes=pe.num_cubes,
        scratch_base=tcm_bytes - scratch_bytes,
        scratch_size=scratch_bytes,
    )


def _tell(pe: PeContext, fn: Kernel, name: str | None) -> str:
    return f"kernel {name or getattr(fn, '__name__', 'without a name')} on {pe.path}"


def _call(pe: PeContext, context: TLContext, fn: Kernel, args: Sequence[Any], name: str | None) -> None:
    kernel = _tell(pe, fn, name)
    if isgeneratorfunction(fn) or iscoroutinefunction(fn):
        raise KernelError(
            f"{kernel} is a generator or a coroutine; kernels are plain functions, without yield or async"
        )
    with naming(kernel, fn):
        with np.errstate(all="ignore"):  # a greenlet does not inherit that of the bench
            fn(*args, tl=context)
        pe.thread.begin_source(0)
        context._finish()  # pyright: ignore[reportPrivateUsage]
