"""First fit over one range of addresses, with neighbours joined when freed.

Simpler than best fit or buddies, and the host's habit (deploy, run, free) leaves little to fragment. Freeing trusts its
caller to give back what it was given.
"""

from __future__ import annotations

from bisect import bisect_left, insort


class Allocator:
    """A range [base, base + size) of bytes, handed out in blocks that begin at multiples of `align`."""

    __slots__ = ("_free", "align", "base", "size")

    def __init__(self, base: int, size: int, align: int) -> None:
        self.base, self.size, self.align = base, size, align
        self._free: list[tuple[int, int]] = [(base, base + size)]  # sorted, disjoint, never touching

    def allocate(self, nbytes: int) -> int | None:
        """The first address of the lowest free block that is large enough, or None if there is none."""
        need = self._rounded(nbytes)
        for i, (start, end) in enumerate(self._free):
            if end - start >= need:
                self._free[i : i + 1] = [(start + need, end)] if start + need < end else []
                return start
        return None

    def free(self, address: int, nbytes: int) -> None:
        """Give back what `allocate(nbytes)` returned."""
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
        """The sum of the free blocks."""
        return sum(end - start for start, end in self._free)

    @property
    def largest_free_bytes(self) -> int:
        """The largest free block."""
        return max((end - start for start, end in self._free), default=0)

    def _rounded(self, nbytes: int) -> int:
        return -(-max(nbytes, 1) // self.align) * self.align
