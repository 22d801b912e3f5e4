"""The functions of `triton.language`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from kernbench.tl.language.errors import fail
from kernbench.triton.language import machine as on
from kernbench.triton.language.block import as_block, binary, divide, mask_of, meet, tensor
from kernbench.triton.language.types import NAMES, dtype, named
from kernbench.triton.lowering.recorder import as_numbers

for _name in NAMES:
    globals()[_name] = named(_name)

_F32 = named("float32")


class constexpr:
    """The annotation of a parameter that is known when a kernel is launched; as a function, its argument."""

    def __new__(cls, value: Any = None) -> Any:
        """The value itself."""
        return value


# Programs


def program_id(axis: int) -> tensor:
    """The identity of the program along an axis."""
    return as_scalar(on.machine().program_id(_axis(axis)))


def num_programs(axis: int) -> int:
    """The programs along an axis."""
    return on.machine().num_programs(_axis(axis))


def as_scalar(x: Any) -> tensor:
    """A number of each program."""
    return tensor(x, named("int32"))


def _axis(axis: int) -> int:
    if axis not in (0, 1, 2):
        fail(f"the axis {axis!r} of a grid was asked for", "a grid has axes 0, 1 and 2")
    return int(axis)


# Blocks


def arange(start: int, end: int) -> tensor:
    """start, start + 1, ... end - 1: a power of two of them."""
    count = int(end) - int(start)
    if count < 1 or count & (count - 1):
        fail(f"tl.arange got {start} and {end}, {count} elements", "the number of elements is a power of two")
    return tensor(np.arange(int(start), int(end), dtype=np.int32), named("int32"))


def full(shape: Sequence[int], value: Any, dtype: dtype) -> tensor:
    """A block of one value."""
    sizes = tuple(int(size) for size in shape)
    if isinstance(value, tensor):
        return tensor(np.broadcast_to(value.to(dtype).data, sizes), dtype)
    return tensor(np.full(sizes, value, dtype.numpy), dtype)


def zeros(shape: Sequence[int], dtype: dtype) -> tensor:
    """A block of zeros."""
    return full(shape, 0, dtype)


def zeros_like(x: tensor) -> tensor:
    """Zeros of the shape and type of a block."""
    return full(x.shape, 0, x.dtype)


def broadcast_to(x: tensor, shape: Sequence[int], *more: int) -> tensor:
    """A block of a larger shape."""
    sizes: Any = shape if isinstance(shape, (tuple, list)) else (shape, *more)
    return tensor(np.broadcast_to(x.data, tuple(sizes)), x.dtype)


def reshape(x: tensor, *shape: Any, can_reorder: bool = False) -> tensor:  # noqa: ARG001
    """The same elements in another shape."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return tensor(x.data.reshape(tuple(sizes)), x.dtype)


view = reshape


def expand_dims(x: tensor, axis: int) -> tensor:
    """A dimension of one element more."""
    return tensor(np.expand_dims(x.data, axis), x.dtype)


def trans(x: tensor, *dims: int) -> tensor:
    """Dimensions in another order, by default the last two swapped."""
    return tensor(x.data.transpose(*dims) if dims else x.data.swapaxes(-1, -2), x.dtype)


def cast(x: Any, dtype: dtype, bitcast: bool = False) -> tensor:
    """The same numbers in another type."""
    return as_block(x).to(dtype, bitcast)


# Functions of elements


def _unary(function: Callable[..., Any]) -> Callable[[Any], tensor]:
    def apply(x: Any) -> tensor:
        x = as_block(x, _F32)
        if x.dtype.is_int():
            x = x.to(_F32)
        return tensor(function(x.data), x.dtype)

    return apply


exp, exp2, log, log2, sqrt, sin, cos = map(_unary, (np.exp, np.exp2, np.log, np.log2, np.sqrt, np.sin, np.cos))
floor, ceil = _unary(np.floor), _unary(np.ceil)
tanh = _unary(np.tanh)
sqrt_rn = sqrt


def rsqrt(x: Any) -> tensor:
    """1 / square root."""
    return divide(1.0, sqrt(x))


def sigmoid(x: Any) -> tensor:
    """1 / (1 + exp(-x))."""
    return divide(1.0, binary(np.add, 1.0, exp(-x)))


def abs(x: Any) -> tensor:
    """The absolute value."""
    x = as_block(x)
    return tensor(np.absolute(x.data), x.dtype)


def maximum(x: Any, y: Any, propagate_nan: Any = None) -> Any:  # noqa: ARG001
    """The larger."""
    return binary(np.maximum, x, y) if isinstance(x, tensor) or isinstance(y, tensor) else builtins.max(x, y)


def minimum(x: Any, y: Any, propagate_nan: Any = None) -> Any:  # noqa: ARG001
    """The smaller."""
    return binary(np.minimum, x, y) if isinstance(x, tensor) or isinstance(y, tensor) else builtins.min(x, y)


def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = None) -> tensor:  # noqa: ARG001
    """x, but at least `min` and at most `max`."""
    return minimum(maximum(x, min), max)


def where(condition: Any, x: Any, y: Any) -> tensor:
    """x where the condition holds, y elsewhere."""
    x, y = meet(x, y)
    return tensor(np.where(mask_of(condition), x.data, y.data), x.dtype)


