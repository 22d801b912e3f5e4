"""Functions of `triton.language` that rearrange the elements of blocks: joins, splits, orders of dimensions, gathers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernbench.tl.language.errors import fail
from kernbench.triton.language.block import meet, tensor


def once(name: str, function: Callable[..., Any], *arrays: Any) -> Any:
    """A function of arrays of numpy; one operation where one of them is recorded."""
    recorded = next((x for x in arrays if hasattr(x, "apply")), None)
    return function(*arrays) if recorded is None else recorded.apply(name, function, arrays)


def axis_of(x: tensor, axis: int, name: str) -> int:
    """An axis from the first. Errors: KernelError for one that the block does not have."""
    rank = len(x.shape)
    if not -rank <= int(axis) < rank:
        fail(f"tl.{name} got axis {axis} of a block of {rank} dimensions", "name an axis of the block")
    return int(axis) % rank


def join(a: Any, b: Any) -> tensor:
    """Two blocks as a block whose last dimension has one element of each."""
    a, b = meet(a, b)
    shape = np.broadcast_shapes(a.shape, b.shape)

    def stack(x: Any, y: Any) -> Any:
        return np.stack([np.broadcast_to(x, shape), np.broadcast_to(y, shape)], axis=-1)

    return tensor(once("join", stack, a.data, b.data), a.dtype)


def split(a: tensor) -> tuple[tensor, tensor]:
    """A block whose last dimension is 2 as two blocks."""
    if not a.shape or a.shape[-1] != 2:
        fail(f"tl.split got a block of shape {a.shape}", "its last dimension has 2 elements")
    return tensor(a.data[..., 0], a.dtype), tensor(a.data[..., 1], a.dtype)


def interleave(a: Any, b: Any) -> tensor:
    """The elements of two blocks by turns along the last dimension."""
    joined = join(a, b)
    if len(joined.shape) == 1:
        return joined
    return tensor(joined.data.reshape((*joined.shape[:-2], 2 * joined.shape[-2])), joined.dtype)


def cat(input: tensor, other: tensor, can_reorder: bool = False, dim: int = 0) -> tensor:  # noqa: ARG001
    """Two blocks one behind the other."""
    a, b = meet(input, other)
    along = axis_of(a, dim, "cat")
    return tensor(once("cat", lambda x, y: np.concatenate([x, y], axis=along), a.data, b.data), a.dtype)


def permute(input: tensor, *dims: Any) -> tensor:
    """Dimensions in another order."""
    order = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    order = tuple(int(one) for one in order)
    if sorted(order) != list(range(len(input.shape))):
        fail(f"tl.permute got {order} for a block of shape {input.shape}", "name each dimension once")
    return tensor(input.data.transpose(order), input.dtype)


def flip(x: tensor, dim: int = -1) -> tensor:
    """The elements along an axis from the last to the first."""
    along = axis_of(x, dim, "flip")
    return tensor(once("flip", lambda one: np.flip(one, along), x.data), x.dtype)


def ravel(x: tensor, can_reorder: bool = False) -> tensor:  # noqa: ARG001
    """All elements along one dimension."""
    return tensor(x.data.reshape((int(np.prod(x.shape)),)), x.dtype)


def squeeze(x: tensor, dim: int) -> tensor:
    """A block without a dimension of one element."""
    along = axis_of(x, dim, "squeeze")
    if x.shape[along] != 1:
        fail(f"tl.squeeze got dimension {dim} of a block of shape {x.shape}", "it has one element")
    return tensor(x.data.reshape((*x.shape[:along], *x.shape[along + 1 :])), x.dtype)


def unsqueeze(x: tensor, dim: int) -> tensor:
    """A block with a dimension of one element more."""
    at = int(dim) % (len(x.shape) + 1)
    return tensor(x.data.reshape((*x.shape[:at], 1, *x.shape[at:])), x.dtype)


def broadcast(input: Any, other: Any) -> tuple[tensor, tensor]:
    """Two blocks in the shape in which they meet."""
    shape = np.broadcast_shapes(input.shape, other.shape)
    a, b = (tensor(np.broadcast_to(x.data, shape), x.dtype) for x in (input, other))
    return a, b


def gather(src: tensor, index: tensor, axis: int) -> tensor:
    """The elements of `src` at indices along an axis."""
    along = axis_of(src, axis, "gather")
    data = once("gather", lambda x, i: np.take_along_axis(x, i.astype(np.int64), along), src.data, index.data)
    return tensor(data, src.dtype)


def slices(x: Any, axis: int, key: slice) -> Any:
    """A part of an array along an axis."""
    return x[tuple(key if one == axis else slice(None) for one in range(len(x.shape)))]
