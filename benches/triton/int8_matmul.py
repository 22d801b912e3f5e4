"""C = A @ (B · scale) in Triton, where B is of i8 with a scale for each column.

The twin in `tl` is `matmul-composite`, whose operands have one type. Here a block of B is converted as the engine reads it, so
one byte of an element comes from memory instead of two.
"""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from kernbench import DPPolicy, bench
from kernbench.dtypes import widen

SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


@triton.jit
def dequantising_kernel(
    a_ptr, b_ptr, scale_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        at = start + inner
        a = tl.load(a_ptr + rows[:, None] * K + at[None, :], mask=(rows[:, None] < M) & (at[None, :] < K), other=0.0)
        b = tl.load(
            b_ptr + at[:, None] * N + columns[None, :], mask=(at[:, None] < K) & (columns[None, :] < N), other=0
        )
        total = tl.dot(a, b.to(a.dtype), total)
    scale = tl.load(scale_ptr + columns, mask=columns < N, other=0.0)
    c = (total * scale[None, :]).to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], c, mask=(rows[:, None] < M) & (columns[None, :] < N))


@bench("triton-int8-matmul", "A GEMM whose second operand is of i8 with a scale for each column")
def run(torch, *, M=64, N=128, K=256, BLOCK_M=32, BLOCK_N=64, BLOCK_K=64, num_stages=3, dtype="f16"):
    """A program for each block of C.

    Parameters:
        M: rows of A and C
        N: columns of B and C
        K: columns of A, rows of B
        BLOCK_M: rows of a block of C
        BLOCK_N: columns of a block of C
        BLOCK_K: columns of A and rows of B that a program loads at once
        num_stages: iterations whose loads are under way at once
        dtype: type of A and C
    """
    rng = np.random.default_rng(5)
    quantised, scales = rng.integers(-127, 128, (K, N)).astype(np.int8), (rng.random(N) / 127).astype(np.float32)
    a, c = torch.randn((M, K), dtype, SPLIT, name="a"), torch.zeros((M, N), dtype, SPLIT, name="c")
    b, scale = torch.from_numpy(quantised, name="b"), torch.from_numpy(scales, name="scale")
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    blocks = {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K}
    torch.launch("int8_matmul", dequantising_kernel[grid], a, b, scale, c, M, N, K, **blocks, num_stages=num_stages)
    torch.expect(c, lambda: widen(a.initial()) @ (quantised.astype(np.float32) * scales))
