"""Tensors and parameters of tasks, with the names and the order of arguments of the runtime's API.

A tensor is a region of a buffer: the shape of the whole buffer, the offset of the region in it, and its own shape. Views of one
tensor share its buffer, which may get its address later: that of a tensor of `make_tensor` when a task first writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.dtypes import numpy_dtype
from kernbench.errors import shorten
from kernbench.pto.runtime.fatal import InvalidArgsError
from kernbench.schema.guards import is_whole

if TYPE_CHECKING:
    from kernbench.pto.tasks.task import Task


class Overlap(IntEnum):
    """How a new region lies over an old one."""

    NONE = 0
    COVERED = 1  # the new region holds all of the old one
    OTHER = 2


class Buffer:
    """Bytes that tensors are regions of; address 0: none yet. `owner` is the task with whose slot they are freed.

    The bytes of a pipe tensor stay in the cluster of a group of tasks: it has `contents` of its own, and at its address
    there is memory for the map of tensors to know it by, and no more.
    """

    __slots__ = ("address", "contents", "group", "nbytes", "owner")

    def __init__(self, address: int, nbytes: int) -> None:
        self.address = address
        self.nbytes = nbytes
        self.owner: Task | None = None
        self.contents: np.ndarray | None = None  # uint8[nbytes] of a pipe tensor
        self.group: int | None = None  # of its tasks, once one of them writes it

    @property
    def is_pipe(self) -> bool:
        """Whether its bytes stay in a cluster."""
        return self.contents is not None


@dataclass(frozen=True, slots=True)
class Tensor:
    """A region of a buffer that holds an array of `raw_shape`: from `offsets` on, `shape` elements along each dimension."""

    buffer: Buffer
    raw_shape: tuple[int, ...]
    offsets: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def nbytes(self) -> int:
        """The bytes of the region."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def address(self) -> int:
        """The address of its first element."""
        return self.buffer.address + self.first_byte

    @property
    def first_byte(self) -> int:
        """The offset of its first element in the buffer."""
        at = 0
        for offset, size in zip(self.offsets, self.raw_shape, strict=True):
            at = at * size + offset
        return at * self.dtype.itemsize

    @property
    def end_byte(self) -> int:
        """The offset behind its last element."""
        at = 0
        for offset, length, size in zip(self.offsets, self.shape, self.raw_shape, strict=True):
            at = at * size + offset + length - 1
        return (at + 1) * self.dtype.itemsize

    def view(self, shapes: Sequence[int], offsets: Sequence[int]) -> Tensor:
        """A region of this one. Errors: InvalidArgsError if it is not inside."""
        shape, offset = whole_numbers(shapes), whole_numbers(offsets)
        inside = len(shape) == len(offset) == len(self.shape) and all(
            at >= 0 and n > 0 and at + n <= whole for at, n, whole in zip(offset, shape, self.shape, strict=True)
        )
        if not inside:
            raise InvalidArgsError(
                f"a view of shape {shapes!r} at {offsets!r} is not inside a tensor of shape {self.shape}"
            )
        at = tuple(a + b for a, b in zip(self.offsets, offset, strict=True))
        return Tensor(self.buffer, self.raw_shape, at, shape, self.dtype)

    def overlap(self, old: Tensor) -> Overlap:
        """How this region lies over another one of the same buffer."""
        if self.raw_shape == old.raw_shape and self.dtype == old.dtype:
            covered = True
            for at, n, old_at, old_n in zip(self.offsets, self.shape, old.offsets, old.shape, strict=True):
                if at >= old_at + old_n or old_at >= at + n:
                    return Overlap.NONE
                covered = covered and at <= old_at and old_at + old_n <= at + n
            return Overlap.COVERED if covered else Overlap.OTHER
        first, end, old_first, old_end = self.first_byte, self.end_byte, old.first_byte, old.end_byte
        if first >= old_end or old_first >= end:
            return Overlap.NONE
        whole = end - first == self.nbytes  # no gaps
        return Overlap.COVERED if whole and first <= old_first and old_end <= end else Overlap.OTHER

    def array(self, raw: np.ndarray) -> np.ndarray:
        """The region as an array, of uint8[nbytes] the whole buffer."""
        whole = raw.view(self.dtype).reshape(self.raw_shape)
        return whole[tuple(slice(at, at + n) for at, n in zip(self.offsets, self.shape, strict=True))]


