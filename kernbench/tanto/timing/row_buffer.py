"""The rows of one thread while a kernel runs, packed, and the time its processor has spent on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernbench.program.ops import GE, NONE, Op
from kernbench.program.rows import pack_row

if TYPE_CHECKING:
    from kernbench.program.program import Program
    from kernbench.program.thread import Thread
    from kernbench.tanto.cores.kernel import Kernel
    from kernbench.tanto.cores.storage import PipePart

_DELAY, _EXEC, _MOVE, _ADD, _WAIT = int(Op.DELAY), int(Op.EXEC), int(Op.MOVE), int(Op.ADD), int(Op.WAIT)
_ARRIVE, _COMPARE = int(Op.ARRIVE), int(GE)


Row = tuple[int, int]  # thread, index of the row in it


class Costs:
    """Durations and tags of a program by what they are for, made once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        figures = program.machine.figures
        self.operation_cycles = figures["tensix_core.operation_cycles"]
        self._delays: dict[float, bytes] = {}

    def cycles(self, count: float) -> int:
        """The duration of some cycles."""
        return self.program.duration(("tensix_core.cycle", count))

    def delay(self, cycles: float) -> bytes:
        """The row of a processor that is busy for some cycles."""
        found = self._delays.get(cycles)
        if found is None:
            tag = self.program.tag("code", "control")
            found = self._delays[cycles] = pack_row(tag, _DELAY, self.cycles(cycles), 0, 0, 0, 0, 0, 0)
        return found


class RowBuffer:
    """Rows of a thread. Every verb returns nothing; `count` is the index that the next row will have."""

    __slots__ = ("_costs", "_kernel", "_line", "_spent", "count", "lines", "rows", "thread")

    def __init__(self, thread: Thread, costs: Costs) -> None:
        self.thread, self._costs = thread, costs
        self.rows: list[bytes] = []
        self.count = 0
        self._spent = 0  # operations of the processor that have rows
        self._kernel: Kernel | None = None
        self._line = 0
        self.lines: list[tuple[int, int]] = []  # (row from which on, line of the kernel)

    def follow(self, kernel: Kernel) -> None:
        """Take the lines that issue rows from a kernel."""
        self._kernel = kernel

    def spend(self, operations: int, cycles: float = 0) -> None:
        """Be busy with all operations so far that have no rows yet, and for some cycles more."""
        if self._kernel is not None and self._kernel.line != self._line:
            self._line = self._kernel.line
            self.lines.append((self.count, self._line))
        cycles += (operations - self._spent) * self._costs.operation_cycles
        self._spent = operations
        if cycles:
            self.add(self._costs.delay(cycles))

    def mark(self) -> tuple[int, int, int]:
        """The state to which `rewind` goes back."""
        return self.count, self._spent, len(self.lines)

    def rewind(self, mark: tuple[int, int, int]) -> None:
        """Take back the rows since a mark."""
        self.count, self._spent, lines = mark
        del self.rows[self.count :]
        del self.lines[lines:]
        self._line = self.lines[-1][1] if self.lines else 0

    def add(self, row: bytes) -> None:
        """Append a packed row."""
        self.rows.append(row)
        self.count += 1

    def wait(self, counter: int, value: int) -> None:
        """Wait for a counter to reach a value."""
        self.add(pack_row(0, _WAIT, counter, _COMPARE, value, 0, 0, 0, 0))

    def increase(self, counter: int, amount: int) -> None:
        """Add to a counter."""
        self.add(pack_row(0, _ADD, counter, amount, 0, 0, 0, 0, 0))

    def move(self, tag: int, route: int, nbytes: int, *, done: int, arrive: int = NONE, hold: int = NONE) -> None:
        """Start a transfer."""
        self.add(pack_row(tag, _MOVE, route, nbytes, 0, done, hold, arrive, 0))

    def multicast(self, tag: int, route: int, nbytes: int, *, arrive: Sequence[int], done: int, hold: int) -> None:
        """Start a transfer to many; `arrive` has for each destination of the route its counter, or NONE."""
        self.add(pack_row(tag, _MOVE, route, nbytes, 0, done, hold, NONE, 0))
        for counter in arrive:
            self.add(pack_row(0, _ARRIVE, counter, 0, 0, 0, 0, 0, 0))

    # Pipes

    def wait_room(self, c: int, part: PipePart, popped: int) -> None:
        """Wait until so many tiles in all were popped from a pipe."""
        self.spend(c)
        if popped > 0:
            self.wait(part.counters[1], popped)

    def push(self, c: int, part: PipePart, tiles: int) -> Row:
        """Count tiles that are pushed to a pipe."""
        self.spend(c)
        self.increase(part.counters[0], tiles)
        return self.last_row()

    def wait_tiles(self, c: int, part: PipePart, pushed: int) -> None:
        """Wait until so many tiles in all were pushed to a pipe."""
        self.spend(c)
        self.wait(part.counters[0], pushed)

    def pop(self, c: int, part: PipePart, tiles: int) -> None:
        """Count tiles that are popped from a pipe."""
        self.spend(c)
        self.increase(part.counters[1], tiles)

    def last_row(self) -> Row:
        """The row that was added last."""
        return self.thread.id, self.count - 1

    def finish(self) -> None:
        """Give the rows to the thread."""
        if self.rows:
            self.thread.extend(b"".join(self.rows))
            self.rows.clear()
        if self._kernel is not None:
            program, file = self._costs.program, self._kernel.unit.file
            self.thread.sources = [(row, program.source(file, line)) for row, line in self.lines]


def exec_row(tag: int, server: int, duration: int, counter: int) -> bytes:
    """The packed row of a job."""
    return pack_row(tag, _EXEC, server, duration, counter, 0, 0, 0, 0)
