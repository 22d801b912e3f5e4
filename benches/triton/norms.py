"""Layer norm and RMS norm of rows in Triton, a row a program.

`tl` has no twins of them. The layer norm takes a row in blocks, so a row may be longer than scratch; the RMS norm takes it at
once.
"""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from kernbench import DPPolicy, bench
from kernbench.dtypes import widen

SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


@triton.jit
def layer_norm_kernel(x_ptr, y_ptr, weight_ptr, bias_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + at, mask=at < columns, other=0.0).to(tl.float32)
        far = tl.where(at < columns, x - mean, 0.0)
        squares += far * far
    scale = tl.rsqrt(tl.sum(squares, axis=0) / columns + eps)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        x = tl.load(x_ptr + row + at, mask=inside, other=0.0).to(tl.float32)
        weight, bias = tl.load(weight_ptr + at, mask=inside), tl.load(bias_ptr + at, mask=inside)
        y = (x - mean) * scale * weight + bias
        tl.store(y_ptr + row + at, y.to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def rms_norm_kernel(x_ptr, y_ptr, weight_ptr, columns, eps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row, inside = tl.program_id(0) * columns, at < columns
    x = tl.load(x_ptr + row + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / columns + eps)
    y = x * scale * tl.load(weight_ptr + at, mask=inside)
    tl.store(y_ptr + row + at, y.to(y_ptr.dtype.element_ty), mask=inside)


@bench("triton-layer-norm", "Layer norm of rows, in blocks along the row")
def layer_norm(torch, *, rows=32, columns=600, BLOCK=256, eps=1e-5, dtype="f16"):
    """A program for each row, which it reads three times.

    Parameters:
        rows: rows
        columns: elements of a row
        BLOCK: elements of a block, a power of two
        eps: what is added to the variance
        dtype: type of elements
    """
    x, y = torch.randn((rows, columns), dtype, SPLIT, name="x"), torch.zeros((rows, columns), dtype, SPLIT, name="y")
    weight, bias = (torch.randn((columns,), dtype, None, name=name) for name in ("weight", "bias"))
    torch.launch("layer_norm", layer_norm_kernel[(rows,)], x, y, weight, bias, columns, eps, BLOCK=BLOCK)

    def expected():
        held = widen(x.initial())
        far = held - held.mean(axis=1, keepdims=True)
        scale = 1 / np.sqrt((far * far).mean(axis=1, keepdims=True) + eps)
        return far * scale * widen(weight.initial()) + widen(bias.initial())

    torch.expect(y, expected)


@bench("triton-rms-norm", "RMS norm of rows, a row a block")
def rms_norm(torch, *, rows=32, columns=600, eps=1e-6, dtype="f16"):
    """A program for each row, which it reads once.

    Parameters:
        rows: rows
        columns: elements of a row
        eps: what is added to the mean of squares
        dtype: type of elements
    """
    x, y = torch.randn((rows, columns), dtype, SPLIT, name="x"), torch.zeros((rows, columns), dtype, SPLIT, name="y")
    weight = torch.randn((columns,), dtype, None, name="weight")
    block = triton.next_power_of_2(columns)
    torch.launch("rms_norm", rms_norm_kernel[(rows,)], x, y, weight, columns, eps, BLOCK=block)

    def expected():
        held = widen(x.initial())
        return held / np.sqrt((held * held).mean(axis=1, keepdims=True) + eps) * widen(weight.initial())

    torch.expect(y, expected)
