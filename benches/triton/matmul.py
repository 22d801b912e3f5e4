"""C = activation(A @ B + bias) in Triton: blocks of C in a grouped order, a loop over K, an epilogue.

The twin in `tl` is `matmul-composite`: there each PE has one block of C, and one command streams its tiles through the engines.
Here a program has one block, the accumulator is a block in scratch that each product reads and writes, and loads come in the
blocks of the kernel. So the twin measures the engines, and this one what the blocks cost.
"""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from kernbench import DPPolicy, InputError, bench
from kernbench.dtypes import widen

ACTIVATIONS = ("none", "relu", "leaky_relu")
SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, bias_ptr,
    M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    ACTIVATION: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    blocks_m = tl.cdiv(M, BLOCK_M)
    blocks_n = tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * blocks_n  # programs of a group of rows of blocks
    first_m = (pid // in_group) * GROUP_M
    rows_of_group = min(blocks_m - first_m, GROUP_M)
    pid_m = first_m + (pid % in_group) % rows_of_group
    pid_n = (pid % in_group) // rows_of_group

    rows = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=inner[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < K - k * BLOCK_K, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    out_rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    out_columns = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    bias = tl.load(bias_ptr + out_columns, mask=out_columns < N, other=0.0)
    total += bias[None, :].to(tl.float32)
    if ACTIVATION == "relu":
        total = tl.maximum(total, 0.0)
    if ACTIVATION == "leaky_relu":
        total = tl.where(total >= 0, total, 0.01 * total)
    c = total.to(c_ptr.dtype.element_ty)
    c_ptrs = c_ptr + out_rows[:, None] * stride_cm + out_columns[None, :] * stride_cn
    tl.store(c_ptrs, c, mask=(out_rows[:, None] < M) & (out_columns[None, :] < N))


@bench(
    "triton-matmul",
    "A GEMM with bias and activation, blocks in a grouped order",
    choices={"activation": ACTIVATIONS, "operands": ("replicated", "split")},
)
def run(
    torch,
    *,
    M=512,
    N=512,
    K=512,
    BLOCK_M=128,
    BLOCK_N=128,
    BLOCK_K=32,
    GROUP_M=8,
    num_stages=3,
    activation="relu",
    operands="replicated",
    dtype="f16",
):
    """A program for each block of C.

    Parameters:
        M: rows of A and C
        N: columns of B and C
        K: columns of A, rows of B
        BLOCK_M: rows of a block of C
        BLOCK_N: columns of a block of C
        BLOCK_K: columns of A and rows of B that a program loads at once
        GROUP_M: rows of blocks whose programs follow each other
        num_stages: iterations whose loads are under way at once
        activation: what the epilogue does with a sum
        operands: A and B have a copy at each PE (replicated), or their rows are split over all PEs
        dtype: type of elements
    """
    if min(M, N, K) < 1:
        raise InputError(f"triton-matmul got M={M}, N={N}, K={K}; each must be 1 or more")
    where = None if operands == "replicated" else SPLIT
    a = torch.randn((M, K), dtype, where, name="a")
    b = torch.randn((K, N), dtype, where, name="b")
    bias = torch.randn((N,), dtype, None, name="bias")
    c = torch.zeros((M, N), dtype, SPLIT, name="c")
    blocks = {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K, "GROUP_M": GROUP_M}
    strides = (K, 1, N, 1, N, 1)
    grid = (triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)
    torch.launch(
        "matmul",
        matmul_kernel[grid],
        a,
        b,
        c,
        bias,
        M,
        N,
        K,
        *strides,
        **blocks,
        ACTIVATION=activation,
        num_stages=num_stages,
    )
    torch.expect(c, lambda: reference(a.initial(), b.initial(), bias.initial(), activation))


def reference(a, b, bias, activation):
    """The product in f32, without blocks."""
    total = widen(a) @ widen(b) + widen(bias)
    if activation == "none":
        return total
    return np.where(total >= 0, total, (0.01 if activation == "leaky_relu" else 0) * total)
