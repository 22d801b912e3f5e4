"""Virtual to physical: the page maps of the PEs of one machine.

A map is a list of disjoint regions, each as exact as the host gave it, so several regions share a page where a tensor is
cut finer than pages. A real MMU keeps one physical address a page; this one is the documented simplification that lets
layouts be finer. Where two mappings overlap, the later write wins. An address no region covers is taken as a physical one:
that is a signal, not an error, unless it names no memory of the machine. But an access that runs out of what is mapped, or
into it, is an error: no kernel means that.

Maps are immutable: installing gives a new one. So a launch that was recorded keeps the map it ran under, and PEs with equal
maps share one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kernbench.errors import RunError

Segment = tuple[int, int, int]  # (memory node, offset in it, bytes)
ABSENT = -1


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

    def absent(self) -> Regions:
        """The same addresses, leading nowhere: what unmapping writes."""
        return self._replace(node=np.full_like(self.node, ABSENT))


class PageMap:
    """What one PE's MMU holds. `decode(address)` gives (node, offset, bytes left in it) of a physical address, or None."""

    __slots__ = ("_decode", "_starts", "regions")

    def __init__(self, decode: Callable[[int], Segment | None], regions: Regions | None = None) -> None:
        self.regions = regions if regions is not None else Regions.of([])
        self._decode = decode
        self._starts: list[int] = self.regions.start.tolist()

    def install(self, later: Regions) -> PageMap:
        """This map overwritten by other regions."""
        return PageMap(self._decode, overlay(self.regions, later))

    def translate(self, va: int, nbytes: int) -> list[Segment]:
        """The pieces of physical memory behind a virtual range, in its order.

        Errors: RunError when a part of the range is neither mapped nor the physical address of a memory, or only a part
        is mapped.
        """
        segments = []
        at, end = va, va + nbytes
        first_mapped: bool | None = None
        while at < end:
            mapped, (node, offset, left) = self._piece(at)
            if first_mapped is None:
                first_mapped = mapped
            elif mapped is not first_mapped:
                raise RunError(
                    f"the access to {nbytes} bytes at {va:#x} runs {'into' if mapped else 'out of'} a tensor at {at:#x}; "
                    "check the shape and the pointer arithmetic of the kernel"
                )
            size = min(left, end - at)
            segments.append((node, offset, size))
            at += size
        return segments

    def translate_many(self, va: np.ndarray, nbytes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """int64[n] node and int64[n] offset of many ranges; node ABSENT where one region does not cover the whole range."""
        node, offset = np.full(len(va), ABSENT, np.int64), np.zeros(len(va), np.int64)
        at = np.searchsorted(self.regions.start, va, side="right") - 1
        inside = at >= 0
        inside[inside] = (va + nbytes)[inside] <= self.regions.end[at[inside]]
        at = at[inside]
        node[inside] = self.regions.node[at]
        offset[inside] = self.regions.offset[at] + va[inside] - self.regions.start[at]
        return node, offset

    def _piece(self, va: int) -> tuple[bool, Segment]:
        """Whether an address is mapped, and where it leads: (node, offset, bytes up to where that ends)."""
        at = bisect_right(self._starts, va) - 1
        if at >= 0 and va < self.regions.end[at]:
            start, end, node, offset = (int(column[at]) for column in self.regions)
            return True, (node, offset + va - start, end - va)
        found = self._decode(va)
        if found is None:
            raise RunError(
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
