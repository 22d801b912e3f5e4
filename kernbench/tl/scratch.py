"""Where results live: a bump allocator over the scratch region of one PE's TCM, fresh for every kernel run."""

from __future__ import annotations

from kernbench.tl.errors import ScratchError, fail

ALIGN_BYTES = 16


class Scratch:
    """Hands out 16-byte-aligned TCM addresses; with base 0 (no PE behind the kernel) every address is 0."""

    __slots__ = ("base", "cursor", "size")

    def __init__(self, base: int, size: int) -> None:
        self.base = base
        self.size = size
        self.cursor = 0

    def take(self, nbytes: int) -> int:
        """The TCM address of nbytes more bytes. Errors: ScratchError (a RuntimeError) when the region is full."""
        if not self.base:
            return 0
        start = self.cursor
        end = start + -(-nbytes // ALIGN_BYTES) * ALIGN_BYTES
        if end > self.size:
            fail(
                f"scratch memory is full: {nbytes} bytes were asked for and {self.size - start} of {self.size} are free",
                "use fewer or smaller results, or raise pe.scratch_bytes of the topology",
                ScratchError,
            )
        self.cursor = end
        return self.base + start
