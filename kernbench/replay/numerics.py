"""The numerics of each operation in numpy, shared by replay and live kernels.

Narrow floats are computed in f32 and rounded once at the end, as engines with wide accumulators do. Integers are computed
in 64 bits and wrap when they take the result's type; a Python number that an operation meets keeps its value until then.
Products, sums along k and epilogues are in the accumulator's type after each step. Overflow and invalid values give inf
and nan silently, as on a device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kernbench.dtypes import is_float, numpy_dtype
from kernbench.program.op_semantics import Composite, Constant, Dot, Epilogue, Math, Operand, Piece, Ref, View

Read = Callable[[Ref], np.ndarray]


def _div(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.trunc(a / b) if a.dtype.kind == "i" else a / b


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


ELEMENTWISE: dict[str, Callable[..., np.ndarray]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "cos": np.cos,
    "sin": np.sin,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _div,
    "fma": lambda a, b, c: a * b + c,
    "clamp": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "where": np.where,
}
ALONG_AXIS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "sum": lambda x, axis: x.sum(axis=axis, keepdims=True),
    "max": lambda x, axis: x.max(axis=axis, keepdims=True),
    "min": lambda x, axis: x.min(axis=axis, keepdims=True),
    "softmax": _softmax,
}
STEPS: dict[str, Callable[..., np.ndarray]] = {
    "dequant": np.multiply,
    "scale": np.multiply,
    "bias": np.add,
    "relu": lambda x: np.maximum(x, 0),
}


def resolve(operand: Operand, values: Mapping[int, np.ndarray], read: Read) -> np.ndarray:
    """The array of an operand, given the values of its thread by id and a function that reads memory."""
    if isinstance(operand, int):
        return values[operand]
    if isinstance(operand, View):
        return np.swapaxes(resolve(operand.of, values, read), -1, -2)
    if isinstance(operand, Ref):
        return read(operand)
    if isinstance(operand, Piece):
        return cut_bytes(resolve(operand.of, values, read), operand)
    return constant(operand)


def cut_bytes(of: np.ndarray, operand: Piece) -> np.ndarray:
    """The elements that a piece takes out of an array."""
    raw = np.ascontiguousarray(of).reshape(-1).view(np.uint8)[operand.offset :]
    kind = numpy_dtype(operand.dtype)
    return raw[: math.prod(operand.shape) * kind.itemsize].copy().view(kind).reshape(operand.shape)


def constant(operand: Constant) -> np.ndarray:
    """The array of a constant, of its type; of int64 for a number that does not fit into the integers it meets."""
    kind = numpy_dtype(operand.dtype)
    if operand.step:
        values = operand.value + operand.step * np.arange(operand.shape[0])
        return values.astype(kind)
    fits = kind.kind not in "iu" or np.iinfo(kind).min <= operand.value <= np.iinfo(kind).max
    return np.full(operand.shape, operand.value, kind if fits else np.int64)


def compute(note: Dot | Math | Composite, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The result of a noted operation on the arrays of its `inputs`, in its shape and dtype."""
    with np.errstate(all="ignore"):
        if isinstance(note, Math):
            result = _math(note.function, arrays, note.axis, note.dtype)
        elif isinstance(note, Dot):
            result = _product(arrays[0], arrays[1], note.acc_dtype)
        else:
            result = _composite(note, arrays)
        return result.astype(numpy_dtype(note.dtype))


def _math(function: str, arrays: Sequence[np.ndarray], axis: int | None, dtype: str) -> np.ndarray:
    wide = _wide(dtype)
    if function == "where":  # the condition may be a fraction where the result is whole
        arrays = (arrays[0] != 0, *arrays[1:])
    inputs = [array.astype(wide) for array in arrays]
    if axis is None:
        return ELEMENTWISE[function](*inputs)
    return ALONG_AXIS[function](inputs[0], axis)


def _product(a: np.ndarray, b: np.ndarray, acc_dtype: str) -> np.ndarray:
    wide = _wide(acc_dtype)
    return np.matmul(a.astype(wide), b.astype(wide)).astype(numpy_dtype(acc_dtype))


def _composite(note: Composite, arrays: Sequence[np.ndarray]) -> np.ndarray:
    def apply(result: np.ndarray, scope: str) -> np.ndarray:
        for step in note.epilogue:
            if step.scope == scope:
                result = _step(step, result, arrays)
        return result

    if note.kind == "math":
        result = _math(str(note.function), arrays[: len(note.tensors)], None, note.acc_dtype)
        result = result.astype(numpy_dtype(note.acc_dtype))
    elif any(step.scope == "k_tile" for step in note.epilogue):
        result = _tiled(note, arrays, lambda part: apply(part, "k_tile"))
    else:
        result = _product(arrays[0], arrays[1], note.acc_dtype)
    return apply(apply(result, "output_tile"), "kernel")


def _tiled(note: Composite, arrays: Sequence[np.ndarray], each: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The product summed tile by tile along k, with `each` applied to each partial product before it is added."""
    a, b = arrays[:2]
    tile = note.tile[1]
    parts = [each(_product(a[:, k : k + tile], b[k : k + tile], note.acc_dtype)) for k in range(0, a.shape[1], tile)]
    return np.add.reduce(parts, axis=0, dtype=numpy_dtype(note.acc_dtype))


def _step(step: Epilogue, result: np.ndarray, arrays: Sequence[np.ndarray]) -> np.ndarray:
    if step.operand is None:
        return STEPS[step.op](result)
    operand = arrays[step.operand]
    if result.dtype.kind == "i" and operand.dtype.kind not in "iu":  # a fraction: cut towards zero after the step
        return STEPS[step.op](result.astype(np.float64), operand.astype(np.float64)).astype(result.dtype)
    return STEPS[step.op](result, operand.astype(result.dtype))


def _wide(dtype: str) -> np.dtype:
    return np.dtype(np.float32 if is_float(dtype) else np.int64)
