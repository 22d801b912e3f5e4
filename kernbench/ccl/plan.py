"""The plan of a collective: the arguments of its kernel beyond those of the contract.

A tensor is split in parts over PEs. Each PE that holds a part runs the kernel on it, together with the PEs of the same number
on the other cubes and SIPs, or on the other SIPs alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from kernbench.dtypes import itemsize

Spans = tuple[tuple[tuple[int, int], ...], ...]  # [cube][pe] → (first element, elements)
BATCH_BYTES = 256 << 10  # of sums that a kernel keeps, where nothing else is said
OPS = {"sum": "add", "prod": "mul", "min": "minimum", "max": "maximum"}  # the primitive of each


class Part(NamedTuple):
    """A run of consecutive elements: byte offset from the tensor's address, and number of elements."""

    offset: int
    elements: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One collective on one layout, for modules that take `plan`; others use the arguments of the contract alone.

    `chunk` is the elements that fit a slot, `window` the slots of a ring. `spans[cube][pe]` is (first element, elements)
    of a PE's part, (0, 0) for one that takes no part; None is the layout of the contract: `n_elem` in pe0 of each cube.
    `root` is the root cube of a hierarchy or the root rank of a rooted collective. `keeps` is the bytes of sums that a kernel
    may keep at a time.
    """

    dtype: str = "f16"
    op: str = "sum"
    chunk: int = 2048
    window: int = 4
    spans: Spans | None = None
    root: int | None = None
    keeps: int = BATCH_BYTES

    def part(self, tl: Any, n_elem: int) -> Part:
        """The part of the calling PE; of 0 elements if it has none."""
        cube: int = tl.program_id(axis=1)
        pe: int = tl.program_id(axis=0)
        if self.spans is None:
            first, elements = (cube * n_elem, n_elem) if pe == 0 else (0, 0)
        else:
            first, elements = self.spans[cube][pe]
        return Part(first * itemsize(self.dtype), elements)

    def cut(self, part: Part) -> list[Part]:
        """Split a part into pieces that fit a slot, all but the last of one size."""
        return list(self._pieces(part))

    def _pieces(self, part: Part) -> Iterator[Part]:
        for first in range(0, part.elements, self.chunk):
            elements = min(self.chunk, part.elements - first)
            yield Part(part.offset + first * itemsize(self.dtype), elements)

    def count_pieces(self, nbytes: int) -> tuple[int, int]:
        """The number of pieces of so many bytes, and the bytes of one."""
        most = self.chunk * itemsize(self.dtype)
        return -(-nbytes // most), min(most, nbytes)

    @property
    def batch_bytes(self) -> int:
        """The bytes of a batch: as many whole pieces as a PE keeps sums of."""
        piece = self.chunk * itemsize(self.dtype)
        return max(self.keeps // piece, 1) * piece

    def batches(self, part: Part, shares: int = 1) -> list[Part]:
        """Split a part into batches of whole pieces; the sums of one of so many shares of a batch fit the scratch of a PE."""
        size = itemsize(self.dtype)
        most = self.batch_bytes // size * shares
        return [
            Part(part.offset + first * size, min(most, part.elements - first))
            for first in range(0, part.elements, most)
        ]

    def share(self, part: Part, count: int) -> list[Part]:
        """Split a part into `count` consecutive shares whose sizes differ by at most one."""
        least, more = divmod(part.elements, count)
        ends = [0]
        for i in range(count):
            ends.append(ends[-1] + least + (i < more))
        size = itemsize(self.dtype)
        return [Part(part.offset + a * size, b - a) for a, b in pairwise(ends)]

    def combine(self, tl: Any, a: Any, b: Any) -> Any:
        """`a` and `b` reduced elementwise; the scratch of `a` is free afterwards."""
        result = getattr(tl, OPS[self.op])(a, b)
        tl.release(a)
        return result
