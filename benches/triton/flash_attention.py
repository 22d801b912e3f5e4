"""Flash attention forward in Triton, with a causal mask: a block of queries a program, keys and values block by block.

Three running figures a query (largest score, sum of weights, weighted values) stand for the matrix of all scores (T. Dao,
D. Fu, S. Ermon, A. Rudra and C. Re, "FlashAttention", 2022). Blocks of keys before the block of queries need no mask, so a
causal program has two loops: those blocks, then the block on the diagonal.

The twin in `tl` is `attention-prefill`: it gives a tile of queries to a PE, loads block after block and waits for each. Here
loads of `num_stages` blocks are under way while others compute. Later blocks of queries see more keys, so the order in which
programs are dealt decides how even the work of PEs is.
"""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from kernbench import DPPolicy, InputError, bench
from kernbench.dtypes import widen

SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


@triton.jit
def attend(
    q, k_ptr, v_ptr, largest, total, values, first, end, rows, scale, tokens,
    HEAD_DIM: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Keys and values from `first` to `end`; with MASKED each query sees those up to its own token."""
    dims = tl.arange(0, HEAD_DIM)
    for start in range(first, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        inside = keys < tokens
        k = tl.load(k_ptr + keys[None, :] * HEAD_DIM + dims[:, None], mask=inside[None, :], other=0.0)
        scores = tl.dot(q, k) * scale
        visible = inside[None, :]
        if MASKED:
            visible = visible & (rows[:, None] >= keys[None, :])
        scores = tl.where(visible, scores, -1.0e6)
        highest = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - highest[:, None])
        kept = tl.exp2(largest - highest)
        total = total * kept + tl.sum(weights, 1)
        values = values * kept[:, None]
        v = tl.load(v_ptr + keys[:, None] * HEAD_DIM + dims[None, :], mask=inside[:, None], other=0.0)
        values = tl.dot(weights.to(v.dtype), v, values)
        largest = highest
    return largest, total, values


@triton.jit
def flash_attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, heads_of_group, tokens, scale,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    begin = tl.program_id(0) * BLOCK_M
    rows = begin + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD_DIM)
    q_ptrs = q_ptr + (head * tokens + rows)[:, None] * HEAD_DIM + dims[None, :]
    q = tl.load(q_ptrs, mask=rows[:, None] < tokens, other=0.0)
    of_head = (head // heads_of_group) * tokens * HEAD_DIM
    k_ptr += of_head
    v_ptr += of_head
    largest = tl.full((BLOCK_M,), -1.0e6, dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    values = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    if CAUSAL:
        diagonal = (begin // BLOCK_N) * BLOCK_N
        largest, total, values = attend(
            q, k_ptr, v_ptr, largest, total, values, 0, diagonal, rows, scale, tokens, HEAD_DIM, BLOCK_N, False
        )
        end = min(begin + BLOCK_M, tokens)
        largest, total, values = attend(
            q, k_ptr, v_ptr, largest, total, values, diagonal, end, rows, scale, tokens, HEAD_DIM, BLOCK_N, True
        )
    else:
        largest, total, values = attend(
            q, k_ptr, v_ptr, largest, total, values, 0, tokens, rows, scale, tokens, HEAD_DIM, BLOCK_N, False
        )
    o = values / total[:, None]
    o_ptrs = o_ptr + (head * tokens + rows)[:, None] * HEAD_DIM + dims[None, :]
    tl.store(o_ptrs, o.to(o_ptr.dtype.element_ty), mask=rows[:, None] < tokens)


@bench(
    "triton-flash-attention",
    "Attention over whole prompts, grouped queries, a causal mask, online softmax",
    choices={"order": ("xyz", "yxz"), "dealing": ("cyclic", "blocked")},
)
def run(
    torch,
    *,
    heads=8,
    kv_heads=2,
    tokens=256,
    head_dim=64,
    BLOCK_M=64,
    BLOCK_N=64,
    causal=True,
    num_stages=2,
    order="xyz",
    dealing="cyclic",
    dtype="f16",
):
    """A program for each head and each block of queries.

    Parameters:
        heads: heads of queries
        kv_heads: heads of keys and values, each shared by as many heads of queries
        tokens: tokens of the prompt
        head_dim: elements of a head, a power of two
        BLOCK_M: queries of a program
        BLOCK_N: keys and values that a program loads at once
        causal: a token sees those before it and itself
        num_stages: iterations whose loads are under way at once
        order: which programs follow each other: the blocks of queries of a head (xyz), or the heads of a block (yxz)
        dealing: how programs are dealt to PEs
        dtype: type of elements
    """
    if heads % kv_heads:
        raise InputError(f"triton-flash-attention got heads={heads} and kv_heads={kv_heads}; give a multiple")
    q = torch.randn((heads, tokens, head_dim), dtype, name="q")
    k, v = (torch.randn((kv_heads, tokens, head_dim), dtype, name=name) for name in "kv")
    o = torch.zeros((heads, tokens, head_dim), dtype, SPLIT, name="o")
    scale = head_dim**-0.5 * 1.4426950408889634  # of powers of two
    grid = (triton.cdiv(tokens, BLOCK_M), heads)
    sizes = {"HEAD_DIM": head_dim, "BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "CAUSAL": causal}
    arguments = (q, k, v, o, heads // kv_heads, tokens, scale)
    options = {"num_stages": num_stages, "order": order, "dealing": dealing}
    torch.launch("flash_attention", flash_attention_kernel[grid], *arguments, **sizes, **options)
    torch.expect(o, lambda: reference(q.initial(), k.initial(), v.initial(), causal), tolerance=5e-3)


def reference(q, k, v, causal):
    """Softmax of all scores at once, in f32."""
    group = len(q) // len(k)
    q, k, v = widen(q), np.repeat(widen(k), group, axis=0), np.repeat(widen(v), group, axis=0)
    scores = q @ k.swapaxes(1, 2) * q.shape[-1] ** -0.5
    if causal:
        scores = np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v
