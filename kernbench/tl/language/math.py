"""Math primitives: elementwise operations, reductions and softmax, each one job of the PE's math engine.

A job reads its tensors from TCM, computes, and writes its result to scratch. It costs the elements it computes: those of
the result, or those of the input if it works along an axis.
"""

from __future__ import annotations

from functools import cache, partial, reduce
from math import prod
from operator import attrgetter
from typing import Any

from kernbench.dtypes import bits, is_float
from kernbench.program.op_semantics import Math
from kernbench.tl.language.context_base import ContextCore, Work
from kernbench.tl.language.errors import fail
from kernbench.tl.language.handle import NUMBERS, TensorHandle, check_number, scalar_handle
from kernbench.tl.language.shapes import as_axis, broadcast
from kernbench.tl.language.tensor_type import TensorType, promote, type_of

Tensor = TensorHandle | float  # an operand as a kernel gives it

_TYPE, _OPERAND = attrgetter("type"), attrgetter("operand")

UNARY = ("exp", "exp2", "log", "sqrt", "rsqrt", "abs", "sigmoid", "tanh", "cos", "sin")
BINARY = ("maximum", "minimum", "add", "sub", "mul", "div", "floor_div", "mod")
COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
BITWISE = ("bit_and", "bit_or")
FLOATS_ONLY = ("exp", "exp2", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "cos", "sin", "softmax")
MASK = "u8"  # the type of a comparison: 1 where it holds, 0 elsewhere


class MathPrimitives(ContextCore):
    """The math primitives of `tl`."""

    def exp(self, x: TensorHandle) -> TensorHandle:
        """e to the x, elementwise; floats only."""
        return self._unary("exp", x)

    def exp2(self, x: TensorHandle) -> TensorHandle:
        """2 to the x, elementwise; floats only."""
        return self._unary("exp2", x)

    def log(self, x: TensorHandle) -> TensorHandle:
        """Natural logarithm, elementwise; floats only."""
        return self._unary("log", x)

    def sqrt(self, x: TensorHandle) -> TensorHandle:
        """Square root, elementwise; floats only."""
        return self._unary("sqrt", x)

    def rsqrt(self, x: TensorHandle) -> TensorHandle:
        """1 / square root, elementwise; floats only."""
        return self._unary("rsqrt", x)

    def abs(self, x: TensorHandle) -> TensorHandle:
        """Absolute value, elementwise."""
        return self._unary("abs", x)

    def sigmoid(self, x: TensorHandle) -> TensorHandle:
        """1 / (1 + exp(-x)), elementwise; floats only."""
        return self._unary("sigmoid", x)

    def tanh(self, x: TensorHandle) -> TensorHandle:
        """Hyperbolic tangent, elementwise; floats only."""
        return self._unary("tanh", x)

    def cos(self, x: TensorHandle) -> TensorHandle:
        """Cosine, elementwise; floats only."""
        return self._unary("cos", x)

    def sin(self, x: TensorHandle) -> TensorHandle:
        """Sine, elementwise; floats only."""
        return self._unary("sin", x)

    def maximum(self, a: Tensor, b: Tensor) -> TensorHandle:
        """The larger, elementwise."""
        return self._elementwise("maximum", a, b)

    def minimum(self, a: Tensor, b: Tensor) -> TensorHandle:
        """The smaller, elementwise."""
        return self._elementwise("minimum", a, b)

    def add(self, a: Tensor, b: Tensor) -> TensorHandle:
        """a + b, elementwise."""
        return self._elementwise("add", a, b)

    def sub(self, a: Tensor, b: Tensor) -> TensorHandle:
        """a - b, elementwise."""
        return self._elementwise("sub", a, b)

    def mul(self, a: Tensor, b: Tensor) -> TensorHandle:
        """a * b, elementwise."""
        return self._elementwise("mul", a, b)

    def div(self, a: Tensor, b: Tensor) -> TensorHandle:
        """a / b, elementwise; integers are truncated towards zero, and by zero they give 0."""
        return self._elementwise("div", a, b)

    def floor_div(self, a: Tensor, b: Tensor) -> TensorHandle:
        """a // b, elementwise: rounded down as in Python; integers by zero give 0."""
        return self._elementwise("floor_div", a, b)

    def mod(self, a: Tensor, b: Tensor) -> TensorHandle:
        """a % b, elementwise: of the sign of b as in Python; integers by zero give 0."""
        return self._elementwise("mod", a, b)

    def less(self, a: Tensor, b: Tensor) -> TensorHandle:
        """The mask of a < b, elementwise."""
        return self._elementwise("less", a, b)

    def less_equal(self, a: Tensor, b: Tensor) -> TensorHandle:
        """The mask of a <= b, elementwise."""
        return self._elementwise("less_equal", a, b)

    def greater(self, a: Tensor, b: Tensor) -> TensorHandle:
        """The mask of a > b, elementwise."""
        return self._elementwise("greater", a, b)

    def greater_equal(self, a: Tensor, b: Tensor) -> TensorHandle:
        """The mask of a >= b, elementwise."""
        return self._elementwise("greater_equal", a, b)

    def equal(self, a: Tensor, b: Tensor) -> TensorHandle:
        """The mask of a == b, elementwise."""
        return self._elementwise("equal", a, b)

    def not_equal(self, a: Tensor, b: Tensor) -> TensorHandle:
        """The mask of a != b, elementwise."""
        return self._elementwise("not_equal", a, b)

    def bit_and(self, a: Tensor, b: Tensor) -> TensorHandle:
        """a & b, elementwise: both of two masks; integers only."""
        return self._elementwise("bit_and", a, b)

    def bit_or(self, a: Tensor, b: Tensor) -> TensorHandle:
        """a | b, elementwise: either of two masks; integers only."""
        return self._elementwise("bit_or", a, b)

    def fma(self, a: Tensor, b: Tensor, c: Tensor) -> TensorHandle:
        """a * b + c, elementwise, in one job."""
        return self._elementwise("fma", a, b, c)

    def clamp(self, x: Tensor, min: Tensor, max: Tensor) -> TensorHandle:
        """x, but at least `min` and at most `max`, elementwise."""
        return self._elementwise("clamp", x, min, max)

    def where(self, cond: Tensor, a: Tensor, b: Tensor) -> TensorHandle:
        """a where `cond` is not 0, b elsewhere; the result has the type of a and b, which for two numbers is i32 or f32."""
        return self._elementwise("where", cond, a, b)

    def softmax(self, x: TensorHandle, axis: int = -1) -> TensorHandle:
        """exp(x - max) / sum(exp(x - max)) along an axis, timed as one job over the elements of x; floats only."""
        return self._along("softmax", x, axis)

    def sum(self, x: TensorHandle, axis: int) -> TensorHandle:
        """The sum along an axis, which keeps length 1."""
        return self._along("sum", x, axis)

    def max(self, x: TensorHandle, axis: int) -> TensorHandle:
        """The largest along an axis, which keeps length 1."""
        return self._along("max", x, axis)

    def min(self, x: TensorHandle, axis: int) -> TensorHandle:
        """The smallest along an axis, which keeps length 1."""
        return self._along("min", x, axis)

    def _unary(self, function: str, x: TensorHandle) -> TensorHandle:
        return self._job(function, (self._as_tensor(function, x),))

    def _elementwise(self, function: str, *given: Tensor) -> TensorHandle:
        for x in given:
            if x.__class__ is not TensorHandle or x.streamed:  # type: ignore[union-attr]
                return self._job(function, self._as_tensors(function, given))
        return self._job(function, given)  # type: ignore[arg-type]

    def _along(self, function: str, x: TensorHandle, axis: int) -> TensorHandle:
        x = self._as_tensor(function, x)
        return self._job(function, (x,), as_axis(function, x.shape, axis))

    def _job(self, function: str, inputs: tuple[TensorHandle, ...], axis: int | None = None) -> TensorHandle:
        result, work = find_job(function, axis, *map(_TYPE, inputs))
        value = self._begin()
        out = self._result(value, result)
        note = Math(function, tuple(map(_OPERAND, inputs)), value, result.shape, result.dtype, axis, out.addr)
        self._runner.compute(note, work, inputs, out)
        return out

    def _as_tensors(self, function: str, given: tuple[Tensor, ...]) -> tuple[TensorHandle, ...]:
        """Operands as tensors; a number becomes a scalar of the type of the tensors beside it."""
        dtype = find_scalar_dtype(function, *[x.type if isinstance(x, TensorHandle) else None for x in given])
        tensors: list[TensorHandle] = []
        for x in given:
            if not isinstance(x, NUMBERS):
                tensors.append(self._as_tensor(function, x))
            elif dtype is not None:
                check_number(function, x)
                tensors.append(scalar_handle(x, dtype))
            else:
                fail(f"tl.{function} got {', '.join(map(repr, given))}", "give at least one tensor")
        return tuple(tensors)


