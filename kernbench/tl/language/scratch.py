"""The scratch allocator of one PE's TCM: addresses of results in order, from the start in every kernel run.

Released memory is reused for results of the same size.
"""

from __future__ import annotations

from kernbench.tl.language.errors import ScratchError, fail

ALIGN_BYTES = 16


class Scratch:
    """A bump allocator of 16-byte-aligned TCM addresses; with base 0 (no PE behind the kernel) every address is 0."""

    __slots__ = ("_released", "base", "cursor", "size")

    def __init__(self, base: int, size: int) -> None:
        self.base = base
        self.size = size
        self.cursor = 0
        self._released: dict[int, list[int]] = {}  # addresses, by rounded size

    def take(self, nbytes: int) -> int:
        """Allocate `nbytes` and return their TCM address. Errors: ScratchError (a RuntimeError) when the region is full."""
        if not self.base:
            return 0
        rounded = nbytes + -nbytes % ALIGN_BYTES
        if released := self._released.get(rounded):
            return released.pop()
        start = self.cursor
        end = start + rounded
        if end > self.size:
            fail(
                f"scratch memory is full: {nbytes} bytes were asked for and {self.size - start} of {self.size} are free",
                "use fewer or smaller results, or raise pe.scratch_bytes of the topology",
                ScratchError,
            )
        self.cursor = end
        return self.base + start

    def holds(self, address: int) -> bool:
        """Whether an address is in the region."""
        return self.base <= address < self.base + self.size

    def give_back(self, address: int, nbytes: int) -> None:
        """Free an address that `take(nbytes)` returned."""
        if self.base:
            self._released.setdefault(nbytes + -nbytes % ALIGN_BYTES, []).append(address)
