"""The order in which kernels run: those that move data first, then those that compute.

Kernels that wait for each other by pipes and semaphores compute the same in any order. A kernel that reads a tile of a pipe
without waiting for it is held back until the tile is there, or until nothing else can go on: such a program races, and gets the
data that it would get on a chip where the tile comes in time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from kernbench.errors import KernBenchError, LimitError, error_text
from kernbench.limits.memory_budget import is_out_of_memory, tell_full
from kernbench.limits.time_limit import REMEDY, TimeLimitReached, watched_kernel
from kernbench.tanto.cores.kernel import MODULE, CoreKernel, TantoDeadlock, TantoError

_MOST_NAMED = 200


class Scheduler:
    """Runs kernels in turn until all have ended."""

    def __init__(self) -> None:
        from greenlet import getcurrent, greenlet

        self._greenlet = greenlet
        self._hub: Any = getcurrent()
        self._data: deque[CoreKernel] = deque()
        self._math: deque[CoreKernel] = deque()
        self.kernels: list[CoreKernel] = []

    def start(self, kernel: CoreKernel, call: Callable[[], object]) -> None:
        """Add a kernel that begins with a call."""
        kernel.greenlet = self._greenlet(call)
        kernel.greenlet.tanto_kernel = kernel  # for `kernel_functions.running`
        self.kernels.append(kernel)
        self.add(kernel)

    def add(self, kernel: CoreKernel) -> None:
        """Let a kernel go on when its turn comes."""
        (self._math if kernel.is_math else self._data).append(kernel)

    def pause(self) -> None:
        """Switch from the kernel that runs to the next."""
        self._hub.switch()

    def run(self) -> None:
        """Run all kernels to their ends. Errors: TantoDeadlock, TantoError, LimitError."""
        with watched_kernel():
            self._run_in_turn()
        if any(not kernel.greenlet.dead for kernel in self.kernels):
            raise self.deadlock()

    def limit_error(self, kernel: CoreKernel, reached: TimeLimitReached) -> LimitError:
        """The error of a kernel whose time is over."""
        return LimitError(f"{_raised_at(kernel, reached)}: {kernel}: {reached}; {REMEDY}")

    def deadlock(self) -> TantoDeadlock:
        """The error that names all kernels which have not ended."""
        return TantoDeadlock(_describe([kernel for kernel in self.kernels if not kernel.greenlet.dead]))

    def _run_in_turn(self) -> None:
        while True:
            if self._data:
                kernel = self._data.popleft()
            elif self._math:
                kernel = self._math.popleft()
            elif not self._release():
                break
            else:
                continue
            self._resume(kernel)

    def _release(self) -> bool:
        """Let kernels go on that wait for data they never asked for; returns whether there are any."""
        found = [
            kernel for kernel in self.kernels if kernel.lenient and not kernel.released and not kernel.greenlet.dead
        ]
        for kernel in found:
            kernel.released, kernel.lenient = True, False
            self.add(kernel)
        return bool(found)

    def _resume(self, kernel: CoreKernel) -> None:
        if kernel.greenlet.dead:
            return
        kernel.greenlet.parent = self._hub
        try:
            kernel.greenlet.switch()
        except KernBenchError:
            raise
        except TimeLimitReached as reached:
            raise self.limit_error(kernel, reached) from reached
        except ZeroDivisionError as error:
            raise TantoError(f"{_raised_at(kernel, error)}: {kernel}: division by zero") from None
        except RecursionError as error:
            words = "its calls are nested too deeply; does a function call itself without end?"
            raise TantoError(f"{_raised_at(kernel, error)}: {kernel}: {words}") from None
        except (IndexError, OverflowError, ValueError, TypeError) as error:
            words = "an index outside of an array" if isinstance(error, IndexError) else error_text(error)
            raise TantoError(f"{_raised_at(kernel, error)}: {kernel}: {words}") from error
        except Exception as error:  # a Python kernel may raise anything
            if is_out_of_memory(error):
                words = f"{kernel}: {tell_full(error)}"
                raise LimitError(f"{_raised_at(kernel, error)}: {words}") from error
            raise TantoError(f"{_raised_at(kernel, error)}: {kernel}: {error_text(error)}") from error


def _raised_at(kernel: CoreKernel, error: BaseException) -> str:
    trace, found = error.__traceback__, kernel.unit.file
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(MODULE):
            found = kernel.unit.place(trace.tb_lineno)
        trace = trace.tb_next
    return found


def _describe(waiting: list[CoreKernel]) -> str:
    parts = [f"{kernel.place_waiting()}: {kernel} waits for {kernel.waits_for}" for kernel in waiting[:_MOST_NAMED]]
    more = f"; and {len(waiting) - _MOST_NAMED} more kernels" if len(waiting) > _MOST_NAMED else ""
    return f"deadlock: {'; '.join(parts)}{more}"