def fma(x: Any, y: Any, z: Any) -> tensor:
    """x * y + z."""
    return x * y + z


def fdiv(x: Any, y: Any, ieee_rounding: bool = False) -> tensor:  # noqa: ARG001
    """The quotient."""
    return divide(x, y)


def cdiv(x: Any, div: Any) -> Any:
    """x / div, rounded up."""
    return (x + (div - 1)) // div


# Along an axis


def _reduced(name: str, x: tensor, axis: int | None, keep_dims: bool, kind: dtype) -> tensor:
    function = getattr(np, name)
    x = x.to(kind)
    return tensor(function(x.data, axis=axis, keepdims=keep_dims), kind)


def sum(x: tensor, axis: int | None = None, keep_dims: bool = False, dtype: dtype | None = None) -> tensor:
    """The sum along an axis, or of all elements; small whole numbers become i32, bf16 becomes f32."""
    kind = dtype or x.dtype
    if dtype is None and kind.is_int() and kind.primitive_bitwidth < 32:
        kind = named("int32")
    if kind.name == "bfloat16":
        kind = _F32
    return _reduced("sum", x, axis, keep_dims, kind)


def max(x: tensor, axis: int | None = None, keep_dims: bool = False) -> tensor:
    """The largest along an axis, or of all elements."""
    return _reduced("max", x, axis, keep_dims, _F32 if x.dtype.name == "bfloat16" else x.dtype)


def min(x: tensor, axis: int | None = None, keep_dims: bool = False) -> tensor:
    """The smallest along an axis, or of all elements."""
    return _reduced("min", x, axis, keep_dims, _F32 if x.dtype.name == "bfloat16" else x.dtype)


def cumsum(x: tensor, axis: int = 0, reverse: bool = False) -> tensor:
    """Sums up to each element along an axis."""
    if reverse:
        fail("tl.cumsum got reverse=True", "flip the block")
    return tensor(np.cumsum(x.data, axis=axis), x.dtype)


def cumprod(x: tensor, axis: int = 0) -> tensor:
    """Products up to each element along an axis."""
    return tensor(np.cumprod(x.data, axis=axis), x.dtype)


def argmax(x: tensor, axis: int) -> tensor:
    """The first index of the largest along an axis."""
    return tensor(np.argmax(x.data, axis=axis).astype(np.int32), named("int32"))


def argmin(x: tensor, axis: int) -> tensor:
    """The first index of the smallest along an axis."""
    return tensor(np.argmin(x.data, axis=axis).astype(np.int32), named("int32"))


def softmax(x: tensor, dim: int = -1) -> tensor:
    """exp(x - max) / sum along an axis."""
    weights = exp(binary(np.subtract, x, max(x, dim, keep_dims=True)))
    return divide(weights, sum(weights, dim, keep_dims=True))


# Products


def dot(
    input: tensor,
    other: tensor,
    acc: tensor | None = None,
    input_precision: str | None = None,  # noqa: ARG001
    allow_tf32: bool | None = None,  # noqa: ARG001
    max_num_imprecise_acc: int | None = None,  # noqa: ARG001
    out_dtype: dtype | None = None,
) -> tensor:
    """input @ other, plus `acc`: of floats summed in f32, of whole numbers in i32."""
    if input.shape[-1] != other.shape[-2]:
        fail(f"tl.dot got shapes {input.shape} and {other.shape}", "the inner sizes are equal")
    wide = _F32 if input.dtype.is_floating() else named("int32")
    kind = out_dtype or (acc.dtype if acc is not None else wide)
    a, b, c = input.data, other.data, None if acc is None else acc.data

    def compute() -> np.ndarray:
        product = np.matmul(as_numbers(a).astype(wide.numpy), as_numbers(b).astype(wide.numpy))
        return (product if c is None else product + as_numbers(c)).astype(kind.numpy)

    bits = builtins.max(input.dtype.primitive_bitwidth, other.dtype.primitive_bitwidth)
    return tensor(on.machine().dot(a, b, c, kind.numpy, compute, bits), kind)


# Loops and hints


class range:
    """Python's range; loads of `num_stages` iterations are under way at once."""

    def __init__(self, *bounds: Any, num_stages: int | None = None, **hints: Any) -> None:  # noqa: ARG002
        self._bounds = tuple(int(bound) for bound in bounds)
        self._stages = num_stages

    def __iter__(self) -> Iterator[int]:
        machine = on.machine()
        machine.enter_loop(self._stages or on.stages())
        try:
            for number in builtins.range(*self._bounds):
                yield number
                machine.next_iteration()
        finally:
            machine.leave_loop()


def static_range(*bounds: Any) -> builtins.range:
    """A loop that is unrolled."""
    return builtins.range(*(int(bound) for bound in bounds))


def multiple_of(x: Any, values: Any) -> Any:  # noqa: ARG001
    """The value itself, a hint without effect."""
    return x


max_contiguous = max_constancy = multiple_of


def static_assert(condition: Any, message: str = "") -> None:
    """Refuse a kernel for whose constants this does not hold."""
    if not condition:
        fail(f"tl.static_assert does not hold{f': {message}' if message else ''}", "launch with other constants")


def device_assert(condition: Any, message: str = "", mask: Any = None) -> None:
    """Without effect."""


def device_print(*_: Any) -> None:
    """Without effect."""


static_print = device_print
