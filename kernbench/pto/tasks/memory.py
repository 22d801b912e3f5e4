"""The global memory of a run as bytes: what comes from the host, in HBM, and the heap of the runtime, behind L2."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from kernbench.errors import AddressError
from kernbench.pto.settings import align

EXTERNAL_BASE = 1 << 32
HEAP_BASE = 1 << 44
_PAGE = 4096


class GlobalMemory:
    """Regions of bytes by address. The bytes of the heap are the computer's only where they are written."""

    def __init__(self, heap_bytes: int) -> None:
        self._starts: list[int] = []
        self._regions: list[np.ndarray] = []
        self._next = EXTERNAL_BASE
        self._heap = np.zeros(heap_bytes, np.uint8)

    def upload(self, array: np.ndarray) -> int:
        """Copy an array to a region of its own; returns its address."""
        content = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8).copy()
        return self._add(content)

    def allocate(self, nbytes: int) -> int:
        """A region of zeros; returns its address."""
        return self._add(np.zeros(nbytes, np.uint8))

    def _add(self, content: np.ndarray) -> int:
        at = self._next
        self._starts.append(at)
        self._regions.append(content)
        self._next = align(at + max(len(content), 1), _PAGE)
        return at

    def bytes_at(self, address: int, nbytes: int) -> np.ndarray:
        """uint8[nbytes] at an address, which can be written to. Errors: AddressError."""
        if HEAP_BASE <= address <= HEAP_BASE + len(self._heap) - nbytes:
            return self._heap[address - HEAP_BASE : address - HEAP_BASE + nbytes]
        at = bisect_right(self._starts, address) - 1
        if at >= 0 and address - self._starts[at] + nbytes <= len(self._regions[at]):
            start = address - self._starts[at]
            return self._regions[at][start : start + nbytes]
        raise AddressError(f"{nbytes:,} bytes at address {address:#x} are in no buffer; make the tensor of one")


def in_heap(address: int) -> bool:
    """Whether an address is one of the runtime's heap."""
    return address >= HEAP_BASE
