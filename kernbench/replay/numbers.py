"""What each note computes, in numpy.

Floating-point work is done in f32 and rounded to the note's dtype once per operation, as the engines do; integers stay
integers. A GEMM sums in its accumulator's dtype and is rounded when it leaves it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from kernbench.dtypes import is_float, numpy_dtype
from kernbench.errors import RunError
from kernbench.program import notes
from kernbench.program.notes import Composite, Constant, Dot, Load, Math, Note, Operand, Ref, Store, View

Array = np.ndarray


class Memory(Protocol):
    """Memory as one PE sees it."""

    def read(self, va: int, shape: tuple[int, ...], dtype: str, /) -> Array:
        """The elements at a virtual address, row-major; a copy."""
        ...

    def write(self, va: int, data: Array, /) -> None:
        """Put the elements at a virtual address, row-major."""
        ...


class Numbers:
    """The values of one kernel on one PE, by id, as its notes put them out."""

    __slots__ = ("memory", "values")

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.values: dict[int, Array] = {}

    def perform(self, note: Note) -> None:
        """Compute a note. Errors: RunError for a note of a kind nobody computes."""
        action = _ACTIONS.get(type(note))
        if action is None:
            raise RunError(f"replay met a note of kind {type(note).__name__}, which computes nothing")
        action(self, note)

    def value(self, operand: Operand) -> Array:
        """The array an operand stands for."""
        if isinstance(operand, View):
            return np.swapaxes(self.value(operand.of), -1, -2)
        if isinstance(operand, Ref):
            return self.memory.read(operand.va, operand.shape, operand.dtype)
        if isinstance(operand, Constant):
            return constant(operand)
        return self.values[operand]

    def _put(self, out: int, values: Array, shape: tuple[int, ...], dtype: str) -> None:
        self.values[out] = values.reshape(shape).astype(numpy_dtype(dtype))

    def _load(self, note: Load) -> None:
        self.values[note.out] = self.memory.read(note.va, note.shape, note.dtype)

    def _store(self, note: Store) -> None:
        data = np.broadcast_to(self.value(note.inputs[0]), note.shape)
        self.memory.write(note.va, data.astype(numpy_dtype(note.dtype)))

    def _dot(self, note: Dot) -> None:
        a, b = (self.value(operand) for operand in note.inputs)
        self._put(note.out, product(a, b, note.acc_dtype), note.shape, note.dtype)

    def _math(self, note: Math) -> None:
        inputs = [self.value(operand) for operand in note.inputs]
        self._put(note.out, apply(note.function, inputs, note.axis), note.shape, note.dtype)

    def _composite(self, note: Composite) -> None:
        inputs = [self.value(operand) for operand in note.inputs]
        values = composite(note, inputs).reshape(note.shape).astype(numpy_dtype(note.dtype))
        if note.out_va is None:
            self.values[_known(note.out)] = values
        else:
            self.memory.write(note.out_va, values)


def _known(out: int | None) -> int:
    if out is None:
        raise RunError("a composite has neither an output address nor an output value")
    return out


_ACTIONS: dict[type[Note], Callable[[Numbers, Any], None]] = {
    Load: Numbers._load,
    Store: Numbers._store,
    Dot: Numbers._dot,
    Math: Numbers._math,
    Composite: Numbers._composite,
}


def constant(c: Constant) -> Array:
    """The array of a constant."""
    dtype = numpy_dtype(c.dtype)
    if c.step:
        return (c.value + c.step * np.arange(c.shape[0])).astype(dtype)
    return np.full(c.shape, c.value).astype(dtype)


def product(a: Array, b: Array, acc_dtype: str) -> Array:
    """`a @ b`, summed in the accumulator's dtype."""
    if acc_dtype not in ("f32", "i32"):
        rounded = np.matmul(a.astype(np.float32), b.astype(np.float32)) if is_float(acc_dtype) else np.matmul(a, b)
        return rounded.astype(numpy_dtype(acc_dtype))
    acc = numpy_dtype(acc_dtype)
    return np.matmul(a.astype(acc), b.astype(acc))


def composite(note: Composite, inputs: list[Array]) -> Array:
    """The result of a composite before it is rounded to its dtype."""
    if note.kind == "gemm":
        values = _gemm(note, inputs)
    else:
        values = apply(note.function or "", inputs[: _own_inputs(note, len(inputs))], None)
    for step in note.epilogue:
        if step.scope != "k_tile":
            values = epilogue(step, values, inputs)
    return values


def _own_inputs(note: Composite, count: int) -> int:
    """How many inputs are the operation's own; those of epilogue steps follow them."""
    return min((step.operand for step in note.epilogue if step.operand is not None), default=count)


def _gemm(note: Composite, inputs: list[Array]) -> Array:
    a, b = inputs[0], inputs[1]
    steps = [step for step in note.epilogue if step.scope == "k_tile"]
    if not steps:
        return product(a, b, note.acc_dtype)
    total = np.zeros(note.shape, numpy_dtype(note.acc_dtype))
    tile = note.tile[1]
    for k in range(0, a.shape[-1], tile):
        part = product(a[..., k : k + tile], b[..., k : k + tile, :], note.acc_dtype)
        for step in steps:
            part = epilogue(step, part, inputs)
        total = total + part
    return total


def epilogue(step: notes.Epilogue, values: Array, inputs: list[Array]) -> Array:
    """One step after a product."""
    if step.op == "relu":
        return np.maximum(values, 0)
    operand = _wide(inputs[step.operand]) if step.operand is not None else 1
    return values + operand if step.op == "bias" else values * operand


def _wide(values: Array) -> Array:
    """Floating-point values in f32 at least; others as they are."""
    return values if values.dtype.kind in "iub" or values.dtype.itemsize > 4 else values.astype(np.float32)


def _softmax(x: Array, axis: int | None) -> Array:
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "neg": np.negative,
    "cos": np.cos,
    "sin": np.sin,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fma": lambda a, b, c: a * b + c,
    "clamp": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "where": lambda condition, a, b: np.where(condition != 0, a, b),
}
_REDUCTIONS: dict[str, Callable[[Array, int | None], Array]] = {
    "sum": lambda x, axis: x.sum(axis=axis, keepdims=True),
    "max": lambda x, axis: x.max(axis=axis, keepdims=True),
    "min": lambda x, axis: x.min(axis=axis, keepdims=True),
    "softmax": _softmax,
}
FUNCTIONS = (*_FUNCTIONS, *_REDUCTIONS)


def apply(function: str, inputs: list[Array], axis: int | None) -> Array:
    """A function of the math engine. Errors: RunError for one that nobody computes."""
    wide = [_wide(values) for values in inputs]
    with np.errstate(all="ignore"):  # the device gives inf and nan without a word
        if function in _REDUCTIONS:
            return _REDUCTIONS[function](wide[0], axis)
        if function in _FUNCTIONS:
            return _FUNCTIONS[function](*wide)
    raise RunError(f"replay cannot compute {function!r}; it knows {', '.join(sorted(FUNCTIONS))}")
