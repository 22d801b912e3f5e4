"""The shapes of results: numpy's broadcasting, reductions that keep their axis, matrix products."""

# pyright: reportUnnecessaryIsInstance=false
# What users write is not checked for types before it runs.

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from operator import index
from typing import Any, cast

import numpy as np

from kernbench.program.op_semantics import Shape
from kernbench.tl.language.errors import fail


def as_shape(primitive: str, shape: int | Sequence[int]) -> Shape:
    """A shape as a tuple of positive ints; an int n means (n,). Errors: KernelError."""
    if type(shape) is tuple:
        return _check_shape(primitive, *shape)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(shape, np.ndarray):
        shape = cast("list[int] | int", cast(Any, shape).tolist())
    return _check_shape(primitive, *(cast("Sequence[Any]", shape) if isinstance(shape, Sequence) else (shape,)))


@lru_cache(None, typed=True)  # 2.0 equals 2 but is no dimension; types inside a tuple would not be told apart
def _check_shape(primitive: str, *shape: object) -> Shape:
    try:
        dims = tuple(index(dim) for dim in shape)  # type: ignore[arg-type]
    except TypeError:
        fail(f"tl.{primitive} got the shape {shape}", "give an int or a tuple of ints")
    if not dims or min(dims) < 1:
        fail(f"tl.{primitive} got the shape {dims}", "give one dimension or more, each at least 1")
    return dims


@cache
def find_broadcast(a: Shape, b: Shape) -> Shape | None:
    """The shape of an elementwise result, or None if the two do not broadcast."""
    short, long = sorted((a, b), key=len)
    short = (1,) * (len(long) - len(short)) + short
    if any(x != y and 1 not in (x, y) for x, y in zip(short, long, strict=True)):
        return None
    return tuple(max(x, y) for x, y in zip(short, long, strict=True))


def broadcast(primitive: str, a: Shape, b: Shape) -> Shape:
    """The shape of an elementwise result. Errors: KernelError with both shapes."""
    found = a if a == b else find_broadcast(a, b)
    if found is None:
        fail(f"tl.{primitive} got shapes {a} and {b}, which do not broadcast", "make each dimension equal or 1")
    return found


def as_axis(primitive: str, shape: Shape, axis: int) -> int:
    """An axis counted from the front. Errors: KernelError if the shape has no such axis."""
    if not isinstance(axis, (int, np.integer)) or not -len(shape) <= axis < len(shape):
        fail(
            f"tl.{primitive} got axis {axis!r} of shape {shape}", f"give an int from {-len(shape)} to {len(shape) - 1}"
        )
    return int(axis) % len(shape)


def product_shape(primitive: str, a: Shape, b: Shape) -> Shape:
    """(M, N) of (M, K) times (K, N). Errors: KernelError with both shapes."""
    if len(a) != 2 or len(b) != 2 or a[1] != b[0]:
        fail(f"tl.{primitive} got shapes {a} and {b}, which do not multiply", "give (M, K) and (K, N)")
    return (a[0], b[1])