def _typed(function: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands that decide the type of the result."""
    return operands[1:] if function == "where" else operands


@cache
def find_scalar_dtype(function: str, *types: TensorType | None) -> str | None:
    """The promoted dtype of the tensors beside numbers (None), i32 for `where` of two numbers; None without tensors."""
    dtypes = [given.dtype for given in _typed(function, types) if given is not None]
    if not dtypes:
        return "i32" if any(types) else None
    return reduce(promote, dtypes)


@cache
def find_job(function: str, axis: int | None, *inputs: TensorType) -> tuple[TensorType, Work]:
    """The type of a result, and its work, from the types of the inputs. Errors: KernelError."""
    shape = reduce(partial(broadcast, function), [given.shape for given in inputs])
    dtype = reduce(promote, [given.dtype for given in _typed(function, inputs)])
    if function in FLOATS_ONLY and not is_float(dtype):
        fail(f"tl.{function} got a tensor of {dtype}", "it needs floats")
    if function in BITWISE and is_float(dtype):
        fail(f"tl.{function} got a tensor of {dtype}", "it needs whole numbers, such as the mask of a comparison")
    if function in COMPARISONS:
        dtype = MASK
    elements = prod(shape)
    if axis is not None and function != "softmax":
        shape = (*shape[:axis], 1, *shape[axis + 1 :])
    result = type_of(shape, dtype)
    width = max(bits(dtype), *[bits(given.dtype) for given in inputs if given.shape])
    read_bytes = sum(given.nbytes for given in inputs)
    return result, Work(function, "math", (function, elements, width), read_bytes, result.nbytes)
