"""Decoder of physical addresses to memories, for single addresses and for arrays.

A program has hundreds of thousands of addresses (all tiles of a pipeline at once) and few memories. An array of addresses is
therefore reduced to the first addresses of their memories, and only the distinct ones are decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import InputError
from kernbench.machine.address import HBM_BYTES, PE_BYTES, SPACE_SHIFT, MemorySpace

if TYPE_CHECKING:
    from kernbench.machine.families.sip.places import Places

Segment = tuple[int, int, int]  # (memory node, offset in it, bytes)
ABSENT = -1  # the node of an address without memory


class AddressDecoder:
    """Decodes the physical addresses of one machine."""

    __slots__ = ("_places",)

    def __init__(self, places: Places) -> None:
        self._places = places

    def find(self, pa: int) -> Segment | None:
        """(node, offset, bytes from there to the end of the memory) of an address; None if it has no memory."""
        try:
            return self._places.memory_of(pa)
        except InputError:
            return None

    def find_many(self, pa: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """int64[n] node, offset and bytes to the end of the memory of each address; node ABSENT if it has no memory."""
        base = self._bases(pa)
        bases, which = np.unique(base, return_inverse=True)
        found = [self.find(int(first)) or (ABSENT, 0, 0) for first in bases]
        node, _, size = np.array(found, np.int64).reshape(-1, 3).T[:, which]
        offset = pa - base
        return np.where(offset < size, node, ABSENT), offset, size - offset

    def _bases(self, pa: np.ndarray) -> np.ndarray:
        """int64[n] the first address of the memory of each address."""
        space, local = pa >> SPACE_SHIFT & 7, pa & HBM_BYTES - 1
        into = np.where(space == MemorySpace.HBM, local % self._places.shape.slice_bytes, local)
        return pa - np.where(space == MemorySpace.PE, local & PE_BYTES - 1, into)
