"""Races: data that is read although nothing made sure that it was written, by the times of the write and of the read.

What may be a race is noted while kernels run: a tile that is read without waiting for it, and a frame that is pushed, or an
element that is read, before the barrier of the transfers that bring it. The times of the device program decide.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.tanto.cores.storage import LocalPart
from kernbench.tanto.tiles import TILE

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.kernel import CoreKernel
    from kernbench.tanto.cores.storage import Core, PipePart, SemaphorePart
    from kernbench.tanto.timing.kernel_log import Row
    from kernbench.tanto.timing.lowering import Lowering

_MOST = 100_000
_MOST_PENDING = 1024  # writes of a kernel that are known to be under way
_FS_PER_NS = 1e6


@dataclass(frozen=True, slots=True)
class Race:
    """A read before its write: where, of what, and when (ns); `write_ns` is None if nothing was ever written."""

    core: Core
    object: str
    tile: int
    write_ns: float | None
    read_ns: float | None
    place: str
    reuse: bool = False  # a write to memory that a transfer still reads
    name: str = ""  # of the object

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "core": list(self.core), "object": self.object, "tile": self.tile, "write_ns": self.write_ns,
            "read_ns": self.read_ns, "at": self.place,
        }  # fmt: skip

    def __str__(self) -> str:
        return self._sentence() + (f"; {self.name}" if self.name else "")

    def _sentence(self) -> str:
        if self.reuse:
            times = (
                f"is given away at {self.write_ns:g} ns and read until {self.read_ns:g} ns; write_barrier comes before"
            )
            return f"{self.place}: race on core {self.core[0]},{self.core[1]}: {self.object}, tile {self.tile}, {times}"
        written = "never" if self.write_ns is None else f"at {self.write_ns:g} ns"
        what = self.object if self.object.endswith(",") else f"{self.object}, tile {self.tile},"
        return (
            f"{self.place}: race on core {self.core[0]},{self.core[1]}: {what} "
            f"is read at {self.read_ns:g} ns and written {written}"
        )


@dataclass(frozen=True, slots=True)
class _Candidate:
    core: Core
    object: str
    tile: int
    read: Row
    place: str
    write: Row | None  # a transfer, or None: the push of the tile
    pipe: PipePart | None = None
    position: int = 0  # of the tile among all that are pushed
    after: bool = False  # the race is a write before the read, not after it
    is_far: bool = False  # `write` is a transfer of another core; what reads a pipe is the push of the tile
    reuse: bool = False  # the row that reads is the transfer, and `read` gives its elements away before it is over


class RaceNotes:
    """What may be a race in one run."""

    def __init__(self) -> None:
        self.candidates: list[_Candidate | None] = []
        self.met: list[tuple[CoreKernel, SemaphorePart, int, Row, str]] = []  # waits for semaphores, and their places
        self.far: list[_Candidate] = []  # transfers to pipes of other cores

    def note_read(self, kernel: CoreKernel, part: object, first: int, count: int, row: Row) -> None:
        """A transfer to a part has begun."""
        kernel.reads_pending.append((part, first, count, row))

    def note_write(self, kernel: CoreKernel, part: object, first: int, count: int, row: Row) -> None:
        """A transfer from a part has begun; those that bring its elements may be under way."""
        self.note_source(kernel, part, first, count, row)
        if len(kernel.writes_pending) >= _MOST_PENDING:
            del kernel.writes_pending[: _MOST_PENDING // 2]
        kernel.writes_pending.append((part, first, count, row))

    def note_source(self, kernel: CoreKernel, part: object, first: int, count: int, row: Row) -> None:
        """A transfer reads elements; those that bring them may be under way, or of another core and not begun."""
        self._note_pending(kernel, part, first, count, row)
        if not isinstance(part, LocalPart) or part.core != kernel.core:
            return
        for begin, end, write in part.far:
            if first < end and begin < first + count and len(self.far) < _MOST:
                tile = max(begin, first) // TILE
                self.far.append(_Candidate(kernel.core, str(part), tile, row, kernel.place(), write, is_far=True))

    def _note_pending(self, kernel: CoreKernel, part: object, first: int, count: int, row: Row) -> None:
        """Elements are read or given to readers; transfers that bring them may be under way."""
        for other, begin, size, move in kernel.reads_pending:
            if other is part and first < begin + size and begin < first + count and len(self.candidates) < _MOST:
                tile = max(begin, first) // TILE
                self.candidates.append(_Candidate(kernel.core, str(part), tile, row, kernel.place(), move))

    def note_far(self, kernel: CoreKernel, part: PipePart, position: int, row: Row) -> None:
        """A transfer writes to a pipe of another core, up to a tile among all that are pushed there."""
        if len(self.far) < _MOST:
            tile = position % part.tiles
            self.far.append(
                _Candidate(part.core, str(part), tile, row, kernel.place(), row, part, position, is_far=True)
            )

    def note_reuse(self, kernel: CoreKernel, part: object, first: int, count: int, row: Row) -> None:
        """Elements were popped or set; transfers from them may be under way."""
        for other, begin, size, move in kernel.writes_pending:
            if other is part and first < begin + size and begin < first + count and len(self.candidates) < _MOST:
                tile = max(begin, first) // TILE
                self.candidates.append(_Candidate(kernel.core, str(part), tile, row, kernel.place(), move, reuse=True))

    def note_push(self, kernel: CoreKernel, part: PipePart, position: int, tiles: int, row: Row) -> None:
        """Tiles were pushed; transfers to them may be under way."""
        self._note_pending(kernel, part, position % part.tiles * TILE, tiles * TILE, row)

    def note_get(self, kernel: RunningKernel, part: object, index: int) -> None:
        """An element was read; a transfer to it may be under way."""
        if kernel.reads_pending:
            self._note_pending(kernel, part, index, 1, kernel.rows.last_row())

    def note_tile(self, kernel: CoreKernel, part: PipePart, tile: int, position: int, row: Row) -> None:
        """A tile was read that nothing was waited for."""
        if len(self.candidates) < _MOST:
            self.candidates.append(_Candidate(kernel.core, str(part), tile, row, kernel.place(), None, part, position))

    def note_early(self, kernel: CoreKernel, part: object, index: int, wait: Row) -> int:
        """An element was read that another kernel's write brings, for which the row waits. Returns what `forget` takes."""
        if len(self.candidates) >= _MOST:
            return -1
        self.candidates.append(_Candidate(kernel.core, str(part), index // TILE, wait, kernel.place(), wait))
        return len(self.candidates) - 1

    def forget(self, number: int) -> None:
        """Forget what `note_early` noted."""
        self.candidates[number] = None

    def note_met(self, kernel: CoreKernel, part: SemaphorePart, event: int, wait: Row) -> None:
        """A kernel waited for a value that a semaphore has since an event; another kernel may change it before in time."""
        if len(self.met) < _MOST:
            self.met.append((kernel, part, event, wait, kernel.place()))

    def note_passed(self, kernel: CoreKernel, name: str, change: Row, wait: Row) -> None:
        """A kernel waited for a value that was already lost again, by a change, when the kernels ran in turn."""
        self.candidates.append(_Candidate(kernel.core, name, 0, wait, kernel.place(), change, after=True))

    def _add_passed(self) -> None:
        for kernel, part, event, wait, place in self.met:
            value = part.history[event]
            changed = next((n for n in range(event, part.events) if part.history[n + 1] != value), None)
            if changed is not None and part.rows[changed][0] != wait[0]:
                name = f"{part}, which no longer is {value},"
                self.candidates.append(_Candidate(kernel.core, name, 0, wait, place, part.rows[changed], after=True))

    def find(self, lowering: Lowering, start_fs: np.ndarray, end_fs: np.ndarray) -> list[Race]:
        """The races by the times of the rows, one for each core, object and place."""
        self._add_passed()
        found: dict[tuple[Any, ...], Race] = {}
        for one in [*self.candidates, *self.far]:
            if one is None:
                continue
            key = (one.core, one.object, one.place)
            if key in found:
                continue
            write = one.write if one.is_far else _write_row(one)
            reads = _push_row(one) if one.is_far and one.pipe is not None else one.read
            if reads is None:
                continue
            read = int(start_fs[lowering.find_row(reads)])
            written = None if write is None else int(end_fs[lowering.find_row(write)])
            if one.is_far and write is not None and int(start_fs[lowering.find_row(write)]) <= read:
                continue  # it may have arrived in time; when it does no row tells
            if written is None or (written < read if one.after else written > read):
                at = None if written is None else written / _FS_PER_NS
                times = (read / _FS_PER_NS, at) if one.reuse else (at, read / _FS_PER_NS)
                found[key] = Race(one.core, one.object, one.tile, *times, one.place, reuse=one.reuse)
        return list(found.values())


def _write_row(one: _Candidate) -> Row | None:
    return one.write if one.pipe is None else _push_row(one)


def _push_row(one: _Candidate) -> Row | None:
    assert one.pipe is not None
    at = bisect_right(one.pipe.pushes, one.position, key=lambda push: push[0])
    return one.pipe.pushes[at][1:] if at < len(one.pipe.pushes) else None
