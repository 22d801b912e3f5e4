"""Softmax of rows in Triton, fused: a row is read once and written once.

`tl` has no twin of it; the rows of `attention` have the same arithmetic between two products.
"""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from kernbench import DPPolicy, bench
from kernbench.dtypes import widen

SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


@triton.jit
def softmax_kernel(x_ptr, y_ptr, rows, columns, BLOCK: tl.constexpr):
    first, step = tl.program_id(0), tl.num_programs(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    for row in tl.range(first, rows, step):
        x = tl.load(x_ptr + row * columns + at, mask=inside, other=-float("inf")).to(tl.float32)
        weights = tl.exp(x - tl.max(x, axis=0))
        y = weights / tl.sum(weights, axis=0)
        tl.store(y_ptr + row * columns + at, y.to(y_ptr.dtype.element_ty), mask=inside)


@bench("triton-softmax", "Softmax of rows, fused")
def run(torch, *, rows=64, columns=700, programs=16, dtype="f16"):
    """Programs take rows by turns.

    Parameters:
        rows: rows
        columns: elements of a row
        programs: programs of the grid
        dtype: type of elements
    """
    x, y = torch.randn((rows, columns), dtype, SPLIT, name="x"), torch.zeros((rows, columns), dtype, SPLIT, name="y")
    block = triton.next_power_of_2(columns)
    torch.launch("softmax", softmax_kernel[(min(programs, rows),)], x, y, rows, columns, BLOCK=block)
    torch.expect(y, lambda: reference(widen(x.initial())))


def reference(x):
    """Rows by themselves, in f32."""
    weights = np.exp(x - x.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
