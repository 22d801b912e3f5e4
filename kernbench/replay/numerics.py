"""The numerics of each operation in numpy, shared by replay and live kernels.

Narrow floats are computed in f32 and rounded once at the end, as engines with wide accumulators do. Integers are computed
in 64 bits and wrap when they take the result's type; a Python number that an operation meets keeps its value until then.
A whole number divided by zero is 0, and so is a whole number that would be inf, nan or beyond 64 bits.
Products and sums along k are in the accumulator's type after each step, epilogues in `Composite.step_dtype`.

numpy adds in an order that depends on the shape and the layout of its arrays. So operands are made row-major, and each tile of
a composite is multiplied by itself: bits depend neither on how many tiles are computed at once nor on where operands lie.

Overflow and invalid values give inf and nan silently, as on a device. The same holds where benches, kernels and references of
users compute (`Bench.call`, the runner of kernels, verification); numpy's warnings elsewhere are faults of ours, and nothing
filters them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from kernbench.dtypes import is_float, numpy_dtype
from kernbench.program.op_semantics import Composite, Constant, Dot, Epilogue, Math, Operand, Ref, View

Read = Callable[[Ref], np.ndarray]


def _div(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b; of integers the part before the point, and 0 where b is 0."""
    if a.dtype.kind not in "iu":
        return a / b
    rounds_up = (a % b != 0) & ((a < 0) != (b < 0))  # numpy's // rounds down; it and % give 0 where b is 0
    return a // b + rounds_up


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(x)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return a * b + c


