"""The numbers of a launch: its programs on memory alone, in the order of their numbers.

A program that waits for another by an atomic is put aside until the others have gone on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet

from kernbench.errors import DeadlockError, KernBenchError, RunError
from kernbench.tl.language.errors import kernel_line
from kernbench.triton.language.races import Races, inside, plain

SPINS = 3  # times that a program makes the same atomic with the same result before it waits for others


class Memory:
    """A `Machine` of memory alone: `tensors` are the elements of the launch's tensors, each flat, which change in place."""

    def __init__(self, grid: tuple[int, int, int], tensors: Sequence[np.ndarray], names: Sequence[str]) -> None:
        self._grid, self._tensors, self._names = grid, tensors, list(names)
        self._races = Races(self._names, int(np.prod(grid)))
        self._changes = 0
        self._last: dict[int, tuple[str, bytes, int]] = {}
        self._main: greenlet | None = None

    def run(self, body: Callable[[Memory], None]) -> None:
        """Run all programs. Errors: of the programs, with their identities; DeadlockError if all wait."""
        self._main = getcurrent()
        waiting: list[tuple[int, greenlet]] = []
        for number in range(int(np.prod(self._grid))):
            program = greenlet(body)
            if not self._go_on(number, program, self):
                waiting.append((number, program))
        while waiting:
            before = self._changes
            still = [(number, program) for number, program in waiting if not self._go_on(number, program)]
            if len(still) == len(waiting) and before == self._changes:
                number, line = waiting[0][0], self._last[waiting[0][0]][0]
                raise DeadlockError(
                    f"program {self._where(number)} waits at {line} for an element that no program changes any more"
                )
            waiting = still

    def _go_on(self, number: int, program: greenlet, *args: Any) -> bool:
        self._races.program = number
        try:
            program.switch(*args)
        except (RunError, KernBenchError) as error:
            if "program (" not in str(error):
                error.args = (f"program {self._where(number)}: {error}",)
            raise
        return program.dead

    def _where(self, number: int) -> str:
        x, y, _ = self._grid
        return f"({number % x}, {number // x % y}, {number // (x * y)})"

    def program_id(self, axis: int) -> Any:
        """The identity along an axis."""
        x, y, _ = self._grid
        number = self._races.program
        return np.int32((number % x, number // x % y, number // (x * y))[axis])

    def num_programs(self, axis: int) -> int:
        """The size of the grid along an axis."""
        return self._grid[axis]

    def load(self, tensor: int, offsets: Any, mask: Any, other: Any, dtype: np.dtype) -> Any:
        """The elements where the mask holds, and others elsewhere."""
        held, at = self._tensors[tensor], plain(offsets)
        shape = at.shape if mask is None else np.broadcast_shapes(at.shape, np.shape(mask))
        if mask is None or np.all(mask):
            at = np.broadcast_to(at, shape)
            inside(self._names[tensor], held.size, at, "load")
            self._races.read(tensor, held.size, at)
            return held[at].view(dtype) if held.dtype != dtype else held[at]
        found = np.zeros(shape, dtype)
        if other is not None:
            found[...] = np.asarray(other).astype(dtype)
        holds = np.broadcast_to(mask, shape)
        kept = np.broadcast_to(at, shape)[holds]
        inside(self._names[tensor], held.size, kept, "load")
        self._races.read(tensor, held.size, kept)
        found[holds] = held[kept].view(dtype)
        return found

    def store(self, tensor: int, offsets: Any, value: Any, mask: Any) -> None:
        """Write elements where the mask holds."""
        held, at, value = self._tensors[tensor], plain(offsets), np.asarray(value)
        shape = np.broadcast_shapes(at.shape, () if mask is None else np.shape(mask), value.shape)
        kept, numbers = np.broadcast_to(at, shape), np.broadcast_to(value, shape)
        if mask is not None:
            holds = np.broadcast_to(mask, shape)
            kept, numbers = kept[holds], numbers[holds]
        inside(self._names[tensor], held.size, kept, "store")
        self._races.write(tensor, held.size, kept)
        held[kept] = numbers.view(held.dtype) if numbers.dtype != held.dtype else numbers
        self._changes += 1

    def atomic(
        self,
        tensor: int,
        offsets: Any,
        mask: Any,
        values: Sequence[Any],  # noqa: ARG002
        dtype: np.dtype,
        perform: Callable[..., Any],
        *,
        orders: bool,
    ) -> Any:
        """Do it; a program that gets the same answer again and again lets others go on."""
        held, at = self._tensors[tensor], plain(offsets)
        kept = (
            at
            if mask is None
            else np.broadcast_to(at, np.broadcast_shapes(at.shape, np.shape(mask)))[
                np.broadcast_to(mask, np.broadcast_shapes(at.shape, np.shape(mask)))
            ]
        )
        inside(self._names[tensor], held.size, kept, "atomic")
        before = held[kept]
        found = np.asarray(perform(held)).astype(dtype, copy=False)
        self._races.exchange(tensor, kept, "acq_rel" if orders else "relaxed")
        changed = before.tobytes() != held[kept].tobytes()
        self._changes += changed
        self._count(found.tobytes(), changed)
        return found

    def _count(self, answer: bytes, changed: bool) -> None:
        number, line = self._races.program, kernel_line()
        last = self._last.get(number)
        times = last[2] + 1 if last is not None and last[:2] == (line, answer) and not changed else 0
        self._last[number] = (line, answer, times)
        if times >= SPINS and self._main is not None:
            self._main.switch()
            self._races.program = number

    def dot(self, a: Any, b: Any, acc: Any, dtype: np.dtype, compute: Callable[[], Any], bits: int) -> Any:  # noqa: ARG002
        """Compute it."""
        return compute()

    def enter_loop(self, stages: int) -> None:
        """Loops have no time here."""

    def next_iteration(self) -> None:
        """Loops have no time here."""

    def leave_loop(self) -> None:
        """Loops have no time here."""

    def barrier(self) -> None:
        """Programs have no time here."""
