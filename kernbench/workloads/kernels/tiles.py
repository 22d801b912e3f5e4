"""Kernels over tiles of rows and columns: functions of elements, functions along an axis, windows over pixels.

Axes are given as sizes, the slowest first, and each operand as its elements from one to the next along each. A program has a
tile of the last two axes, and programs follow each other as the tiles lie in the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kernbench.triton.language.jit import jit
from kernbench.triton.language.modules import LANGUAGE as tl
from kernbench.workloads.kernels.expression import constexpr, evaluate

NATIVE = {"add", "sub", "mul", "max", "min", "where", "neg", "abs"}  # done in the type of their operands


class Placed(NamedTuple):
    """Of an operand: elements between neighbours along each axis, and the first element."""

    strides: tuple[int, ...]
    first: int = 0


class Tile(NamedTuple):
    """Rows and columns of a program, powers of two."""

    rows: int
    cols: int


class Sweep(NamedTuple):
    """Taps of a window, its steps over the input, the edge before it, and the size of the input."""

    taps: tuple[int, int]
    steps: tuple[int, int]
    dilations: tuple[int, int]
    before: tuple[int, int]
    size: tuple[int, int]


def locate(index: Any, sizes: Sequence[int], strides: Sequence[int]) -> Any:
    """The element at which the `index`th place of some axes is."""
    at: Any = 0
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        at, index = at + index % size * stride, index // size
    return at


def end(y_ptr: Any, total: Any, ptrs: Sequence[Any], extras: Sequence[Any], steps: Any, wide: bool) -> Any:
    """What follows a result, in the type of y; `extras` are (elements, mask) of each operand."""
    operands = [] if total is None else [total]
    for ptr, (at, held) in zip(ptrs, extras, strict=False):
        value = tl.load(ptr + at, mask=held, other=0)
        operands.append(value.to(tl.float32) if wide else value)
    return evaluate(steps, operands).to(y_ptr.dtype.element_ty)


@jit
def elementwise(
    y_ptr: Any, e0_ptr: Any, e1_ptr: Any, e2_ptr: Any, e3_ptr: Any,
    SIZES: constexpr, Y: constexpr, EXTRAS: constexpr, STEPS: constexpr, TILE: constexpr, WIDE: constexpr,
):  # fmt: skip
    """y = steps(extras)."""
    rows, cols = SIZES[-2:]
    across = tl.cdiv(cols, TILE.cols)
    down = tl.cdiv(rows, TILE.rows)
    program = tl.program_id(0)
    outer = program // (across * down)
    row = program // across % down * TILE.rows + tl.arange(0, TILE.rows)[:, None]
    col = program % across * TILE.cols + tl.arange(0, TILE.cols)[None, :]
    held = (row < rows) & (col < cols)
    ptrs, extras = (e0_ptr, e1_ptr, e2_ptr, e3_ptr), []
    for one in EXTRAS:
        at = locate(outer, SIZES[:-2], one.strides[:-2]) + one.first
        extras.append((at + row * one.strides[-2] + col * one.strides[-1], held))
    y = end(y_ptr, None, ptrs, extras, STEPS, WIDE)
    to = locate(outer, SIZES[:-2], Y.strides[:-2]) + Y.first
    tl.store(y_ptr + (to + row * Y.strides[-2] + col * Y.strides[-1]), y, mask=held)


@jit
def along(
    x_ptr: Any, y_ptr: Any, e0_ptr: Any, e1_ptr: Any, e2_ptr: Any, e3_ptr: Any,
    SIZES: constexpr, X: constexpr, Y: constexpr, EXTRAS: constexpr, STEPS: constexpr, TILE: constexpr,
    FUNCTION: constexpr, EPS: constexpr,
):  # fmt: skip
    """y = steps(function of x along the last axis, extras); a tile has whole rows."""
    rows, length = SIZES[-2:]
    down = tl.cdiv(rows, TILE.rows)
    program = tl.program_id(0)
    outer = program // down
    row, col = program % down * TILE.rows + tl.arange(0, TILE.rows)[:, None], tl.arange(0, TILE.cols)[None, :]
    held = (row < rows) & (col < length)
    at = locate(outer, SIZES[:-2], X.strides[:-2]) + X.first
    lowest = (
        float("-inf") if FUNCTION in ("max", "softmax", "log_softmax") else float("inf") if FUNCTION == "min" else 0.0
    )
    x = tl.load(x_ptr + (at + row * X.strides[-2] + col * X.strides[-1]), mask=held, other=lowest).to(tl.float32)
    y = function_along(FUNCTION, x, held, length, EPS)
    if y.shape[-1] == 1:
        col, held = tl.zeros((1, 1), tl.int32), row < rows
    ptrs, extras = (e0_ptr, e1_ptr, e2_ptr, e3_ptr), []
    for one in EXTRAS:
        from_one = locate(outer, SIZES[:-2], one.strides[:-2]) + one.first
        extras.append((from_one + row * one.strides[-2] + col * one.strides[-1], held))
    y = end(y_ptr, y, ptrs, extras, STEPS, True)
    to = locate(outer, SIZES[:-2], Y.strides[:-2]) + Y.first
    tl.store(y_ptr + (to + row * Y.strides[-2] + col * Y.strides[-1]), y, mask=held)


def function_along(function: str, x: Any, held: Any, length: int, eps: float) -> Any:
    """f32: a function along the rows of a block."""
    if function in ("max", "min"):
        return (tl.max if function == "max" else tl.min)(x, axis=1)[:, None]
    if function in ("sum", "mean"):
        return tl.sum(x, axis=1)[:, None] * (1.0 / length if function == "mean" else 1.0)
    if function == "softmax":
        e = tl.exp(x - tl.max(x, axis=1)[:, None])
        return e / tl.sum(e, axis=1)[:, None]
    if function == "log_softmax":
        x = x - tl.max(x, axis=1)[:, None]
        return x - tl.log(tl.sum(tl.exp(x), axis=1)[:, None])
    if function == "layer_norm":
        x = tl.where(held, x - tl.sum(x, axis=1)[:, None] * (1.0 / length), 0.0)
    return x * tl.rsqrt(tl.sum(x * x, axis=1)[:, None] * (1.0 / length) + eps)


@jit
def window(
    x_ptr: Any, w_ptr: Any, y_ptr: Any, e0_ptr: Any, e1_ptr: Any, e2_ptr: Any, e3_ptr: Any,
    SIZES: constexpr, X: constexpr, W: constexpr, Y: constexpr, EXTRAS: constexpr, STEPS: constexpr,
    SWEEP: constexpr, TILE: constexpr, HIGH: constexpr, FUNCTION: constexpr, COUNTS_EDGE: constexpr,
):  # fmt: skip
    """y = steps(max, mean or weighted sum of a window over x, extras), (n, h, w, channels); a tile is HIGH lines of pixels."""
    _, high, wide, channels = SIZES
    wide_tile = TILE.rows // HIGH
    across, right, down = tl.cdiv(channels, TILE.cols), tl.cdiv(wide, wide_tile), tl.cdiv(high, HIGH)
    program = tl.program_id(0)
    n = program // (across * right * down)
    inside = tl.arange(0, TILE.rows)
    h = program // (across * right) % down * HIGH + inside // wide_tile
    w = program // across % right * wide_tile + inside % wide_tile
    col = program % across * TILE.cols + tl.arange(0, TILE.cols)
    held = ((h < high) & (w < wide))[:, None] & (col < channels)[None, :]
    lowest = float("-inf") if FUNCTION == "max" else 0.0
    total = tl.full((TILE.rows, TILE.cols), lowest, tl.float32)
    count = tl.zeros((TILE.rows, 1), tl.float32)

    def load_line(kh: int) -> list[Any]:
        """(x, whether it is inside, weights) of each tap of a line: all reads are under way at once."""
        found = []
        for kw in range(SWEEP.taps[1]):
            from_h = h * SWEEP.steps[0] - SWEEP.before[0] + kh * SWEEP.dilations[0]
            from_w = w * SWEEP.steps[1] - SWEEP.before[1] + kw * SWEEP.dilations[1]
            there = ((from_h >= 0) & (from_h < SWEEP.size[0]) & (from_w >= 0) & (from_w < SWEEP.size[1]))[:, None]
            at = n * X.strides[0] + X.first + (from_h * X.strides[1] + from_w * X.strides[2])[:, None]
            x = tl.load(x_ptr + (at + (col * X.strides[3])[None, :]), mask=held & there, other=lowest)
            weight = None
            if FUNCTION == "weighted":
                of_tap = kh * W.strides[0] + kw * W.strides[1] + W.first
                weight = tl.load(w_ptr + (of_tap + col * W.strides[2]), mask=col < channels, other=0.0)
            found.append((x, there, weight))
        return found

    line = load_line(0)
    for kh in tl.static_range(SWEEP.taps[0]):
        following = load_line(kh + 1) if kh + 1 < SWEEP.taps[0] else []
        for x, there, weight in line:
            x = x.to(tl.float32)
            if FUNCTION == "max":
                total = tl.maximum(total, x)
            elif FUNCTION == "mean":
                total = total + x
                count = count + there.to(tl.float32)
            else:
                total = tl.fma(x, weight[None, :].to(tl.float32), total)
        line = following
    if FUNCTION == "mean":
        total = total * (1.0 / (SWEEP.taps[0] * SWEEP.taps[1])) if COUNTS_EDGE else total / tl.maximum(count, 1.0)
    ptrs, extras = (e0_ptr, e1_ptr, e2_ptr, e3_ptr), []
    for one in EXTRAS:
        at = n * one.strides[0] + one.first + (h * one.strides[1] + w * one.strides[2])[:, None]
        extras.append((at + (col * one.strides[3])[None, :], held))
    y = end(y_ptr, total, ptrs, extras, STEPS, True)
    to = n * Y.strides[0] + Y.first + (h * Y.strides[1] + w * Y.strides[2])[:, None] + (col * Y.strides[3])[None, :]
    tl.store(y_ptr + to, y, mask=held)
