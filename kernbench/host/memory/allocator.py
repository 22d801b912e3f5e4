"""First-fit allocator of one range of addresses; adjacent free blocks are joined.

First fit is simpler than best fit or a buddy system. Hosts allocate, run and free, which fragments little. `free` does
not check that the block was allocated.
"""

from __future__ import annotations

from bisect import bisect_left, insort


class Allocator:
    """Allocates blocks of the range [base, base + size) of bytes; blocks begin at multiples of `align`."""

    __slots__ = ("_free", "align", "base", "size")

    def __init__(self, base: int, size: int, align: int) -> None:
        self.base, self.size, self.align = base, size, align
        self._free: list[tuple[int, int]] = [(base, base + size)]  # sorted, disjoint, never touching

    def allocate(self, nbytes: int) -> int | None:
        """Allocate from the lowest block that is large enough; returns the first address, None if there is no such block."""
        need = self._rounded(nbytes)
        for i, (start, end) in enumerate(self._free):
            if end - start >= need:
                self._free[i : i + 1] = [(start + need, end)] if start + need < end else []
                return start
        return None

    def free(self, address: int, nbytes: int) -> None:
        """Free a block that `allocate(nbytes)` returned."""
        start, end = address, address + self._rounded(nbytes)
        insort(self._free, (start, end))
        at = bisect_left(self._free, (start, end))
        if at + 1 < len(self._free) and self._free[at + 1][0] == end:
            end = self._free.pop(at + 1)[1]
        if at > 0 and self._free[at - 1][1] == start:
            start = self._free.pop(at - 1)[0]
            at -= 1
        self._free[at] = (start, end)

    @property
    def free_bytes(self) -> int:
        """The number of free bytes."""
        return sum(end - start for start, end in self._free)

    @property
    def largest_free_bytes(self) -> int:
        """The size of the largest free block."""
        return max((end - start for start, end in self._free), default=0)

    def _rounded(self, nbytes: int) -> int:
        return -(-max(nbytes, 1) // self.align) * self.align
