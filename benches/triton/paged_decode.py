"""Attention of one new token a sequence in Triton, its keys and values in pages that a table finds.

Pages of a cache lie anywhere, as PagedAttention has them (W. Kwon et al., "Efficient memory management for large language model
serving with PagedAttention", SOSP 2023). A program has one sequence and the queries that share one head of keys and values. Its
loop is as long as its sequence, and the addresses of a page are read from memory: so it runs live.

The twin in `tl` is `attention-decode`, whose cache is one piece: it reads no table, and cuts long contexts among PEs.
"""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from kernbench import DPPolicy, bench
from kernbench.dtypes import widen

SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


@triton.jit
def paged_decode_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, table_ptr, lengths_ptr, pages_of_sequence, scale,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, PAGE: tl.constexpr,
):  # fmt: skip
    sequence = tl.program_id(0)
    head = tl.program_id(1)
    kv_heads = tl.num_programs(1)
    length = tl.load(lengths_ptr + sequence)
    queries = tl.arange(0, GROUP)
    dims = tl.arange(0, HEAD_DIM)
    slots = tl.arange(0, PAGE)
    q_at = ((sequence * kv_heads + head) * GROUP + queries)[:, None] * HEAD_DIM + dims[None, :]
    q = tl.load(q_ptr + q_at)
    largest = tl.full((GROUP,), -1.0e6, dtype=tl.float32)
    total = tl.zeros((GROUP,), dtype=tl.float32)
    values = tl.zeros((GROUP, HEAD_DIM), dtype=tl.float32)
    for page in range(tl.cdiv(length, PAGE)):
        place = tl.load(table_ptr + sequence * pages_of_sequence + page)
        at = (place * kv_heads + head) * PAGE * HEAD_DIM
        inside = page * PAGE + slots < length
        k = tl.load(k_ptr + at + slots[None, :] * HEAD_DIM + dims[:, None])
        scores = tl.where(inside[None, :], tl.dot(q, k) * scale, -1.0e6)
        highest = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - highest[:, None])
        kept = tl.exp2(largest - highest)
        v = tl.load(v_ptr + at + slots[:, None] * HEAD_DIM + dims[None, :])
        values = values * kept[:, None] + tl.dot(weights.to(v.dtype), v)
        total = total * kept + tl.sum(weights, 1)
        largest = highest
    tl.store(o_ptr + q_at, (values / total[:, None]).to(o_ptr.dtype.element_ty))


@bench("triton-paged-decode", "Attention of one new token a sequence over a cache in pages", live=True)
def run(
    torch, *, sequences=4, kv_heads=2, group=16, head_dim=64, page=16, longest=96, shared=1, num_stages=2, dtype="f16"
):
    """A program for each sequence and each head of keys and values.

    Parameters:
        sequences: sequences, of lengths from a quarter of the longest on
        kv_heads: heads of keys and values
        group: heads of queries that share one of these
        head_dim: elements of a head, a power of two
        page: tokens of a page
        longest: tokens of the longest sequence
        shared: pages at the start that all sequences share, as a common prompt
        num_stages: iterations whose loads are under way at once
        dtype: type of elements
    """
    rng = np.random.default_rng(7)
    lengths = np.linspace(max(1, longest // 4), longest, sequences).astype(np.int32)
    pages = -(-longest // page)
    shared = min(shared, pages)
    places = rng.permutation(sequences * pages).astype(np.int32)
    table = places.reshape(sequences, pages)
    table[:, :shared] = table[0, :shared]
    q = torch.randn((sequences, kv_heads, group, head_dim), dtype, SPLIT, name="q")
    k, v = (torch.randn((sequences * pages, kv_heads, page, head_dim), dtype, SPLIT, name=name) for name in "kv")
    o = torch.zeros((sequences, kv_heads, group, head_dim), dtype, SPLIT, name="o")
    tables = torch.from_numpy(table, name="table"), torch.from_numpy(lengths, name="lengths")
    scale = head_dim**-0.5 * 1.4426950408889634  # of powers of two
    sizes = {"GROUP": group, "HEAD_DIM": head_dim, "PAGE": page}
    kernel = paged_decode_kernel[(sequences, kv_heads)]
    torch.launch("paged_decode", kernel, q, k, v, o, *tables, pages, scale, **sizes, num_stages=num_stages)
    torch.expect(o, lambda: reference(q.initial(), k.initial(), v.initial(), table, lengths), tolerance=5e-3)


def reference(q, k, v, table, lengths):
    """Each sequence by itself, its pages put together, in f32."""
    out = np.zeros(q.shape, np.float32)
    for sequence, length in enumerate(lengths):
        for head in range(q.shape[1]):
            keys, cached = (widen(one)[table[sequence], head].reshape(-1, q.shape[-1])[:length] for one in (k, v))
            scores = widen(q[sequence, head]) @ keys.T * q.shape[-1] ** -0.5
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            out[sequence, head] = weights / weights.sum(axis=-1, keepdims=True) @ cached
    return out
