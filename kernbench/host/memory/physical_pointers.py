"""Pointers of kernels under physical addressing, and the check of physical accesses.

The parts of a tensor are apart in physical memory, but kernels are written for one range of addresses. So the
arithmetic of pointers follows the parts: a pointer plus *n* is the address of byte *n* of the tensor, in this PE's own
copies. This arithmetic takes no simulated time. One access to two parts is an error.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from kernbench.errors import AddressError
from kernbench.host.memory.pointer import Owner
from kernbench.host.memory.va_regions import Memories
from kernbench.host.messages import Entries, Shard
from kernbench.machine.address_decoder import ABSENT, Segment
from kernbench.tl.language.context_base import CheckedPointer

_WHOLE: tuple[type, ...] = (int, np.integer)


class Extent(NamedTuple):
    """The parts of a tensor for one PE, by rising offset."""

    name: str
    nbytes: int
    starts: tuple[int, ...]  # of each part, in the tensor
    addresses: tuple[int, ...]  # of each part, physical
    owner: Owner | None = None

    @classmethod
    def of(cls, name: str, va: int, nbytes: int, entries: Entries, owner: Owner | None = None) -> Extent:
        """The extent of a tensor that begins at `va` in its entries."""
        starts = tuple(entry.va - va for entry in entries)
        return cls(name, nbytes, starts, tuple(entry.shard.pa for entry in entries), owner)

    def address(self, offset: int) -> int:
        """The physical address of a byte, or of the end. Errors: AddressError outside of the tensor."""
        if not 0 <= offset <= self.nbytes:
            raise AddressError(
                f"byte {offset} of tensor {self.name!r} does not exist: it has {self.nbytes}; "
                "check the pointer arithmetic of the kernel"
            )
        at = bisect_right(self.starts, offset) - 1
        return self.addresses[at] + offset - self.starts[at]


class PhysicalPointer(CheckedPointer):
    """The physical address of a byte of a tensor; adding bytes moves through the tensor, not through memory."""

    __array_ufunc__ = None  # numpy leaves arithmetic to this class

    _extent: Extent
    _offset: int

    def __new__(cls, extent: Extent, offset: int = 0) -> PhysicalPointer:
        self = super().__new__(cls, extent.address(offset))
        self._extent, self._offset = extent, offset
        return self

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, _WHOLE) or isinstance(other, PhysicalPointer):
            return int(self) + (int(other) if isinstance(other, PhysicalPointer) else other)
        return PhysicalPointer(self._extent, self._offset + int(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, PhysicalPointer) and other._extent is self._extent:
            return self._offset - other._offset
        if not isinstance(other, _WHOLE) or isinstance(other, PhysicalPointer):
            return int(self) - other
        return PhysicalPointer(self._extent, self._offset - int(other))

    def check_access(self, nbytes: int, dtype: str | None = None) -> None:
        """Check an access from here on. Errors: AddressError if the tensor has fewer bytes, or elements of another type."""
        extent = self._extent
        if extent.owner is not None:
            extent.owner.check_type(dtype)
        if self._offset + nbytes > extent.nbytes:
            raise AddressError(
                f"the access to {nbytes} bytes at byte {self._offset} of tensor {extent.name!r} runs out of it: it has "
                f"{extent.nbytes}; check the shape and the pointer arithmetic of the kernel"
            )


def ranges(shards: Iterable[Shard]) -> np.ndarray:
    """int64[shard, 2] first address and end of each shard."""
    return np.array([(shard.pa, shard.pa + shard.nbytes) for shard in shards], np.int64).reshape(-1, 2)


class PhysicalMap:
    """Physical addresses, unchanged; an access that crosses the end of a shard is an error.

    `tensors`: the ranges of the shards of each tensor, as `ranges` returns them.
    """

    __slots__ = ("_ends", "_memories", "_starts")

    def __init__(self, memories: Memories, tensors: Iterable[np.ndarray]) -> None:
        found = np.concatenate([np.zeros((0, 2), np.int64), *tensors])
        found = found[np.argsort(found[:, 0])]
        self._memories = memories
        self._starts, self._ends = np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1])

    def locate(self, pa: int, nbytes: int) -> Segment | None:
        """The piece of memory behind a range; None if that is more than one. Errors: AddressError."""
        found = self.translate(pa, nbytes)
        return found[0] if len(found) == 1 else None

    def translate(self, pa: int, nbytes: int) -> list[Segment]:
        """The pieces of memory behind a range, in its order. Errors: AddressError."""
        pa, end = int(pa), int(pa) + nbytes
        self._check(pa, end)
        segments: list[Segment] = []
        at = pa
        while at < end:
            found = self._memories.find(at)
            if found is None:
                raise AddressError(
                    f"address {at:#x} is not the physical address of a memory; check the pointer arithmetic of the kernel"
                )
            node, offset, left = found
            segments.append((node, offset, min(left, end - at)))
            at += left
        return segments

    def translate_many(self, pa: np.ndarray, nbytes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """int64[n] node and int64[n] offset of many ranges; node ABSENT where a range is not one piece of memory."""
        node, offset, left = self._memories.find_many(pa)
        return np.where((nbytes <= left) & self._keeps_to_shards(pa, pa + nbytes), node, ABSENT), offset

    def _keeps_to_shards(self, first: np.ndarray, end: np.ndarray) -> np.ndarray:
        """bool[n] whether each range is in one shard or in none."""
        at = np.searchsorted(self._starts, first, side="right") - 1
        before = np.concatenate([[first.min(initial=0)], self._ends])[at + 1]
        after = np.concatenate([self._starts, [np.iinfo(np.int64).max]])[at + 1]
        return np.where(first < before, end <= before, end <= after)

    def _check(self, first: int, end: int) -> None:
        if not self._keeps_to_shards(np.array([first]), np.array([end]))[0]:
            raise AddressError(
                f"the access to {end - first} bytes at {first:#x} crosses the end of a shard; under physical addresses parts "
                "of a tensor lie apart, so access them one by one or set mmu.model to va or la"
            )
