"""The functions of `triton.language`."""

from __future__ import annotations

import builtins
import enum
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from kernbench.tl.language.errors import fail
from kernbench.triton.language import libdevice
from kernbench.triton.language import machine as on
from kernbench.triton.language.block import add_methods, as_block, binary, divide, mask_of, meet, pointer, tensor
from kernbench.triton.language.combining import (  # noqa: F401 - functions of the language
    argmax,
    argmin,
    associative_scan,
    cumprod,
    cumsum,
    histogram,
    max,
    min,
    reduce,
    reduce_or,
    sort,
    sum,
    topk,
    xor_sum,
)
from kernbench.triton.language.random import (  # noqa: F401
    pair_uniform_to_normal,
    philox,
    rand,
    rand4x,
    randint,
    randint4x,
    randn,
    randn4x,
    uint_to_uniform_float,
)
from kernbench.triton.language.rearranging import (  # noqa: F401
    broadcast,
    cat,
    flip,
    gather,
    interleave,
    join,
    permute,
    ravel,
    split,
    squeeze,
    unsqueeze,
)
from kernbench.triton.language.types import NAMES, dtype, named, pointer_type  # noqa: F401
from kernbench.triton.lowering.recorder import as_numbers

for _name in NAMES:
    globals()[_name] = named(_name)

_F32 = named("float32")


class constexpr:
    """The annotation of a parameter that is known when a kernel is launched; as a function, its argument.

    A number or a text is one that has `value` too, and is not made a typed scalar.
    """

    def __new__(cls, value: Any = None) -> Any:
        """The value itself."""
        kind = _CONSTANTS.get(type(value))
        return value if kind is None else kind(value)


class _Constant:
    """What numbers and texts have as constants."""

    @property
    def value(self) -> Any:
        """The plain value."""
        return next(one for one in _CONSTANTS if isinstance(self, one))(self)  # type: ignore[call-arg]


class _Whole(_Constant, int): ...


class _Float(_Constant, float): ...


class _Text(_Constant, str): ...


_CONSTANTS: dict[type, type] = {int: _Whole, float: _Float, str: _Text}


class PropagateNan(enum.Enum):
    """What maximum, minimum and clamp do with NaN."""

    NONE = 0
    ALL = 0xFFFF


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
    sizes = _sizes(shape, ())
    for size in sizes:
        if size < 1 or size & (size - 1):
            fail(f"a block got the shape {sizes}", "each size is a power of two")
    if isinstance(value, tensor):
        return tensor(np.broadcast_to(value.to(dtype).data, sizes), dtype)
    return tensor(np.full(sizes, value, dtype.numpy), dtype)


def zeros(shape: Sequence[int], dtype: dtype) -> tensor:
    """A block of zeros."""
    return full(shape, 0, dtype)


def zeros_like(x: tensor) -> tensor:
    """Zeros of the shape and type of a block."""
    return full(x.shape, 0, x.dtype)


def _sizes(shape: Any, more: Any) -> tuple[int, ...]:
    given = (shape, *more) if more or not isinstance(shape, (tuple, list)) else shape
    return tuple(operator.index(one) for one in given)


def broadcast_to(x: tensor, shape: Any, *more: Any) -> tensor:
    """A block of a larger shape."""
    return tensor(np.broadcast_to(x.data, _sizes(shape, more)), x.dtype)


def reshape(x: tensor, *shape: Any, can_reorder: bool = False) -> tensor:  # noqa: ARG001
    """The same elements in another shape."""
    sizes = _sizes(shape[0], shape[1:])
    if np.prod(sizes) != np.prod(x.shape):
        fail(f"tl.reshape got a block of shape {x.shape} and the shape {sizes}", "both have as many elements")
    return tensor(x.data.reshape(sizes), x.dtype)


view = reshape


def expand_dims(x: Any, axis: Any) -> Any:
    """Dimensions of one element more."""
    axes = sorted(axis) if isinstance(axis, (tuple, list)) else [axis]
    for one in axes:
        at = operator.index(one) % (len(x.shape) + 1)
        x = x[tuple(None if place == at else slice(None) for place in builtins.range(len(x.shape) + 1))]
    return x


def trans(x: tensor, *dims: Any) -> tensor:
    """Dimensions in another order, by default the last two swapped."""
    return permute(x, *dims) if dims else tensor(x.data.swapaxes(-1, -2), x.dtype)


