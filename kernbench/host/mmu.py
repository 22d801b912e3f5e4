"""Virtual to physical: the page maps of the PEs of one machine.

A map is a list of disjoint regions, each as exact as the host gave it, so several regions share a page where a tensor is
cut finer than pages. A real MMU keeps one physical address a page; this one is the documented simplification that lets
layouts be finer. Where two mappings overlap, the later write wins. An address no region covers is taken as a physical one:
that is a signal, not an error, unless it names no memory of the machine. But an access that runs out of what is mapped, or
into it, is an error: no kernel means that.

Maps are immutable: installing gives a new one. So a launch that was recorded keeps the map it ran under, and PEs with equal
maps share one.

Translating takes no simulated time by itself: who asks pays for the look-up (`pe_mmu.tlb`), for a tile as for a load.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np

from kernbench.errors import AddressError
from kernbench.host.messages import MapEntry
from kernbench.machine.locator import ABSENT, Segment


class Memories(Protocol):
    """What lies behind physical addresses, as `kernbench.machine.locator.Locator` knows it."""

    def find(self, pa: int, /) -> Segment | None:
        """(node, offset, bytes to the end of that memory) of an address, None where there is no memory."""
        ...

    def find_many(self, pa: np.ndarray, /) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same as int64[n] columns; node ABSENT where there is no memory."""
        ...


class Regions(NamedTuple):
    """Disjoint regions by rising virtual address."""

    start: np.ndarray  # int64[region] first virtual address
    end: np.ndarray  # int64[region]
    node: np.ndarray  # int64[region] memory, ABSENT for none
    offset: np.ndarray  # int64[region] of the first byte in that memory

    @classmethod
    def of(cls, rows: list[tuple[int, int, int, int]]) -> Regions:
        """Regions of (start, end, node, offset) rows, which are sorted here; empty ones are dropped."""
        table = np.array(sorted(row for row in rows if row[0] < row[1]), np.int64).reshape(-1, 4)
        return cls(*(np.ascontiguousarray(column) for column in table.T))

    @classmethod
    def leading_to(cls, entries: Iterable[MapEntry], memories: Memories) -> Regions:
        """Regions of what a message says. Errors: AddressError for a shard that is in no memory."""
        rows = []
        for va, shard in entries:
            found = memories.find(shard.pa)
            if found is None or shard.nbytes > found[2]:
                raise AddressError(
                    f"a mapping of {shard.nbytes} bytes at {shard.pa:#x} does not lie in one memory of the machine; "
                    "give the physical address of a shard"
                )
            rows.append((va, va + shard.nbytes, found[0], found[1]))
        return cls.of(rows)

    def absent(self) -> Regions:
        """The same addresses, leading nowhere: what unmapping writes."""
        return self._replace(node=np.full_like(self.node, ABSENT))


class PageMap:
    """What one PE's MMU holds; `memories` is what lies behind addresses that it does not."""

    __slots__ = ("_memories", "_starts", "regions")

    def __init__(self, memories: Memories, regions: Regions | None = None) -> None:
        self.regions = regions if regions is not None else Regions.of([])
        self._memories = memories
        self._starts: list[int] = self.regions.start.tolist()

    def install(self, later: Regions) -> PageMap:
        """This map overwritten by other regions."""
        return PageMap(self._memories, overlay(self.regions, later))

    def translate(self, va: int, nbytes: int) -> list[Segment]:
        """The pieces of physical memory behind a virtual range, in its order.

        Errors: AddressError when a part of the range is neither mapped nor the physical address of a memory, or only a
        part is mapped.
        """
        segments = []
        at, end = va, va + nbytes
        first_mapped: bool | None = None
        while at < end:
            mapped, (node, offset, left) = self._piece(at)
            if first_mapped is None:
                first_mapped = mapped
            elif mapped is not first_mapped:
                raise AddressError(
                    f"the access to {nbytes} bytes at {va:#x} runs {'into' if mapped else 'out of'} a tensor at {at:#x}; "
                    "check the shape and the pointer arithmetic of the kernel"
                )
            size = min(left, end - at)
            segments.append((node, offset, size))
            at += size
        return segments

    def translate_many(self, va: np.ndarray, nbytes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """int64[n] node and int64[n] offset of many ranges; node ABSENT where a range is not one piece of memory."""
        node, offset = np.full(len(va), ABSENT, np.int64), np.zeros(len(va), np.int64)
        regions, end = self.regions, va + nbytes
        at = np.searchsorted(regions.start, va, side="right") - 1
        before = np.concatenate([[va.min(initial=0)], regions.end])[at + 1]  # where the region at or before it ends
        inside = (at >= 0) & (end <= before)
        held = at[inside]
        node[inside] = regions.node[held]
        offset[inside] = regions.offset[held] + va[inside] - regions.start[held]
        after = np.concatenate([regions.start, [np.iinfo(np.int64).max]])[at + 1]  # where the next one begins
        outside = (va >= before) & (end <= after)
        if outside.any():
            found, into, left = self._memories.find_many(va[outside])
            node[outside] = np.where(nbytes[outside] <= left, found, ABSENT)
            offset[outside] = into
        return node, offset

    def _piece(self, va: int) -> tuple[bool, Segment]:
        """Whether an address is mapped, and where it leads: (node, offset, bytes up to where that ends)."""
        at = bisect_right(self._starts, va) - 1
        if at >= 0 and va < self.regions.end[at]:
            start, end, node, offset = (int(column[at]) for column in self.regions)
            return True, (node, offset + va - start, end - va)
        found = self._memories.find(va)
        if found is None:
            raise AddressError(
                f"address {va:#x} is mapped by no tensor and is not the physical address of a memory; "
                "check the pointer arithmetic of the kernel"
            )
        node, offset, left = found
        following = self._starts[at + 1] if at + 1 < len(self._starts) else va + left
        return False, (node, offset, min(left, following - va))


def overlay(earlier: Regions, later: Regions) -> Regions:
    """Both, with the later one where they overlap; regions that lead nowhere are dropped."""
    cuts = np.unique(np.concatenate([earlier.start, earlier.end, later.start, later.end]))
    if len(cuts) < 2:
        return earlier
    start, end = cuts[:-1], cuts[1:]
    node = np.full(len(start), ABSENT, np.int64)
    offset = np.zeros(len(start), np.int64)
    for regions in (earlier, later):
        if not len(regions.start):
            continue
        at = np.searchsorted(regions.start, start, side="right") - 1
        inside = (at >= 0) & (start < regions.end[at])
        at = at[inside]
        node[inside] = regions.node[at]
        offset[inside] = regions.offset[at] + start[inside] - regions.start[at]
    keep = node != ABSENT
    return _joined(Regions(start[keep], end[keep], node[keep], offset[keep]))


def _joined(regions: Regions) -> Regions:
    """Neighbours that continue one another become one."""
    start, end, node, offset = regions
    if len(start) < 2:
        return regions
    apart = (start[1:] != end[:-1]) | (node[1:] != node[:-1]) | (offset[1:] != (offset + end - start)[:-1])
    first = np.concatenate([[True], apart])
    last = np.concatenate([apart, [True]])
    return Regions(start[first], end[last], node[first], offset[first])
