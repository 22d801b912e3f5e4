"""Tensor descriptors: a strided tensor that is loaded and stored by blocks at offsets, always within its shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernbench.tl.language.errors import fail
from kernbench.triton.language import memory
from kernbench.triton.language.block import as_block, pointer, tensor
from kernbench.triton.language.block_pointer import block_pointer
from kernbench.triton.language.types import dtype


class tensor_descriptor:
    """A tensor of `shape` and `strides` at `base`, whose blocks have `block_shape`; what is outside of it reads as padding."""

    __slots__ = ("_padding", "base", "block_shape", "shape", "strides")

    def __init__(
        self, base: pointer, shape: Any, strides: Any, block_shape: Sequence[int], padding: str = "zero"
    ) -> None:
        self.base, self.shape, self.strides = base, tuple(shape), tuple(strides)
        self.block_shape, self._padding = tuple(int(size) for size in block_shape), padding
        if not len(self.shape) == len(self.strides) == len(self.block_shape):
            fail(
                f"a tensor descriptor got {len(self.shape)} sizes, {len(self.strides)} strides and a block of "
                f"{len(self.block_shape)} dimensions",
                "give as many of each",
            )

    @property
    def dtype(self) -> dtype:
        """The type of its elements."""
        return self.base.element

    def _at(self, offsets: Sequence[Any]) -> tuple[block_pointer, tuple[int, ...]]:
        if len(offsets) != len(self.shape):
            fail(f"a tensor descriptor of {len(self.shape)} dimensions got {len(offsets)} offsets", "give one for each")
        return block_pointer(self.base, self.shape, self.strides, offsets, self.block_shape), tuple(
            range(len(self.shape))
        )

    def load(self, offsets: Sequence[Any]) -> tensor:
        """The block at offsets."""
        at, axes = self._at(offsets)
        return memory.load(at, boundary_check=axes, padding_option=self._padding)

    def store(self, offsets: Sequence[Any], value: tensor) -> None:
        """Write the part of a block that is inside of the tensor, at offsets."""
        at, axes = self._at(offsets)
        memory.store(at, value.to(self.dtype), boundary_check=axes)

    def _rows(self, x_offsets: Any, y_offset: Any) -> tuple[pointer, Any]:
        """The pointers to rows from a column on, and where they are inside of the tensor."""
        along: Any = tensor(np.arange(self.block_shape[-1], dtype=np.int32), as_block(0).dtype)
        columns = along + y_offset
        rows = x_offsets[:, None]
        inside = (rows >= 0) & (rows < self.shape[0]) & (columns[None, :] >= 0) & (columns[None, :] < self.shape[1])
        return self.base + rows * self.strides[0] + columns[None, :] * self.strides[1], inside

    def gather(self, x_offsets: tensor, y_offset: Any) -> tensor:
        """Rows at offsets, from a column on."""
        at, inside = self._rows(x_offsets, y_offset)
        return memory.load(at, inside, 0)

    def scatter(self, value: tensor, x_offsets: tensor, y_offset: Any) -> None:
        """Write rows at offsets, from a column on."""
        at, inside = self._rows(x_offsets, y_offset)
        memory.store(at, value, inside)

    def _atomic(self, function: Callable[..., tensor], offsets: Sequence[Any], value: tensor) -> None:
        at, axes = self._at(offsets)
        function(at.pointers(), value, tensor(at.mask(axes), as_block(True).dtype), "relaxed")

    def atomic_add(self, offsets: Sequence[Any], value: tensor) -> None:
        """Add to a block at offsets."""
        self._atomic(memory.atomic_add, offsets, value)

    def atomic_max(self, offsets: Sequence[Any], value: tensor) -> None:
        """Keep the larger elements of a block at offsets."""
        self._atomic(memory.atomic_max, offsets, value)

    def atomic_min(self, offsets: Sequence[Any], value: tensor) -> None:
        """Keep the smaller elements of a block at offsets."""
        self._atomic(memory.atomic_min, offsets, value)


def make_tensor_descriptor(
    base: pointer, shape: Any, strides: Any, block_shape: Sequence[int], padding_option: str = "zero"
) -> tensor_descriptor:
    """A descriptor of a tensor at a pointer."""
    if not isinstance(base, pointer):
        fail(f"tl.make_tensor_descriptor got {base!r}", "give a pointer, such as a tensor argument")
    return tensor_descriptor(base, shape, strides, block_shape, padding_option)


def load_tensor_descriptor(desc: tensor_descriptor, offsets: Sequence[Any]) -> tensor:
    """The block of a descriptor at offsets."""
    return desc.load(offsets)


def store_tensor_descriptor(desc: tensor_descriptor, offsets: Sequence[Any], value: tensor) -> None:
    """Write a block of a descriptor at offsets."""
    desc.store(offsets, value)


class TensorDescriptor:
    """A descriptor that the host makes of a tensor and gives to a kernel."""

    def __init__(
        self, base: Any, shape: Sequence[int], strides: Sequence[int], block_shape: Sequence[int], padding: str = "zero"
    ) -> None:
        self.base, self.shape, self.strides = base, list(shape), list(strides)
        self.block_shape, self.padding = list(block_shape), padding

    @classmethod
    def from_tensor(cls, tensor: Any, block_shape: Sequence[int], padding: str = "zero") -> TensorDescriptor:
        """A descriptor of a whole tensor of torch."""
        return cls(tensor, tensor.shape, tensor.stride(), block_shape, padding)

    def on(self, base: pointer) -> tensor_descriptor:
        """The descriptor that the kernel sees, of a tensor at a pointer."""
        sizes, strides = ([as_block(int(one)) for one in given] for given in (self.shape, self.strides))
        return tensor_descriptor(base, sizes, strides, self.block_shape, self.padding)
