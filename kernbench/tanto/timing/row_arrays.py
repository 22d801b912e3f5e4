"""Rows of a device program as arrays, int64[row, 1 + ROW_WIDTH]: the tag, the opcode and its operands."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.ops import GE, ROW_WIDTH, Op
from kernbench.program.thread import SourceLines

if TYPE_CHECKING:
    from kernbench.program.program import Program

_ONE_THREAD = np.zeros(1, np.int64)
Slot = tuple[
    np.ndarray, np.ndarray
]  # bool[entry] which entries have a row here, and int64[entry, 1 + ROW_WIDTH] the rows


class CycleCosts:
    """Durations and tags of a program by what they are for, made once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.operation_cycles = program.machine.figures["tensix_core.operation_cycles"]
        self._durations: dict[float, int] = {}

    def cycles(self, count: float) -> int:
        """The duration of some cycles."""
        found = self._durations.get(count)
        if found is None:
            found = self._durations[count] = self.program.duration(("tensix_core.cycle", count))
        return found


def _rows(count: int, code: Op, *operands: np.ndarray | int) -> np.ndarray:
    found = np.zeros((count, 1 + ROW_WIDTH), np.int64)
    found[:, 1] = int(code)
    for at, operand in enumerate(operands):
        found[:, 2 + at] = operand
    return found


def wait_rows(counter: np.ndarray | int, value: np.ndarray) -> np.ndarray:
    """Rows that wait for a counter to reach each value."""
    return _rows(len(value), Op.WAIT, counter, int(GE), value)


def add_rows(counter: np.ndarray | int, amount: np.ndarray) -> np.ndarray:
    """Rows that add each amount to a counter."""
    return _rows(len(amount), Op.ADD, counter, amount)


def pause_row(duration: int, tag: int) -> np.ndarray:
    """A row that waits for a duration."""
    found = _rows(1, Op.DELAY, duration)
    found[:, 0] = tag
    return found


def delay_rows(operations: np.ndarray, cycles: np.ndarray, costs: CycleCosts) -> Slot:
    """The time of a processor before each entry: operations since the entry before, and cycles on top of them."""
    rows, which = delay_kinds(operations, cycles, costs)
    return which > 0, rows[which]


def delay_kinds(
    operations: np.ndarray, cycles: np.ndarray, costs: CycleCosts, first: np.ndarray = _ONE_THREAD
) -> tuple[np.ndarray, np.ndarray]:
    """As `delay_rows`, with distinct rows, and int64[entry] which of them each is; 0 stands for none.

    The entries may be those of several threads, of which each begins at one of int64[thread].
    """
    busy = cycles + (operations - _before(operations, first)) * costs.operation_cycles
    kinds = np.unique(np.append(busy, 0))
    rows = _rows(len(kinds), Op.DELAY, np.array([costs.cycles(float(one)) if one else 0 for one in kinds], np.int64))
    rows[:, 0] = costs.program.tag("code", "control")
    return rows, np.searchsorted(kinds, busy)  # of few kinds: three times as fast as what `unique` returns with them


def _before(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """int64[entry] the value of the entry before, 0 for the first of a thread."""
    found = np.empty_like(values)
    found[1:] = values[:-1]
    found[first] = 0
    return found


def place_rows(slots: Sequence[Slot]) -> tuple[np.ndarray, np.ndarray]:
    """The rows of entries one after the other, in the order of the slots, and int64[entry] where those of each end.

    In the place of rows there may be numbers of rows.
    """
    counts = np.sum([has for has, _ in slots], axis=0, dtype=np.int64)
    ends = np.cumsum(counts)
    out = np.empty((int(ends[-1]) if len(ends) else 0, *slots[0][1].shape[1:]), np.int64)
    at = ends - counts
    for has, rows in slots:
        out[at[has]] = rows[has]
        at += has
    return out, ends


def find_lines(lines: np.ndarray, ends: np.ndarray, file: str, program: Program) -> SourceLines:
    """Where rows of another line begin, of entries with int64[entry] the line and the end of the rows of each."""
    [found] = find_thread_lines(lines, ends, _ONE_THREAD, [file], program)
    return found


def find_thread_lines(
    lines: np.ndarray, ends: np.ndarray, first: np.ndarray, files: Sequence[str], program: Program
) -> list[SourceLines]:
    """As `find_lines`, of threads that begin at int64[thread] entries; the rows of all are counted as one."""
    changed = np.flatnonzero(lines != _before(lines, first))
    row_ends = np.concatenate(([0], ends))
    rows, line = row_ends[changed], lines[changed]
    thread = np.searchsorted(first, changed, "right") - 1
    numbers = dict[str, int]()
    file = np.array([numbers.setdefault(one, len(numbers)) for one in files])
    names, width = list(numbers), int(line.max(initial=0)) + 1
    place = file[thread] * width + line
    used = np.flatnonzero(np.bincount(place))
    sources = np.zeros(len(names) * width, np.int64)
    sources[used] = [program.source(names[one // width], one % width) for one in used.tolist()]
    starts, begun = rows - row_ends[first][thread], sources[place]
    cuts = np.searchsorted(thread, np.arange(len(first) + 1)).tolist()
    return [
        SourceLines(array("q", starts[at:end].tobytes()), array("q", begun[at:end].tobytes()))
        for at, end in pairwise(cuts)
    ]
