"""Regions of virtual addresses: each maps to one piece of one memory, to the byte.

A real MMU has one physical address for each page. Here a page may have several regions, so that tensors can be cut
finer than pages; this is a documented simplification. Where two mappings overlap, the later one holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from kernbench.errors import AddressError
from kernbench.host.messages import MapEntry
from kernbench.machine.address_decoder import ABSENT, Segment

Row = tuple[int, int, int, int]  # start, end, node, offset


class Memories(Protocol):
    """The memories of a machine by physical address: `kernbench.machine.address_decoder.AddressDecoder`."""

    def find(self, pa: int, /) -> Segment | None:
        """(node, offset, bytes to the end of that memory) of an address, None where there is no memory."""
        ...

    def find_many(self, pa: np.ndarray, /) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same as int64[n] columns; node ABSENT where there is no memory."""
        ...


class Regions:
    """Disjoint regions by rising virtual address: int64[region] arrays, and the same as plain rows for single look-ups.

    `node` is the memory, ABSENT for none; `offset` is the first byte of the region in it.
    """

    __slots__ = ("end", "node", "offset", "rows", "start", "starts")

    def __init__(self, start: np.ndarray, end: np.ndarray, node: np.ndarray, offset: np.ndarray) -> None:
        self.start, self.end, self.node, self.offset = start, end, node, offset
        self.starts: list[int] = start.tolist()
        self.rows: list[Row] = list(zip(self.starts, end.tolist(), node.tolist(), offset.tolist(), strict=True))

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Regions:
        """Regions of rows in any order; empty ones are dropped."""
        table = np.array(sorted(row for row in rows if row[0] < row[1]), np.int64).reshape(-1, 4)
        return cls(*(np.ascontiguousarray(column) for column in table.T))

    @classmethod
    def leading_to(cls, entries: Iterable[MapEntry], memories: Memories) -> Regions:
        """Regions of the entries of a message. Errors: AddressError for a shard that is in no memory."""
        rows: list[tuple[int, int, int, int]] = []
        for va, shard in entries:
            found = memories.find(shard.pa)
            if found is None or shard.nbytes > found[2]:
                raise AddressError(
                    f"a mapping of {shard.nbytes} bytes at {shard.pa:#x} does not lie in one memory of the machine; "
                    "give the physical address of a shard"
                )
            rows.append((va, va + shard.nbytes, found[0], found[1]))
        return cls.of(rows)

    @classmethod
    def joined(cls, many: Sequence[Regions]) -> Regions:
        """Concatenated regions, given in the order of their addresses."""
        columns = ([getattr(regions, name) for regions in many] for name in ("start", "end", "node", "offset"))
        return cls(*(np.concatenate([np.zeros(0, np.int64), *column]) for column in columns))

    def absent(self) -> Regions:
        """The same addresses without a memory, which unmapping writes."""
        return Regions(self.start, self.end, np.full_like(self.node, ABSENT), self.offset)

    def __len__(self) -> int:
        return len(self.starts)


NONE = Regions.of([])


def overlay(earlier: Regions, later: Regions) -> Regions:
    """Both, with the later one where they overlap. Regions without a memory are dropped, contiguous ones are joined."""
    if not len(earlier):
        there = later.node != ABSENT
        return _joined(later.start[there], later.end[there], later.node[there], later.offset[there])
    cuts = np.unique(np.concatenate([earlier.start, earlier.end, later.start, later.end]))
    if len(cuts) < 2:
        return NONE
    start, end = cuts[:-1], cuts[1:]
    node = np.full(len(start), ABSENT, np.int64)
    offset = np.zeros(len(start), np.int64)
    for regions in (earlier, later):
        if not len(regions):
            continue
        at = np.searchsorted(regions.start, start, side="right") - 1
        inside = (at >= 0) & (start < regions.end[at])
        at = at[inside]
        node[inside] = regions.node[at]
        offset[inside] = regions.offset[at] + start[inside] - regions.start[at]
    keep = node != ABSENT
    return _joined(start[keep], end[keep], node[keep], offset[keep])


def _joined(start: np.ndarray, end: np.ndarray, node: np.ndarray, offset: np.ndarray) -> Regions:
    """Regions with contiguous ones joined."""
    if not len(start):
        return NONE
    apart = (start[1:] != end[:-1]) | (node[1:] != node[:-1]) | (offset[1:] != (offset + end - start)[:-1])
    first = np.concatenate([[True], apart])
    last = np.concatenate([apart, [True]])
    return Regions(start[first], end[last], node[first], offset[first])
