"""C = A @ B where C has few blocks: more programs than blocks work on it, and add their parts with atomics.

Split-K cuts the sum of each block into equal parts, each a program of its own. Stream-K gives a fixed number of programs equal
shares of all steps of all blocks, so a share may begin in one block and end in another. Both add in memory: C is f32 and
begins as zeros. Scheme of stream-K: M. Osama, D. Merrill, C. Cecka, M. Garland and J. Owens, "Stream-K", PPoPP 2023.

`tl` has no twin: it has no atomics. Its `matmul-composite` cuts C by rows and columns alone.
"""

from __future__ import annotations

import triton
import triton.language as tl

from kernbench import DPPolicy, InputError, bench
from kernbench.dtypes import widen

SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


@triton.jit
def split_k_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT_K: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    part = tl.program_id(1)
    blocks_n = tl.cdiv(N, BLOCK_N)
    rows = (pid // blocks_n) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = (pid % blocks_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = part * BLOCK_K + tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rows % M)[:, None] * K + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * N + (columns % N)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K * SPLIT_K)):
        left = K - k * BLOCK_K * SPLIT_K
        a = tl.load(a_ptrs, mask=inner[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < left, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K * SPLIT_K
        b_ptrs += BLOCK_K * SPLIT_K * N
    c_ptrs = c_ptr + rows[:, None] * N + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    if SPLIT_K == 1:
        tl.store(c_ptrs, total, mask=inside)
    else:
        tl.atomic_add(c_ptrs, total, mask=inside)


@triton.jit
def add_part(
    a_ptr, b_ptr, c_ptr, M, N, K, block, first, end,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Add the steps from `first` to `end` of the sum of one block of C."""
    blocks_n = tl.cdiv(N, BLOCK_N)
    rows = (block // blocks_n) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = (block % blocks_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = first * BLOCK_K + tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rows % M)[:, None] * K + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * N + (columns % N)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(first, end):
        left = K - step * BLOCK_K
        a = tl.load(a_ptrs, mask=tl.arange(0, BLOCK_K)[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=tl.arange(0, BLOCK_K)[:, None] < left, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(c_ptr + rows[:, None] * N + columns[None, :], total, mask=inside)


@triton.jit
def stream_k_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    steps = tl.cdiv(K, BLOCK_K)  # of a block
    every = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N) * steps
    at = pid * every // programs
    end = (pid + 1) * every // programs
    while at < end:
        block = at // steps
        stop = min(end, (block + 1) * steps)
        add_part(
            a_ptr, b_ptr, c_ptr, M, N, K, block, at - block * steps, stop - block * steps, BLOCK_M, BLOCK_N, BLOCK_K
        )
        at = stop


@bench("triton-split-k", "A GEMM of few blocks and a long sum, which programs share and add with atomics")
def split_k(torch, *, M=128, N=128, K=2048, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, SPLIT_K=8, num_stages=2, dtype="f16"):
    """A program for each block of C and each part of its sum.

    Parameters:
        M: rows of A and C
        N: columns of B and C
        K: columns of A, rows of B
        BLOCK_M: rows of a block of C
        BLOCK_N: columns of a block of C
        BLOCK_K: columns of A and rows of B that a program loads at once
        SPLIT_K: parts of the sum of a block
        num_stages: iterations whose loads are under way at once
        dtype: type of elements of A and B
    """
    grid = (triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N), SPLIT_K)
    blocks = {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K, "SPLIT_K": SPLIT_K}
    multiply(torch, "split_k", split_k_kernel[grid], M, N, K, blocks, num_stages, dtype)


@bench("triton-stream-k", "A GEMM whose steps a fixed number of programs share evenly")
def stream_k(
    torch, *, M=192, N=192, K=1024, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, programs=16, num_stages=2, dtype="f16"
):
    """Equal shares of all steps of all blocks, for as many programs as are asked for.

    Parameters:
        M: rows of A and C
        N: columns of B and C
        K: columns of A, rows of B
        BLOCK_M: rows of a block of C
        BLOCK_N: columns of a block of C
        BLOCK_K: columns of A and rows of B that a program loads at once
        programs: programs of the grid
        num_stages: iterations whose loads are under way at once
        dtype: type of elements of A and B
    """
    blocks = {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K}
    multiply(torch, "stream_k", stream_k_kernel[(programs,)], M, N, K, blocks, num_stages, dtype)


def multiply(torch, name, kernel, m, n, k, blocks, num_stages, dtype):
    """Launch a kernel that adds to C, and say what C must be."""
    if min(m, n, k) < 1:
        raise InputError(f"triton-{name.replace('_', '-')} got M={m}, N={n}, K={k}; each must be 1 or more")
    a, b = torch.randn((m, k), dtype, name="a"), torch.randn((k, n), dtype, name="b")
    c = torch.zeros((m, n), "f32", SPLIT, name="c")
    torch.launch(name, kernel, a, b, c, m, n, k, **blocks, num_stages=num_stages)
    torch.expect(c, lambda: widen(a.initial()) @ widen(b.initial()), tolerance=2e-3)
