"""Block pointers: a block of a strided tensor, moved by `advance`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernbench.tl.language.errors import fail
from kernbench.triton.language.block import pointer, tensor
from kernbench.triton.language.types import pointer_type


class block_pointer:
    """The block of `sizes` at `offsets` of a tensor of `shape` and `strides`, which begins at `base`."""

    __slots__ = ("base", "offsets", "shape", "sizes", "strides")

    def __init__(self, base: pointer, shape: Any, strides: Any, offsets: Any, sizes: Sequence[int]) -> None:
        self.base, self.shape, self.strides = base, tuple(shape), tuple(strides)
        self.offsets, self.sizes = tuple(offsets), tuple(int(size) for size in sizes)

    @property
    def dtype(self) -> pointer_type:
        """The type of the pointer."""
        return self.base.dtype

    def advance(self, by: Sequence[Any]) -> block_pointer:
        """The block so many elements further on each axis."""
        if len(by) != len(self.offsets):
            fail(f"tl.advance got {len(by)} offsets for a block of {len(self.offsets)} dimensions", "give one for each")
        moved = [start + more for start, more in zip(self.offsets, by, strict=True)]
        return block_pointer(self.base, self.shape, self.strides, moved, self.sizes)

    def pointers(self) -> pointer:
        """The pointers to its elements."""
        found: Any = self.base.offsets
        for axis, (start, stride) in enumerate(zip(self.offsets, self.strides, strict=True)):
            found = np.add(found, np.multiply(self._along(axis, start), _number(stride)))
        return pointer(self.base.number, found, self.base.element)

    def mask(self, axes: Sequence[int]) -> Any:
        """Where its elements are inside of the tensor along some axes; None for no axis."""
        found: Any = None
        for axis in axes:
            at = self._along(axis, self.offsets[axis])
            inside = np.logical_and(np.greater_equal(at, 0), np.less(at, _number(self.shape[axis])))
            found = inside if found is None else np.logical_and(found, inside)
        return None if found is None else np.broadcast_to(found, self.sizes)

    def _along(self, axis: int, start: Any) -> Any:
        shape = [1] * len(self.sizes)
        shape[axis] = self.sizes[axis]
        return np.add(np.arange(self.sizes[axis], dtype=np.int64).reshape(shape), _number(start))


def _number(x: Any) -> Any:
    data = x.data if isinstance(x, tensor) else x
    return data.astype(np.int64) if hasattr(data, "astype") else int(data)