class ParamKind(IntEnum):
    """How a task uses a parameter."""

    INPUT = 0
    OUTPUT = 1
    INOUT = 2
    SCALAR = 3


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a task."""

    kind: ParamKind
    tensor: Tensor | None = None
    value: int | float = 0


def _checked(shapes: Sequence[int], ndim: int, dtype: str) -> tuple[tuple[int, ...], np.dtype]:
    shape = whole_numbers(shapes)
    if ndim != len(shape) or not shape or min(shape) < 1:
        raise InvalidArgsError(
            f"got shapes {shorten(repr(shapes))} and ndim {ndim!r}, expected as many positive whole numbers as ndim says"
        )
    return shape, numpy_dtype(dtype)


def whole_numbers(given: object) -> tuple[int, ...]:
    """A tuple or list of whole numbers as integers, or nothing if it is none."""
    numbers: list[Any] = list(given) if isinstance(given, tuple | list) else []  # pyright: ignore[reportUnknownArgumentType]
    return tuple(int(each) for each in numbers) if all(map(is_whole, numbers)) else ()


def make_tensor(shapes: Sequence[int], ndim: int, dtype: str = "f32") -> Tensor:
    """An intermediate tensor; it gets memory from the heap when the first task that writes it is submitted.

    Errors: InvalidArgsError for a shape that is none; InputError for an unknown element type.
    """
    shape, kind = _checked(shapes, ndim, dtype)
    return Tensor(Buffer(0, prod(shape) * kind.itemsize), shape, (0,) * len(shape), shape, kind)


def make_tensor_external(ptr: int, shapes: Sequence[int], ndim: int, dtype: str = "f32") -> Tensor:
    """A tensor at an address of the device. Errors: as `make_tensor`, and InvalidArgsError for address 0."""
    shape, kind = _checked(shapes, ndim, dtype)
    if not is_whole(ptr) or ptr <= 0:
        raise InvalidArgsError(f"got address {shorten(repr(ptr))} for an external tensor; give that of an argument")
    return Tensor(Buffer(int(ptr), prod(shape) * kind.itemsize), shape, (0,) * len(shape), shape, kind)


def make_input_param(tensor: Tensor) -> Param:
    """A tensor that the task reads. Errors: InvalidArgsError for what is no tensor."""
    return _tensor_param(ParamKind.INPUT, tensor)


def make_output_param(tensor: Tensor) -> Param:
    """A tensor that the task writes; memory is allocated if it has none. Errors: as `make_input_param`."""
    return _tensor_param(ParamKind.OUTPUT, tensor)


def make_inout_param(tensor: Tensor) -> Param:
    """A tensor that the task reads, then writes. Errors: as `make_input_param`."""
    return _tensor_param(ParamKind.INOUT, tensor)


def make_pipe_out_param(tensor: Tensor) -> Param:
    """PIPE_OUT: a tensor of `make_tensor` that the task writes for others on its cluster, without memory of the heap.

    Errors: as `make_input_param`, and InvalidArgsError for a tensor that has memory.
    """
    param = _tensor_param(ParamKind.OUTPUT, tensor)
    if tensor.buffer.address and not tensor.buffer.is_pipe:
        raise InvalidArgsError("a PIPE_OUT tensor has memory; give one of make_tensor that no task has written")
    if tensor.buffer.contents is None:
        tensor.buffer.contents = np.zeros(tensor.buffer.nbytes, np.uint8)
    return param


def make_pipe_in_param(tensor: Tensor) -> Param:
    """PIPE_IN: a tensor that the task reads, and that another on its cluster has written as PIPE_OUT. Errors: InvalidArgsError
    for another tensor."""
    param = _tensor_param(ParamKind.INPUT, tensor)
    if not tensor.buffer.is_pipe:
        raise InvalidArgsError("a PIPE_IN tensor is none that a task has written as PIPE_OUT; use make_input_param")
    return param


def make_scalar_param(value: int | float) -> Param:
    """A number of 64 bits. Errors: InvalidArgsError for what is none."""
    if not isinstance(value, int | float | np.number):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidArgsError(f"a scalar parameter is of type {type(value).__name__}; give a number")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise InvalidArgsError(f"a scalar parameter is {value}, which has no place in 64 bits")
    return Param(ParamKind.SCALAR, None, value)


def _tensor_param(kind: ParamKind, tensor: Tensor) -> Param:
    if not isinstance(tensor, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidArgsError(
            f"an {kind.name} parameter is of type {type(tensor).__name__}; give a tensor of make_tensor or "
            "make_tensor_external"
        )
    return Param(kind, tensor)
