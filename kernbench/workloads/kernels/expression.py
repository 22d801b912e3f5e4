"""Functions of elements as data: the steps that follow a product, and those of an elementwise operator.

A step is (function, argument, ...). An argument that is a whole number is a value by its place among the operands and then the
results of earlier steps; one that is a float is itself. The last step is the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from kernbench.triton.language.modules import LANGUAGE as tl

Step = tuple[Any, ...]  # a function's name, then its arguments
constexpr: TypeAlias = Any  # of parameters of kernels that are constants of a launch

_TANH_SCALE = 2.0


def evaluate(steps: Sequence[Step], operands: Sequence[Any]) -> Any:
    """The last step of blocks; without steps the first operand."""
    values = list(operands)
    for function, *arguments in steps:
        values.append(FUNCTIONS[function](*(values[one] if isinstance(one, int) else one for one in arguments)))
    return values[-1] if steps else values[0]


def _tanh(x: Any) -> Any:
    return tl.sigmoid(x * _TANH_SCALE) * 2.0 - 1.0


def _pow(x: Any, y: Any) -> Any:
    if not isinstance(y, float):
        return tl.exp2(tl.log2(x) * y)
    if y == 2.0:
        return x * x
    if y == 3.0:
        return x * x * x
    if y == 0.5:
        return tl.sqrt(x)
    return tl.exp2(tl.log2(x) * y)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": _pow,
    "max": lambda x, y: tl.maximum(x, y),
    "min": lambda x, y: tl.minimum(x, y),
    "sqrt": lambda x: tl.sqrt(x),
    "exp": lambda x: tl.exp(x),
    "log": lambda x: tl.log(x),
    "erf": lambda x: tl.erf(x),
    "abs": lambda x: tl.abs(x),
    "sin": lambda x: tl.sin(x),
    "cos": lambda x: tl.cos(x),
    "floor": lambda x: tl.floor(x),
    "ceil": lambda x: tl.ceil(x),
    "sigmoid": lambda x: tl.sigmoid(x),
    "tanh": _tanh,
    "neg": lambda x: -x,
    "where": lambda c, x, y: tl.where(c != 0, x, y),
    "equal": lambda x, y: x == y,
    "less": lambda x, y: x < y,
    "greater": lambda x, y: x > y,
    "less_equal": lambda x, y: x <= y,
    "greater_equal": lambda x, y: x >= y,
    "not": lambda x: x == 0,
    "and": lambda x, y: (x != 0) & (y != 0),
    "or": lambda x, y: (x != 0) | (y != 0),
}
