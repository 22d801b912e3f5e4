"""Memory whose accesses are in the order of simulated time, although they are made late and many at once.

A composite reads and writes its tiles while other operations use the same memory. It is in the store as a `Transaction`, which
knows the ranges and the times of its accesses. Nothing is moved until another access meets one of the ranges. Then
the accesses that are due are made first: of one transaction all at once, of several that meet each other one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from kernbench.replay.store import Block, MemoryStore

Segment = tuple[int, int, int]  # (space, address, bytes)
NEVER = int(np.iinfo(np.int64).max)


class Clock(Protocol):
    """The times of a run, in fs. Arrays are int64[row] of the op table, -1 where a row has not come so far."""

    @property
    def now_fs(self) -> int:
        """The time of the present access; what is due at that time comes before it."""
        ...

    @property
    def issue_fs(self) -> np.ndarray:
        """The issue of each row."""
        ...

    @property
    def end_fs(self) -> np.ndarray:
        """The end of each row."""
        ...


class Transaction(Protocol):
    """An operation in flight that reads ranges of memory and writes others, each part of them at its own time."""

    @property
    def reads(self) -> Sequence[Segment]:
        """The ranges that it reads."""
        ...

    @property
    def writes(self) -> Sequence[Segment]:
        """The ranges that it writes."""
        ...

    @property
    def is_done(self) -> bool:
        """Whether all its accesses are made."""
        ...

    def look(self, issue_fs: np.ndarray, end_fs: np.ndarray, /) -> None:
        """Find the times of the accesses that are left."""
        ...

    def next_write(self) -> tuple[int, int, int]:
        """(time, thread, row) of the next write; NEVER as time if it is not known."""
        ...

    def read_until(self, time_fs: int, /) -> None:
        """Make the reads up to a time: memory has not changed since then."""
        ...

    def write_first(self) -> None:
        """Make the next write."""
        ...

    def write_until(self, time_fs: int, /) -> None:
        """Make the writes up to a time."""
        ...


class TimedStore:
    """A store of bytes by (space, address) in which operations are in flight. Arrays are uint8[bytes]."""

    __slots__ = ("_clock", "_flying", "raw")

    def __init__(self, clock: Clock, raw: MemoryStore | None = None) -> None:
        self._clock = clock
        self._flying: dict[int, list[Transaction]] = {}  # by space
        self.raw = MemoryStore() if raw is None else raw  # as the accesses that are made left it

    def put(self, space: int, address: int, data: Block) -> None:
        """Place a block by reference, replacing earlier contents."""
        if space in self._flying:
            self._settle((space, address, len(data)), writing=True)
        self.raw.put(space, address, data)

    def write(self, space: int, address: int, data: np.ndarray) -> None:
        """Copy bytes in."""
        if space in self._flying:
            self._settle((space, address, len(data)), writing=True)
        self.raw.write(space, address, data)

    def read(self, space: int, address: int, nbytes: int) -> np.ndarray:
        """uint8[nbytes]; a view if one block holds all of it, so copy it to keep it."""
        if space in self._flying:
            self._settle((space, address, nbytes), writing=False)
        return self.raw.read(space, address, nbytes)

    def read_later(self, space: int, address: int, nbytes: int) -> Block:
        """As `read`; of a deferred block that is not made, the bytes as they are now, to be made later."""
        if space in self._flying:
            self._settle((space, address, nbytes), writing=False)
        return self.raw.read_later(space, address, nbytes)

    def begin(self, operation: Transaction) -> None:
        """Let an operation access memory at its times from now on."""
        for space in _spaces(operation):
            self._flying.setdefault(space, []).append(operation)

    def finish(self, operation: Transaction) -> None:
        """Make all accesses of an operation that has ended."""
        if not operation.is_done:
            self._advance([operation])

    def _settle(self, segment: Segment, *, writing: bool) -> None:
        """Make the accesses that are due before one to a range."""
        wanted = [segment]
        met = [
            operation
            for operation in self._flying[segment[0]]
            if _overlap(operation.writes, wanted) or (writing and _overlap(operation.reads, wanted))
        ]
        if met:
            self._advance(met)

    def _advance(self, operations: list[Transaction]) -> None:
        """Make the due accesses of operations, and of those that they meet."""
        now, clock = self._clock.now_fs, self._clock
        found = self._add_met(operations)
        issue_fs, end_fs = clock.issue_fs, clock.end_fs
        for operation in found:
            operation.look(issue_fs, end_fs)
        if len(found) == 1 and not _overlap(found[0].reads, found[0].writes):
            found[0].read_until(now)
            found[0].write_until(now)
        else:
            _advance_in_turn(found, now)
        for operation in found:
            if operation.is_done:
                self._remove(operation)

    def _add_met(self, operations: list[Transaction]) -> list[Transaction]:
        """Operations with all those that write where they access memory or access memory where they write, and so on."""
        found = list(operations)
        known = {id(operation) for operation in found}
        for operation in found:
            for space in _spaces(operation):
                for other in self._flying.get(space, ()):
                    if id(other) not in known and _meet(operation, other):
                        known.add(id(other))
                        found.append(other)
        return found

    def _remove(self, operation: Transaction) -> None:
        for space in _spaces(operation):
            flying = [other for other in self._flying.get(space, ()) if other is not operation]
            if flying:
                self._flying[space] = flying
            else:
                self._flying.pop(space, None)


def _advance_in_turn(operations: Sequence[Transaction], now_fs: int) -> None:
    """Make the accesses up to a time, write after write; before each, the reads up to its time."""
    while True:
        first = min(operations, key=lambda operation: operation.next_write())
        time_fs = first.next_write()[0]
        if time_fs > now_fs:
            break
        for operation in operations:
            operation.read_until(time_fs)
        first.write_first()
    for operation in operations:
        operation.read_until(now_fs)


def _spaces(operation: Transaction) -> set[int]:
    return {space for space, _, _ in (*operation.reads, *operation.writes)}


def _meet(a: Transaction, b: Transaction) -> bool:
    return _overlap(a.writes, b.reads) or _overlap(a.writes, b.writes) or _overlap(a.reads, b.writes)


def _overlap(some: Iterable[Segment], others: Sequence[Segment]) -> bool:
    return any(
        space == other and address < start + size and start < address + nbytes
        for space, address, nbytes in some
        for other, start, size in others
    )
