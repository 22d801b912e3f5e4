"""Memory access of one PE: virtual address ranges as DMA transfers over routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import expand_ranges
from kernbench.machine.intents import Intent, RouteKind

if TYPE_CHECKING:
    from kernbench.tl.pe import PeContext


class Transfers(NamedTuple):
    """The transfers of many ranges: those of range i are start[i] to start[i + 1]."""

    start: np.ndarray  # int64[range + 1]
    route: np.ndarray  # int64[transfer]
    nbytes: np.ndarray
    stripe: np.ndarray  # the memory channel of the first byte

    def expand(self, ranges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The transfers of a list of ranges, in its order: int64[n] place in the list and int64[n] transfer."""
        if len(self.route) == len(self.start) - 1:  # the usual case: one transfer each
            return np.arange(len(ranges)), ranges
        transfer, place = expand_ranges(self.start[ranges], self.start[ranges + 1])
        return place, transfer


class Access:
    """Routes and channels of one PE's DMA, found once for each memory; `write` gives the direction."""

    def __init__(self, pe: PeContext, write: bool) -> None:
        self._pe, self._translate = pe, pe.translate
        self._kind = RouteKind.WRITE if write else RouteKind.READ
        self._burst_bytes = int(pe.machine.figures["hbm.burst_bytes"])
        self._memories: dict[int, tuple[int, int]] = {}  # by node: route, channels

    def locate(self, va: int, nbytes: int) -> tuple[int, int, int] | None:
        """(route, offset in the memory, its channels) of a range that is in one piece of a tensor, else None."""
        found = self._pe.locate(va, nbytes)
        if found is None:
            return None
        node, offset, _ = found
        route, stripes = self._memories.get(node) or self._memory(node)
        return route, offset, stripes

    def find(self, va: int, nbytes: int) -> list[tuple[int, int, int]]:
        """(route, bytes, stripe) of each transfer of a range."""
        found: list[tuple[int, int, int]] = []
        for node, offset, size in self._translate(va, nbytes):
            route, stripes = self._memories.get(node) or self._memory(node)
            found.append((route, size, offset // self._burst_bytes % stripes))
        return found

    def find_many(self, va: np.ndarray, nbytes: np.ndarray) -> Transfers:
        """The transfers of many ranges."""
        node, offset = self._pe.translate_many(va, nbytes)
        only = int(node[0])
        if only >= 0 and (node == only).all():  # the usual case
            route, stripes = self._memories.get(only) or self._memory(only)
            stripe = offset // self._burst_bytes % stripes
            return Transfers(np.arange(len(va) + 1), np.full(len(va), route), nbytes, stripe)
        counts = np.ones(len(va), np.int64)
        split = {int(i): self._pe.translate(int(va[i]), int(nbytes[i])) for i in np.flatnonzero(node < 0)}
        if split:
            counts[list(split)] = [len(segments) for segments in split.values()]
            node, offset, nbytes = (np.repeat(column, counts) for column in (node, offset, nbytes))
        start = np.concatenate([[0], np.cumsum(counts)])
        for i, segments in split.items():
            node[start[i] : start[i + 1]], offset[start[i] : start[i + 1]], nbytes[start[i] : start[i + 1]] = zip(
                *segments, strict=True
            )
        nodes, which = np.unique(node, return_inverse=True)
        memories = [self._memories.get(node) or self._memory(node) for node in nodes.tolist()]
        route, stripes = np.array(memories, np.int64).T[:, which]
        return Transfers(start, route, nbytes, offset // self._burst_bytes % stripes)

    def _memory(self, node: int) -> tuple[int, int]:
        machine = self._pe.machine
        route = machine.routing.route(self._pe.place.dma, node, Intent.PE_DMA, self._kind)
        found = self._memories[node] = (route, machine.terminals[node].stripes)
        return found
