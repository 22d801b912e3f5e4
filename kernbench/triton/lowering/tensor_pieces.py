"""The pieces of memory behind a tensor of a launch, as one PE reaches them, and the transfers of accesses to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import expand_ranges
from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.ops import NONE

if TYPE_CHECKING:
    from kernbench.tl.pe import PeContext
    from kernbench.triton.lowering.descriptors import Descriptors


class Transfers(NamedTuple):
    """Transfers, in the order of their descriptors: int64[transfer] each."""

    descriptor: np.ndarray
    route: np.ndarray
    nbytes: np.ndarray
    stripe: np.ndarray  # the memory channel of the first byte


class TensorPieces:
    """A tensor in pieces of memory, by rising byte of the tensor, and the routes of a PE to them.

    `pieces`: (memory node, offset in that memory, bytes) of each, without gaps.
    """

    def __init__(self, pe: PeContext, pieces: list[tuple[int, int, int]]) -> None:
        node, self._offset, size = np.array(pieces, np.int64).reshape(-1, 3).T
        self._end = np.cumsum(size)
        self._start = self._end - size
        self._burst_bytes = int(pe.machine.figures["hbm.burst_bytes"])
        self._nodes, self._memory = np.unique(node, return_inverse=True)
        self._pe = pe
        terminals = pe.machine.terminals
        self._channels = np.array([terminals[at].stripes for at in self._nodes.tolist()])
        self._routes = {write: np.full(len(self._nodes), NONE) for write in (False, True)}  # found as they are needed

    def find(self, asked: Descriptors, *, write: bool) -> Transfers:
        """The transfers of descriptors: a descriptor becomes one transfer for each piece that has bytes of it."""
        first = np.searchsorted(self._end, asked.start, side="right")
        last_byte = asked.start + (asked.runs - 1) * asked.stride + asked.length - 1
        last = np.minimum(
            np.searchsorted(self._end, last_byte, side="right"), len(self._end) - 1
        )  # lines may end beyond
        if (first == last).all():
            return self._transfers(np.arange(len(first)), first, asked.start, asked.nbytes, write)
        piece, descriptor = expand_ranges(first, last + 1)
        own = asked.take(descriptor)
        begin, end = (
            self._start[piece],
            np.where(piece == last[descriptor], last_byte[descriptor] + 1, self._end[piece]),
        )
        before = own.bytes_before(begin)
        nbytes = own.bytes_before(end) - before
        start = own.start + before // own.length * own.stride + before % own.length
        kept = nbytes > 0
        return self._transfers(descriptor[kept], piece[kept], start[kept], nbytes[kept], write)

    def _transfers(
        self, descriptor: np.ndarray, piece: np.ndarray, start: np.ndarray, nbytes: np.ndarray, write: bool
    ) -> Transfers:
        memory = self._memory[piece]
        offset = self._offset[piece] + start - self._start[piece]
        stripe = offset // self._burst_bytes % self._channels[memory]
        return Transfers(descriptor, self._find_routes(memory, write), nbytes, stripe)

    def _find_routes(self, memory: np.ndarray, write: bool) -> np.ndarray:
        """The route to each of some memories."""
        routes = self._routes[write]
        found = routes[memory]
        if (found < 0).any():
            kind, routing, dma = (
                RouteKind.WRITE if write else RouteKind.READ,
                self._pe.machine.routing,
                self._pe.place.dma,
            )
            for at in np.unique(memory[found < 0]).tolist():
                routes[at] = routing.route(dma, int(self._nodes[at]), Intent.PE_DMA, kind)
            found = routes[memory]
        return found