def _clamp(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.minimum(np.maximum(x, low), high)


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


ELEMENTWISE: dict[str, Callable[..., np.ndarray]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "abs": np.abs,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "cos": np.cos,
    "sin": np.sin,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _div,
    "floor_div": np.floor_divide,
    "mod": np.remainder,
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "fma": _fma,
    "clamp": _clamp,
    "where": np.where,
}
COMPARISONS: dict[str, Callable[..., np.ndarray]] = {
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
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
    "relu": _relu,
}


def resolve(operand: Operand, values: Mapping[int, np.ndarray], read: Read) -> np.ndarray:
    """The array of an operand, given the values of its thread by id and a function that reads memory."""
    if isinstance(operand, int):
        return values[operand]
    if isinstance(operand, View):
        return np.swapaxes(resolve(operand.of, values, read), -1, -2)
    if isinstance(operand, Ref):
        return read(operand)
    return constant(operand)


def constant(operand: Constant) -> np.ndarray:
    """The array of a constant, of its type; of int64 for a number that does not fit into the integers it meets."""
    kind = numpy_dtype(operand.dtype)
    if operand.step:
        values = operand.value + operand.step * np.arange(operand.shape[0])
        return values.astype(kind)
    fits = kind.kind not in "iu" or np.iinfo(kind).min <= operand.value <= np.iinfo(kind).max
    return np.full(operand.shape, operand.value, kind if fits else np.int64)


def compute(note: Dot | Math, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The result of a noted operation on the arrays of its `inputs`, in its shape and dtype."""
    with np.errstate(all="ignore"):
        if isinstance(note, Math):
            result = _math(note.function, arrays, note.axis, note.dtype)
        else:
            result = _product(arrays[0], arrays[1], note.acc_dtype)
            if len(arrays) > 2:
                result = np.add(result, arrays[2].astype(result.dtype), dtype=result.dtype)
        return result.astype(numpy_dtype(note.dtype))


def _math(function: str, arrays: Sequence[np.ndarray], axis: int | None, dtype: str) -> np.ndarray:
    if function in COMPARISONS:
        whole = all(array.dtype.kind in "iu" for array in arrays)
        return COMPARISONS[function](*[array.astype(np.int64 if whole else np.float32) for array in arrays])
    wide = _wide(dtype)
    if function == "where":  # the condition may be a fraction where the result is whole
        arrays = (arrays[0] != 0, *arrays[1:])
    inputs = [array.astype(wide, order="C") for array in arrays]
    if axis is None:
        return ELEMENTWISE[function](*inputs)
    return ALONG_AXIS[function](inputs[0], axis)


def _product(a: np.ndarray, b: np.ndarray, acc_dtype: str) -> np.ndarray:
    wide = _wide(acc_dtype)
    return np.matmul(a.astype(wide, order="C"), b.astype(wide, order="C")).astype(numpy_dtype(acc_dtype))


def _tile_products(a: np.ndarray, b: np.ndarray, tile: tuple[int, int, int], acc_dtype: str) -> np.ndarray:
    """The product of a range of output tiles along one k tile; `tile` is (tile_m, tile_k, tile_n)."""
    if not is_float(acc_dtype):
        return _product(a, b, acc_dtype)
    found = np.empty((a.shape[0], b.shape[1]), numpy_dtype(acc_dtype))
    for top, bottom, height in _alike(a.shape[0], tile[0]):
        above = a[top:bottom].reshape(-1, 1, height, a.shape[1])
        for left, right, width in _alike(b.shape[1], tile[2]):
            beside = b[:, left:right].reshape(b.shape[0], -1, width).swapaxes(0, 1)
            tiles = _product(above, beside, acc_dtype)
            found[top:bottom, left:right] = tiles.swapaxes(1, 2).reshape(bottom - top, right - left)
    return found


def _alike(length: int, tile: int) -> list[tuple[int, int, int]]:
    """(first, end, length of each) of the tiles along an axis that are whole, and of the one at the edge."""
    whole = length // tile * tile
    return [
        (first, end, size) for first, end, size in ((0, whole, tile), (whole, length, length - whole)) if end > first
    ]


def compute_block(note: Composite, parts: Iterable[Sequence[np.ndarray]], operands: Sequence[np.ndarray]) -> np.ndarray:
    """A block of a composite's result in the type of its epilogue, before the steps of scope `kernel`.

    `parts` has the tensors of the block for each k tile, in the order in which the tiles are summed. `operands` are
    inputs of the composite; those of its epilogue broadcast to the block.
    """
    total: np.ndarray | None = None
    step = numpy_dtype(note.step_dtype)
    in_steps = any(x.scope == "k_tile" for x in note.epilogue)  # then k tiles are summed in the type of the steps
    with np.errstate(all="ignore"):
        for tensors in parts:
            if note.kind == "gemm":
                part = _tile_products(tensors[0], tensors[1], note.tile, note.acc_dtype)
            else:
                part = _math(str(note.function), tensors, None, note.acc_dtype).astype(numpy_dtype(note.acc_dtype))
            if in_steps:
                part = apply_epilogue(note, "k_tile", part.astype(step, copy=False), operands)
            total = part if total is None else np.add(total, part, dtype=part.dtype)
    assert total is not None
    return apply_epilogue(note, "output_tile", total.astype(step, copy=False), operands)


def apply_epilogue(note: Composite, scope: str, result: np.ndarray, operands: Sequence[np.ndarray]) -> np.ndarray:
    """The steps of a scope on a block, or on the result, of a composite: in `step_dtype`."""
    with np.errstate(all="ignore"):
        for step in note.epilogue:
            if step.scope == scope:
                result = _step(step, result, operands)
    return result


def _step(step: Epilogue, result: np.ndarray, arrays: Sequence[np.ndarray]) -> np.ndarray:
    function, kind = STEPS.get(step.op) or ELEMENTWISE[step.op], result.dtype
    wide = kind if kind.kind in "iu" else np.dtype(np.float32)
    if step.operand is None:
        return function(result.astype(wide, copy=False)).astype(kind, copy=False)
    operand = arrays[step.operand]
    if kind.kind in "iu" and operand.dtype.kind not in "iu":  # a fraction: cut towards zero after the step
        return _as_whole(function(result.astype(np.float64), operand.astype(np.float64))).astype(kind)
    operand = operand.astype(kind, copy=False).astype(wide, copy=False)
    return function(result.astype(wide, copy=False), operand).astype(kind, copy=False)


def _as_whole(values: np.ndarray) -> np.ndarray:
    """Fractions cut towards zero, as int64; 0 for inf, nan and what is beyond 64 bits."""
    return np.where(np.abs(values) < 2.0**63, values, 0).astype(np.int64)


def _wide(dtype: str) -> np.dtype:
    return np.dtype(np.float32 if is_float(dtype) else np.int64)
