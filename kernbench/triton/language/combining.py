"""Functions of `triton.language` along an axis: reductions, scans, sorts, histograms."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from kernbench.tl.language.errors import fail
from kernbench.triton.language.block import tensor
from kernbench.triton.language.rearranging import axis_of, once, slices
from kernbench.triton.language.types import dtype, named

Blocks = tuple[tensor, ...]


def _widened(x: tensor) -> tensor:
    """A block in the type in which its largest is found: bf16 as f32, whole numbers below 32 bits as i32."""
    if x.dtype.is_floating():
        return x.to(named("float32")) if x.dtype.primitive_bitwidth < 32 and x.dtype.name != "float16" else x
    if x.dtype.primitive_bitwidth < 32:
        return x.to(named("int32" if x.dtype.is_signed or x.dtype.name == "int1" else "uint32"))
    return x


def _axis(x: tensor, axis: int | None, name: str) -> tuple[tensor, int]:
    """The block and the axis of a reduction; without an axis, all elements along one."""
    if axis is not None:
        return x, axis_of(x, axis, name)
    return tensor(x.data.reshape((int(np.prod(x.shape)),)), x.dtype), 0


def _kept(found: tensor, x: tensor, axis: int | None, keep_dims: bool) -> tensor:
    if not keep_dims:
        return found
    at = range(len(x.shape)) if axis is None else [int(axis) % len(x.shape)]
    return tensor(found.data.reshape(tuple(1 if one in at else size for one, size in enumerate(x.shape))), found.dtype)


def _index_of(name: str, x: tensor, axis: int | None, tie_break_left: bool, keep_dims: bool) -> tensor:
    wide, along = _axis(_widened(x), axis, name)
    function = getattr(np, name)

    def find(data: Any) -> Any:
        held = np.asarray(data)
        if tie_break_left:
            return function(held, axis=along).astype(np.int32)
        last = function(np.flip(held, along), axis=along)
        return (held.shape[along] - 1 - last).astype(np.int32)

    return _kept(tensor(once(name, find, wide.data), named("int32")), x, axis, keep_dims)


def argmax(input: tensor, axis: int | None, tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
    """The index of the largest along an axis: the first of equals, or the last."""
    return _index_of("argmax", input, axis, tie_break_left, keep_dims)


def argmin(input: tensor, axis: int | None, tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
    """The index of the smallest along an axis: the first of equals, or the last."""
    return _index_of("argmin", input, axis, tie_break_left, keep_dims)


def _largest(name: str) -> Callable[..., Any]:
    numpy_name = {"max": "fmax", "min": "fmin"}[name]

    def find(
        input: tensor,
        axis: int | None = None,
        return_indices: bool = False,
        return_indices_tie_break_left: bool = True,
        keep_dims: bool = False,
    ) -> Any:
        wide, along = _axis(_widened(input), axis, name)
        function = getattr(np, name) if wide.dtype.is_int() else getattr(np, numpy_name).reduce
        found = tensor(function(wide.data, axis=along), wide.dtype)
        found = _kept(found, input, axis, keep_dims)
        if not return_indices:
            return found
        return found, _index_of(f"arg{name}", input, axis, return_indices_tie_break_left, keep_dims)

    find.__name__, find.__doc__ = name, f"The {name}imum along an axis, or of all elements; with its index if asked."
    return find


max = _largest("max")
min = _largest("min")


def sum(input: tensor, axis: int | None = None, keep_dims: bool = False, dtype: dtype | None = None) -> tensor:
    """The sum along an axis, or of all elements, in `dtype`; without one, whole numbers below 32 bits in 32."""
    kind = dtype or (_widened(input).dtype if input.dtype.is_int() else input.dtype)
    x, along = _axis(input.to(kind), axis, "sum")
    wide = np.dtype(np.float32) if kind.is_floating() and kind.primitive_bitwidth < 32 else kind.numpy
    data = x.data if wide == kind.numpy else x.data.astype(wide)
    found = np.sum(data, axis=along, dtype=wide)
    return _kept(tensor(found if wide == kind.numpy else found.astype(kind.numpy), kind), input, axis, keep_dims)


def _bitwise(name: str, function: np.ufunc) -> Callable[..., tensor]:
    def reduced(input: tensor, axis: int | None = None, keep_dims: bool = False) -> tensor:
        if input.dtype.is_floating():
            fail(f"tl.{name} got a block of {input.dtype}", "give whole numbers")
        x, along = _axis(input, axis, name)
        return _kept(tensor(function.reduce(x.data, axis=along), x.dtype), input, axis, keep_dims)

    reduced.__name__, reduced.__doc__ = name, f"{name} of whole numbers along an axis, or of all elements."
    return reduced


xor_sum = _bitwise("xor_sum", np.bitwise_xor)
reduce_or = _bitwise("reduce_or", np.bitwise_or)


def _blocks(x: Any) -> tuple[Blocks, bool]:
    return (tuple(x), True) if isinstance(x, (tuple, list)) else ((x,), False)


def _combined(combine: Callable[..., Any], a: Blocks, b: Blocks) -> Blocks:
    found, _ = _blocks(combine(*a, *b))
    return tuple(one.to(kind.dtype) for one, kind in zip(found, a, strict=True))


def _part(blocks: Blocks, axis: int, key: slice) -> Blocks:
    return tuple(tensor(slices(one.data, axis, key), one.dtype) for one in blocks)


def reduce(input: Any, axis: int | None, combine_fn: Callable[..., Any], keep_dims: bool = False) -> Any:
    """Blocks combined along an axis by a function of two elements, halves first."""
    given, many = _blocks(input)
    first = given[0]
    pairs = [_axis(one, axis, "reduce") for one in given]
    blocks, along = tuple(one for one, _ in pairs), pairs[0][1]
    while (size := blocks[0].shape[along]) > 1:
        half = size // 2
        rest = _part(blocks, along, slice(2 * half, None)) if size % 2 else None
        blocks = _combined(
            combine_fn, _part(blocks, along, slice(0, 2 * half, 2)), _part(blocks, along, slice(1, 2 * half, 2))
        )
        if rest is not None:
            blocks = tuple(_behind(a, b, along) for a, b in zip(blocks, rest, strict=True))
    left = tuple(tensor(one.data.reshape(tuple(np.delete(one.shape, along))), one.dtype) for one in blocks)
    found = tuple(_kept(one, first, axis, keep_dims) for one in left)
    return found if many else found[0]


def _behind(a: tensor, b: tensor, axis: int) -> tensor:
    return tensor(once("cat", lambda x, y: np.concatenate([x, y], axis=axis), a.data, b.data), a.dtype)


def associative_scan(input: Any, axis: int, combine_fn: Callable[..., Any], reverse: bool = False) -> Any:
    """Blocks combined up to each element along an axis by an associative function of two elements."""
    blocks, many = _blocks(input)
    along = axis_of(blocks[0], axis, "associative_scan")
    if reverse:
        blocks = tuple(_flipped(one, along) for one in blocks)
    step, size = 1, blocks[0].shape[along]
    while step < size:
        later = _combined(
            combine_fn, _part(blocks, along, slice(0, size - step)), _part(blocks, along, slice(step, None))
        )
        first = _part(blocks, along, slice(0, step))
        blocks = tuple(_behind(a, b, along) for a, b in zip(first, later, strict=True))
        step *= 2
    if reverse:
        blocks = tuple(_flipped(one, along) for one in blocks)
    return blocks if many else blocks[0]


def _flipped(x: tensor, axis: int) -> tensor:
    return tensor(once("flip", lambda one: np.flip(one, axis), x.data), x.dtype)


def _scan(name: str, function: Callable[..., Any]) -> Callable[..., tensor]:
    def scanned(input: tensor, axis: int = 0, reverse: bool = False, dtype: dtype | None = None) -> tensor:
        x = input.to(dtype or (_widened(input) if input.dtype.name != "float16" else input).dtype)
        along = axis_of(x, axis, name)
        x = _flipped(x, along) if reverse else x
        found = tensor(function(x.data, axis=along, dtype=x.dtype.numpy), x.dtype)
        return _flipped(found, along) if reverse else found

    scanned.__name__, scanned.__doc__ = name, f"{name} up to each element along an axis, or from each on."
    return scanned


cumsum, cumprod = _scan("cumsum", np.cumsum), _scan("cumprod", np.cumprod)


def sort(x: tensor, dim: int | None = None, descending: bool = False) -> tensor:
    """The elements along the last axis from the smallest to the largest, or the other way."""
    along = axis_of(x, -1 if dim is None else dim, "sort")
    if along != len(x.shape) - 1:
        fail(f"tl.sort got dim={dim} of a block of {len(x.shape)} dimensions", "it sorts along the last")

    def order(data: Any) -> Any:
        found = np.sort(data, axis=along)
        return np.flip(found, along) if descending else found

    return tensor(once("sort", order, x.data), x.dtype)


def topk(x: tensor, k: int, dim: int | None = None) -> tensor:
    """The largest k elements along the last axis, the largest first."""
    return tensor(sort(x, dim, descending=True).data[..., : operator.index(k)], x.dtype)


def histogram(input: tensor, num_bins: int, mask: Any = None) -> tensor:
    """How many elements equal each of 0, 1, ... num_bins - 1, where the mask holds."""
    if len(input.shape) != 1 or input.dtype.is_floating():
        fail(f"tl.histogram got a block of {input.dtype} of shape {input.shape}", "give one dimension of whole numbers")
    bins = operator.index(num_bins)

    def count(data: Any, *holds: Any) -> Any:
        held = np.asarray(data)[np.broadcast_to(holds[0], data.shape)] if holds else np.asarray(data)
        held = held[(held >= 0) & (held < bins)].astype(np.int64)
        return np.bincount(held, minlength=bins).astype(np.int32)

    arrays = [input.data] if mask is None else [input.data, getattr(mask, "data", mask)]
    return tensor(once("histogram", count, *arrays), named("int32"))
