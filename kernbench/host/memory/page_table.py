"""Page maps: translation of virtual to physical addresses for each PE.

An address that no region covers is taken as a physical one. A run counts such look-ups; they are errors only if the
machine has no memory at that address. An access of which only a part is mapped is an error: no kernel intends that.

Maps are immutable: installing returns a new map, so a recorded launch keeps the map it ran under. A map is a list of chunks,
usually one for each tensor. PEs with the same entries share chunks, so installing a tensor on a PE costs one list.

Translation takes no simulated time here: the caller pays for the look-up (`pe_mmu.tlb`), for a tile as for a load.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from kernbench.errors import AddressError
from kernbench.host.memory.va_regions import NONE, Memories, Regions, Row, overlay
from kernbench.machine.address_decoder import ABSENT, Segment

_NEVER = np.iinfo(np.int64).max  # an address beyond all
Merged = dict[tuple[int, ...], Regions]  # by identity of the merged regions, which the caller keeps alive


class PageMap:
    """The entries of the MMU of one PE; `memories` translates addresses that it does not map."""

    __slots__ = ("_all", "_chunks", "_firsts", "_lasts", "_latest", "_memories")

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._chunks: list[Regions] = []  # by rising address, without overlap
        self._firsts: list[int] = []  # the first address of each chunk
        self._lasts: list[int] = []  # the end of each chunk
        self._all: Regions | None = None
        self._latest: Row = (1, 0, ABSENT, 0)  # the region found last; the next access is mostly in it too

    def install(self, later: Regions, merged: Merged | None = None) -> PageMap:
        """This map with other regions written over it; `merged` caches merges for other maps with the same chunks."""
        if not len(later):
            return self
        merged = {} if merged is None else merged
        first = bisect_right(self._lasts, later.starts[0])
        end = bisect_left(self._firsts, later.rows[-1][1])
        touched = self._chunks[first:end]
        key = (id(later), *map(id, touched))
        if key not in merged:
            merged[key] = overlay(Regions.joined(touched), later)
        new = [merged[key]] if len(merged[key]) else []
        page_map = PageMap(self._memories)
        page_map._chunks = [*self._chunks[:first], *new, *self._chunks[end:]]
        page_map._firsts = [*self._firsts[:first], *(chunk.starts[0] for chunk in new), *self._firsts[end:]]
        page_map._lasts = [*self._lasts[:first], *(chunk.rows[-1][1] for chunk in new), *self._lasts[end:]]
        return page_map

    def before(self, memories: Memories) -> PageMap:
        """The same map with other memories behind it."""
        page_map = PageMap(memories)
        page_map._chunks, page_map._firsts, page_map._lasts = self._chunks, self._firsts, self._lasts
        return page_map

    def locate(self, va: int, nbytes: int) -> Segment | None:
        """The piece of physical memory behind a virtual range; None if it is not mapped, or not in one region."""
        start, end, node, offset = self._latest
        if start <= va and va + nbytes <= end:
            return node, offset + va - start, nbytes
        at = bisect_right(self._firsts, va) - 1
        if at >= 0:
            chunk = self._chunks[at]
            self._latest = start, end, node, offset = chunk.rows[bisect_right(chunk.starts, va) - 1]
            if va + nbytes <= end:
                return node, offset + va - start, nbytes
        return None

    def translate(self, va: int, nbytes: int) -> list[Segment]:
        """The pieces of physical memory behind a virtual range, in its order.

        Errors: AddressError when a part of the range is neither mapped nor the physical address of a memory, or only a
        part is mapped.
        """
        found = self.locate(va, nbytes)
        return self._pieces(int(va), nbytes) if found is None else [found]

    def translate_many(self, va: np.ndarray, nbytes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """int64[n] node and int64[n] offset of many ranges; node ABSENT where a range is not one piece of memory."""
        if not len(va):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        first = int(va.min())
        regions, beyond = self._around(first, int(va.max()))
        end = va + nbytes
        at = np.searchsorted(regions.start, va, side="right") - 1
        if len(regions) and first >= regions.starts[0] and (end <= regions.end[at]).all():  # the common case
            return regions.node[at], regions.offset[at] + va - regions.start[at]
        return self._translate_each(va, end, at, regions, beyond)

    def _translate_each(
        self, va: np.ndarray, end: np.ndarray, at: np.ndarray, regions: Regions, beyond: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Translate ranges of which some are in the region `at` and some in none."""
        node, offset = np.full(len(va), ABSENT, np.int64), np.zeros(len(va), np.int64)
        before = np.concatenate([va[:1], regions.end])[at + 1]  # the end of the region at or before it
        inside = (at >= 0) & (end <= before)
        held = at[inside]
        node[inside] = regions.node[held]
        offset[inside] = regions.offset[held] + va[inside] - regions.start[held]
        after = np.concatenate([regions.start, [beyond]])[at + 1]  # the start of the next region
        outside = ((at < 0) | (va >= before)) & (end <= after)
        if outside.any():
            found, into, left = self._memories.find_many(va[outside])
            node[outside] = np.where((end - va)[outside] <= left, found, ABSENT)
            offset[outside] = into
        return node, offset

    def _around(self, first: int, last: int) -> tuple[Regions, int]:
        """The regions that cover addresses from `first` to `last`, and the first address of the regions beyond them."""
        at, to = bisect_right(self._firsts, first) - 1, bisect_right(self._firsts, last) - 1
        if at == to:
            return self._chunks[at] if at >= 0 else NONE, self._following(at)
        if self._all is None:
            self._all = Regions.joined(self._chunks)
        return self._all, _NEVER

    def _following(self, at: int) -> int:
        return self._firsts[at + 1] if at + 1 < len(self._firsts) else _NEVER

    def _pieces(self, va: int, nbytes: int) -> list[Segment]:
        segments: list[Segment] = []
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

    def _piece(self, va: int) -> tuple[bool, Segment]:
        """Whether an address is mapped, and (node, offset, bytes to the end of the piece)."""
        at = bisect_right(self._firsts, va) - 1
        following = self._following(at)
        if at >= 0:
            chunk = self._chunks[at]
            within = bisect_right(chunk.starts, va) - 1
            start, end, node, offset = chunk.rows[within]
            if va < end:
                return True, (node, offset + va - start, end - va)
            if within + 1 < len(chunk):
                following = chunk.starts[within + 1]
        found = self._memories.find(va)
        if found is None:
            raise AddressError(
                f"address {va:#x} is mapped by no tensor and is not the physical address of a memory; "
                "check the pointer arithmetic of the kernel"
            )
        node, offset, left = found
        return False, (node, offset, min(left, following - va))
