"""Math primitives: elementwise, reductions and softmax, each one job of the PE's math engine.

A job reads its tensors from TCM, computes, and writes its result to scratch. It costs the elements it computes: those of
the result, or, where an axis is worked along, those of the input.
"""

from __future__ import annotations

from functools import cache, partial, reduce
from math import prod
from typing import Any

from kernbench.dtypes import bits, is_float, itemsize
from kernbench.program.notes import Math, Shape
from kernbench.tl.core import ContextCore, Work
from kernbench.tl.errors import fail
from kernbench.tl.handle import NUMBERS, TensorHandle, scalar_handle
from kernbench.tl.promotion import promote, scalar_dtype
from kernbench.tl.shapes import as_axis, broadcast

Tensor = TensorHandle | float  # an operand as a kernel gives it

UNARY = ("exp", "log", "sqrt", "abs", "sigmoid", "cos", "sin")
BINARY = ("maximum", "minimum", "add", "sub", "mul", "div")
FLOATS_ONLY = ("exp", "log", "sqrt", "sigmoid", "cos", "sin", "softmax")


class MathPrimitives(ContextCore):
    """The part of `tl` that is math."""

    def exp(self, x: TensorHandle) -> TensorHandle:
        """e to the x, elementwise; floats only."""
        return self._unary("exp", x)

    def log(self, x: TensorHandle) -> TensorHandle:
        """Natural logarithm, elementwise; floats only."""
        return self._unary("log", x)

    def sqrt(self, x: TensorHandle) -> TensorHandle:
        """Square root, elementwise; floats only."""
        return self._unary("sqrt", x)

    def abs(self, x: TensorHandle) -> TensorHandle:
        """Absolute value, elementwise."""
        return self._unary("abs", x)

    def sigmoid(self, x: TensorHandle) -> TensorHandle:
        """1 / (1 + exp(-x)), elementwise; floats only."""
        return self._unary("sigmoid", x)

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
        """a / b, elementwise; integers are cut towards zero."""
        return self._elementwise("div", a, b)

    def fma(self, a: Tensor, b: Tensor, c: Tensor) -> TensorHandle:
        """a * b + c, elementwise, in one job."""
        return self._elementwise("fma", a, b, c)

    def clamp(self, x: Tensor, min: Tensor, max: Tensor) -> TensorHandle:
        """x, but at least `min` and at most `max`, elementwise."""
        return self._elementwise("clamp", x, min, max)

    def where(self, condition: Tensor, a: Tensor, b: Tensor) -> TensorHandle:
        """a where the condition is not 0, b elsewhere; the result has the type of a and b."""
        return self._elementwise("where", condition, a, b)

    def softmax(self, x: TensorHandle, axis: int = -1) -> TensorHandle:
        """exp(x - max) / sum(exp(x - max)) along an axis, timed as one job over the elements of x; floats only."""
        return self._along("softmax", x, axis)

    def sum(self, x: TensorHandle, axis: int) -> TensorHandle:
        """The sum along an axis, which becomes 1 long."""
        return self._along("sum", x, axis)

    def max(self, x: TensorHandle, axis: int) -> TensorHandle:
        """The largest along an axis, which becomes 1 long."""
        return self._along("max", x, axis)

    def min(self, x: TensorHandle, axis: int) -> TensorHandle:
        """The smallest along an axis, which becomes 1 long."""
        return self._along("min", x, axis)

    def _unary(self, function: str, x: TensorHandle) -> TensorHandle:
        self._check_tensor(function, x)
        return self._job(function, (x,))

    def _elementwise(self, function: str, *given: Tensor) -> TensorHandle:
        return self._job(function, self._as_tensors(function, given))

    def _along(self, function: str, x: TensorHandle, axis: int) -> TensorHandle:
        self._check_tensor(function, x)
        return self._job(function, (x,), as_axis(function, x.shape, axis))

    def _job(self, function: str, inputs: tuple[TensorHandle, ...], axis: int | None = None) -> TensorHandle:
        shape, dtype, work = find_job(function, tuple([(x.shape, x.dtype) for x in inputs]), axis)
        self._dispatch()
        value = self._next_value()
        out = self._result(value, shape, dtype, work.write_bytes)
        note = Math(function, tuple([x.operand for x in inputs]), value, shape, dtype, axis)
        self._runner.compute(note, work, inputs, out)
        return out

    def _as_tensors(self, function: str, given: tuple[Tensor, ...]) -> tuple[TensorHandle, ...]:
        """Operands as tensors; a number becomes a scalar of the type of the tensors it meets."""
        tensors = [x for x in given if not isinstance(x, NUMBERS)]
        for x in tensors:
            self._check_tensor(function, x)
        if len(tensors) == len(given):
            return tuple(tensors)
        if not tensors:
            fail(f"tl.{function} got {', '.join(map(repr, given))}", "give at least one tensor")
        met = [x.dtype for x in _typed(function, given) if not isinstance(x, NUMBERS)] or [tensors[0].dtype]
        dtype = met[0] if len(met) == 1 else reduce(promote, met)
        return tuple([scalar_handle(x, scalar_dtype(x, dtype)) if isinstance(x, NUMBERS) else x for x in given])


def _typed(function: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands that decide the type of the result."""
    return operands[1:] if function == "where" else operands


@cache
def find_job(function: str, inputs: tuple[tuple[Shape, str], ...], axis: int | None) -> tuple[Shape, str, Work]:
    """Shape and dtype of a result, and its work, from those of the inputs. Errors: KernelError."""
    shape = reduce(partial(broadcast, function), [dims for dims, _ in inputs])
    dtype = reduce(promote, [name for _, name in _typed(function, inputs)])
    if function in FLOATS_ONLY and not is_float(dtype):
        fail(f"tl.{function} got a tensor of {dtype}", "it needs floats")
    elements = prod(shape)
    if axis is not None and function != "softmax":
        shape = (*shape[:axis], 1, *shape[axis + 1 :])
    tensors = [(prod(dims), name) for dims, name in inputs if dims]
    width = max(bits(dtype), *[bits(name) for _, name in tensors])
    read_bytes = sum(count * itemsize(name) for count, name in tensors)
    work = Work(function, "math", (function, elements, width), read_bytes, prod(shape) * itemsize(dtype))
    return shape, dtype, work