def cast(x: Any, dtype: dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> Any:
    """The same numbers in another type, or the same bits."""
    return (x if isinstance(x, pointer) else as_block(x)).to(dtype, fp_downcast_rounding, bitcast)


def to_tensor(x: Any) -> tensor:
    """A number as a scalar of the language."""
    return as_block(x)


def typed(x: Any) -> Any:
    """What a name of a kernel holds: of a Python number a scalar of the language."""
    return as_block(x) if type(x) in (bool, int, float) else x


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
erf = libdevice.functions()["erf"]
umulhi, abs = libdevice.umulhi, libdevice.absolute


def rsqrt(x: Any) -> tensor:
    """1 / square root."""
    return divide(1.0, sqrt(x))


def sigmoid(x: Any) -> tensor:
    """1 / (1 + exp(-x))."""
    return divide(1.0, binary(np.add, 1.0, exp(-x)))


def _chosen(quiet: np.ufunc, loud: np.ufunc, plain: Callable[..., Any]) -> Callable[..., Any]:
    """The larger or the smaller of two: of a number and NaN the number, unless NaN is to go on."""

    def choose(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> Any:
        if not isinstance(x, tensor) and not isinstance(y, tensor):
            return plain(x, y)
        a, b = meet(x, y)
        loudly = a.dtype.is_int() or propagate_nan is PropagateNan.ALL
        return tensor((loud if loudly else quiet)(a.data, b.data), a.dtype)

    return choose


maximum = _chosen(np.fmax, np.maximum, builtins.max)
minimum = _chosen(np.fmin, np.minimum, builtins.min)


def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = None) -> tensor:  # noqa: ARG001, F811 - names of Triton
    """x, but at least `min` and at most `max`."""
    return minimum(maximum(x, min), max)


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, y elsewhere; both may be pointers into one tensor."""
    if isinstance(x, pointer) and isinstance(y, pointer):
        if x.number != y.number:
            fail("tl.where got pointers into two tensors", "choose between loaded blocks")
        return pointer(x.number, np.where(mask_of(condition), x.offsets, y.offsets), x.element)
    a, b = meet(x, y)
    return tensor(np.where(mask_of(condition), a.data, b.data), a.dtype)


def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tuple[Any, Any]:
    """Row-major indices as those of an order that goes down columns in groups of `size_g` rows."""
    flat = i * size_j + j
    in_group = size_g * size_j
    first = flat // in_group * size_g
    rows = minimum(size_i - first, size_g)
    rest = flat % in_group
    return first + rest % rows, rest // rows


def fma(x: Any, y: Any, z: Any) -> tensor:
    """x * y + z."""
    return x * y + z


def add(x: Any, y: Any, sanitize_overflow: bool = True) -> Any:  # noqa: ARG001
    """The sum."""
    return x + y


def sub(x: Any, y: Any, sanitize_overflow: bool = True) -> Any:  # noqa: ARG001
    """The difference."""
    return x - y


def mul(x: Any, y: Any, sanitize_overflow: bool = True) -> Any:  # noqa: ARG001
    """The product."""
    return x * y


def fdiv(x: Any, y: Any, ieee_rounding: bool = False) -> tensor:  # noqa: ARG001
    """The quotient."""
    return divide(x, y)


def cdiv(x: Any, div: Any) -> Any:
    """x / div, rounded up."""
    return (x + (div - 1)) // div


def next_power_of_2(n: Any) -> int:
    """The least power of two that is not less."""
    return 1 << (int(n) - 1).bit_length()


div_rn = fdiv


# Along an axis


def softmax(x: tensor, dim: int = -1) -> tensor:
    """exp(x - max) / sum along an axis."""
    weights = exp(binary(np.subtract, x, max(x, dim, keep_dims=True)))
    return divide(weights, sum(weights, dim, keep_dims=True))


# Products


def dot(
    input: tensor,
    other: tensor,
    acc: tensor | None = None,
    input_precision: str | None = None,
    allow_tf32: bool | None = None,  # noqa: ARG001
    max_num_imprecise_acc: int | None = None,  # noqa: ARG001
    out_dtype: dtype | None = None,
) -> tensor:
    """input @ other, plus `acc`: of floats summed in f32, of whole numbers in i32."""
    if input_precision not in (None, "tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"):
        fail(f"tl.dot got input_precision={input_precision!r}", 'give "tf32", "tf32x3" or "ieee"')
    if input.shape[-1] != other.shape[-2]:
        fail(f"tl.dot got shapes {input.shape} and {other.shape}", "the inner sizes are equal")
    if input.dtype is not other.dtype and {input.dtype.primitive_bitwidth, other.dtype.primitive_bitwidth} != {8}:
        fail(f"tl.dot got blocks of {input.dtype} and {other.dtype}", "convert one of them with .to")
    wide = _F32 if input.dtype.is_floating() else named("int32")
    kind = out_dtype or (acc.dtype if acc is not None else wide)
    a, b, c = input.data, other.data, None if acc is None else acc.data

    def compute() -> np.ndarray:
        product = np.matmul(as_numbers(a).astype(wide.numpy), as_numbers(b).astype(wide.numpy))
        return (product if c is None else product + as_numbers(c)).astype(kind.numpy)

    if out_dtype is not None and acc is None and out_dtype.is_int() != wide.is_int():
        fail(f"tl.dot got out_dtype={out_dtype} of {input.dtype}", f"the sum is one of {wide}")
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


def static_range(*bounds: Any, **_: Any) -> builtins.range:
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
    """Without effect, as in Triton where it is not asked to debug."""


def device_print(*_: Any, **__: Any) -> None:
    """Without effect."""


static_print = device_print


def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The type of whole numbers of a number of bits."""
    return named(f"{'' if signed else 'u'}int{int(bitwidth)}")


def assume(condition: Any) -> None:
    """A hint without effect."""


def inline_asm_elementwise(*_: Any, **__: Any) -> None:
    """Errors: KernelError, since assembly is of one processor."""
    fail("tl.inline_asm_elementwise was called, which holds assembly of a GPU", "write it in the language")


class condition:
    """The condition of a `while` loop; its hints have no effect."""

    def __init__(self, arg1: Any, **hints: Any) -> None:  # noqa: ARG002
        self._holds = arg1

    def __bool__(self) -> bool:
        return bool(self._holds)


add_methods(globals())
