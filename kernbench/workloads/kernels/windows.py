"""Products and convolutions in one kernel: rows are pixels (n, h, w), inner elements are taps (kh, kw, c) of a window.

A matrix product is a convolution of one tap whose rows are pixels of one line; a product of two activations has its second
operand at strides, each n and h its own. A program has a rectangle of pixels and some columns; its inner elements come in
blocks, and the reads of several blocks are under way at once. Weights lie as the blocks that programs read, so each is one run
of bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kernbench.triton.language.jit import jit
from kernbench.triton.language.modules import LANGUAGE as tl
from kernbench.workloads.kernels.expression import constexpr
from kernbench.workloads.kernels.tiles import end


class Rows(NamedTuple):
    """Of an operand or a result: elements between neighbours along n, h, w, groups and columns, and the first element."""

    n: int
    h: int
    w: int
    group: int
    col: int
    first: int = 0


class Window(NamedTuple):
    """Taps of a convolution, its steps over the input, the edge before it, and the size of the input."""

    kh: int = 1
    kw: int = 1
    step_h: int = 1
    step_w: int = 1
    dilation_h: int = 1
    dilation_w: int = 1
    top: int = 0
    left: int = 0
    high: int = 1
    wide: int = 1


class Extent(NamedTuple):
    """Of a product: pixels of the result, groups, columns and channels of a group."""

    n: int
    h: int
    w: int
    groups: int
    cols: int
    channels: int


class Blocks(NamedTuple):
    """How programs share a product: pixels of a program, its columns, its inner elements at a time, and who has which."""

    h: int
    w: int
    rows: int  # a power of two, h * w or more
    cols: int
    inner: int
    col_parts: int  # PEs that share the same rows
    col_blocks: int  # of a part
    row_blocks: int  # of a PE
    copies: int = 1  # PEs that have columns of weights of their own; those after them have the same in turn


@jit
def multiply_windows(
    x_ptr: Any, w_ptr: Any, y_ptr: Any, e0_ptr: Any, e1_ptr: Any, e2_ptr: Any, e3_ptr: Any,
    EXTENT: constexpr, WINDOW: constexpr, BLOCKS: constexpr,
    X: constexpr, W: constexpr, Y: constexpr, EXTRAS: constexpr, STEPS: constexpr,
):  # fmt: skip
    """y = steps(x * w, extras).

    W is the `Rows` of a second operand at strides, `w` along inner elements; None: weights as the blocks of programs.
    """
    program = tl.program_id(0)
    of_part, in_part = (
        program // (BLOCKS.row_blocks * BLOCKS.col_blocks),
        program % (BLOCKS.row_blocks * BLOCKS.col_blocks),
    )
    part = of_part % BLOCKS.col_parts
    column = part * BLOCKS.col_blocks + in_part % BLOCKS.col_blocks
    block = (of_part // BLOCKS.col_parts) * BLOCKS.row_blocks + in_part // BLOCKS.col_blocks
    across, down = tl.cdiv(EXTENT.w, BLOCKS.w), tl.cdiv(EXTENT.h, BLOCKS.h)
    of_group = tl.cdiv(EXTENT.cols, BLOCKS.cols)
    if (block < EXTENT.n * down * across) & (column < EXTENT.groups * of_group):
        group, first_col = column // of_group, column % of_group * BLOCKS.cols
        n, h, w = block // (down * across), block // across % down * BLOCKS.h, block % across * BLOCKS.w
        inside, k = tl.arange(0, BLOCKS.rows), tl.arange(0, BLOCKS.inner)
        dh, dw = inside // BLOCKS.w, inside % BLOCKS.w
        rows_in = (dh < BLOCKS.h) & (h + dh < EXTENT.h) & (w + dw < EXTENT.w)
        in_h, in_w = (h + dh) * WINDOW.step_h - WINDOW.top, (w + dw) * WINDOW.step_w - WINDOW.left
        from_x = n * X.n + group * X.group + X.first
        cols = tl.arange(0, BLOCKS.cols)
        depth = WINDOW.kh * WINDOW.kw * EXTENT.channels
        total = tl.zeros((BLOCKS.rows, BLOCKS.cols), tl.float32)
        for start in range(0, depth, BLOCKS.inner):
            at = start + k
            tap, channel = at // EXTENT.channels, at % EXTENT.channels
            tap_h, tap_w = tap // WINDOW.kw * WINDOW.dilation_h, tap % WINDOW.kw * WINDOW.dilation_w
            at_h, at_w = in_h[:, None] + tap_h[None, :], in_w[:, None] + tap_w[None, :]
            held = rows_in[:, None] & (at < depth)[None, :]
            held = held & (at_h >= 0) & (at_h < WINDOW.high) & (at_w >= 0) & (at_w < WINDOW.wide)
            x = tl.load(x_ptr + (from_x + at_h * X.h + at_w * X.w + channel[None, :] * X.col), mask=held, other=0.0)
            if W is None:
                own = of_part % BLOCKS.copies * BLOCKS.col_blocks + in_part % BLOCKS.col_blocks
                base = (own * tl.cdiv(depth, BLOCKS.inner) * BLOCKS.inner + start) * BLOCKS.cols
                weight = tl.load(w_ptr + (base + k[:, None] * BLOCKS.cols + cols[None, :]))
            else:
                base = n * W.n + h * W.h + group * W.group + W.first
                there = (at < depth)[:, None] & (first_col + cols < EXTENT.cols)[None, :]
                weight = tl.load(
                    w_ptr + (base + at[:, None] * W.w + (first_col + cols)[None, :] * W.col), mask=there, other=0.0
                )
            total = tl.dot(x, weight, total)
        held = rows_in[:, None] & (first_col + cols < EXTENT.cols)[None, :]
        pixel_h, pixel_w, col = (h + dh)[:, None], (w + dw)[:, None], (first_col + cols)[None, :]
        extras = []
        for one in EXTRAS:
            at = n * one.n + group * one.group + one.first + pixel_h * one.h + pixel_w * one.w + col * one.col
            extras.append((at, held))
        y = end(y_ptr, total, (e0_ptr, e1_ptr, e2_ptr, e3_ptr), extras, STEPS, True)
        to = n * Y.n + group * Y.group + Y.first + pixel_h * Y.h + pixel_w * Y.w + col * Y.col
        tl.store(y_ptr + to, y, mask=held)
