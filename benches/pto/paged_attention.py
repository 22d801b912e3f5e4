"""Batched paged attention with an online softmax: HUB for each chunk of 16 sequences, then QK, SF, PV and UP for each block.

Parameters:
    batch: sequences
    num_heads: heads
    head_dim: elements of a head
    context_len: tokens of each sequence; 0: lengths that differ
    block_size: tokens of a block
"""

import os

import numpy as np

from kernbench.pto.api import (
    PTO2_SCOPE,
    PTO2_WORKER_CUBE,
    PTO2_WORKER_VECTOR,
    make_inout_param,
    make_input_param,
    make_output_param,
    make_scalar_param,
    make_tensor,
    make_tensor_external,
    pto2_rt_submit_task,
)
from kernbench.pto.kernels import Load, MatMul, Store, Vector

IN_CORE_BATCH = 16
LEAST = np.float32(-1e30)


def hub(oi, li, mi):
    oi[...], li[...], mi[...] = 0, 0, LEAST


def blocks_of(cache, table, lens, bn):
    """The rows of the cache that each sequence of a chunk has in its block bn, and which of them are valid."""
    rows = cache[table[:, bn]].astype(np.float32)
    position = bn * cache.shape[1] + np.arange(cache.shape[1])
    return rows, position[None, :] < lens[:, None]


def qk(query, cache, table, lens, sij, bn):
    rows, _ = blocks_of(cache, table, lens, bn)
    sij[...] = np.einsum("bhd,btd->bht", query.astype(np.float32), rows) / np.sqrt(np.float32(query.shape[2]))


def softmax(sij, lens, pij, mij, lij, bn):
    valid = bn * sij.shape[2] + np.arange(sij.shape[2])[None, :] < lens[:, None]
    scores = np.where(valid[:, None, :], sij, LEAST)
    mij[...] = scores.max(axis=2)
    p = np.where(valid[:, None, :], np.exp(scores - mij[:, :, None]), np.float32(0))
    pij[...] = p
    lij[...] = p.sum(axis=2)


def pv(pij, cache, table, lens, oi_new, bn):
    rows, _ = blocks_of(cache, table, lens, bn)
    oi_new[...] = np.einsum("bht,btd->bhd", pij, rows)


def update(mij, lij, oi_new, mi, li, oi, out, is_last):
    m = np.maximum(mi, mij)
    old, new = np.exp(mi - m), np.exp(mij - m)
    li[...] = old * li + new * lij
    oi[...] = old[:, :, None] * oi + new[:, :, None] * oi_new
    mi[...] = m
    if is_last:
        out[...] = oi / li[:, :, None]


def block_of(tensor, cache):
    """The part of the cache that a task reads: a block for each sequence, as a region of as many bytes."""
    batch = min(tensor.shape[0], cache.shape[0])
    return cache.view((batch, *cache.shape[1:]), (0,) * len(cache.shape))


def qk_cost(query, cache, table, lens, sij, bn):
    batch, heads, dim = query.shape
    return [Load(query), Load(block_of(query, cache)), MatMul(batch * heads, dim, sij.shape[2]), Store(sij)]


def softmax_cost(sij, lens, pij, mij, lij, bn):
    return [Load(sij), Vector(sij.nbytes, 6), Store(pij), Store(mij), Store(lij)]


def pv_cost(pij, cache, table, lens, oi_new, bn):
    batch, heads, block = pij.shape
    product = MatMul(batch * heads, block, oi_new.shape[2], pij.dtype.itemsize)
    return [Load(pij), Load(block_of(pij, cache)), product, Store(oi_new)]


def update_cost(mij, lij, oi_new, mi, li, oi, out, is_last):
    loads = [Load(each) for each in (mij, lij, oi_new, mi, li, oi)]
    stores = [Store(each) for each in ((mi, li, oi, out) if is_last else (mi, li, oi))]
    return [*loads, Vector(oi.nbytes, 4), *stores]


KERNELS = [
    {"func_id": 0, "name": "QK", "core_type": "aic", "function": qk, "cost": qk_cost},
    {"func_id": 1, "name": "SF", "core_type": "aiv", "function": softmax, "cost": softmax_cost},
    {"func_id": 2, "name": "PV", "core_type": "aic", "function": pv, "cost": pv_cost},
    {"func_id": 3, "name": "UP", "core_type": "aiv", "function": update, "cost": update_cost},
    {"func_id": 5, "name": "AIV_HUB", "core_type": "aiv", "function": hub},
]
ORCHESTRATION = {"function_name": "aicpu_orchestration_entry"}
RUNTIME_CONFIG = {"runtime": "tensormap_and_ringbuffer", "aicpu_thread_num": 4, "block_dim": 24}
ALL_CASES = {
    "Case1": {"batch": 1, "num_heads": 16, "head_dim": 16, "context_len": 16, "block_size": 16},
    "CaseBatch256": {"batch": 256, "num_heads": 1, "head_dim": 256, "context_len": 16, "block_size": 6},
    "CaseVaried": {"batch": 40, "num_heads": 4, "head_dim": 64, "context_len": 0, "block_size": 32},
}
__outputs__ = ("out",)
RTOL = ATOL = 1e-3


def aicpu_orchestration_entry(rt, args, arg_count):
    *pointers, batch, heads, dim, block, max_bn = args
    ptr_query, ptr_key, ptr_value, ptr_table, ptr_lens, ptr_out = pointers
    query = make_tensor_external(ptr_query, (batch, heads, dim), 3, "f16")
    keys, values = (make_tensor_external(ptr, (batch * max_bn, block, dim), 3, "f16") for ptr in (ptr_key, ptr_value))
    table = make_tensor_external(ptr_table, (batch, max_bn), 2, "i32")
    lens = make_tensor_external(ptr_lens, (batch,), 1, "i32")
    out = make_tensor_external(ptr_out, (batch, heads, dim), 3)
    for start in range(0, batch, IN_CORE_BATCH):
        size = min(IN_CORE_BATCH, batch - start)
        with PTO2_SCOPE(rt):
            chunk = {
                "query": query.view((size, heads, dim), (start, 0, 0)),
                "table": table.view((size, max_bn), (start, 0)),
                "lens": lens.view((size,), (start,)),
                "out": out.view((size, heads, dim), (start, 0, 0)),
            }
            attend(rt, chunk, keys, values, max_bn)


def attend(rt, chunk, keys, values, max_bn):
    """Submit the tasks of a chunk: 1 + 4 for each block."""
    size, heads, dim = chunk["query"].shape
    block, given, written, changed = keys.shape[1], make_input_param, make_output_param, make_inout_param
    oi, li, mi = make_tensor((size, heads, dim), 3), make_tensor((size, heads), 2), make_tensor((size, heads), 2)
    submit(rt, 5, PTO2_WORKER_VECTOR, written(oi), written(li), written(mi))
    for bn in range(max_bn):
        sij, pij = (make_tensor((size, heads, block), 3) for _ in range(2))
        mij, lij = (make_tensor((size, heads), 2) for _ in range(2))
        oi_new = make_tensor((size, heads, dim), 3)
        number, shared = make_scalar_param(bn), (given(chunk["table"]), given(chunk["lens"]))
        submit(rt, 0, PTO2_WORKER_CUBE, given(chunk["query"]), given(keys), *shared, written(sij), number)
        products = written(pij), written(mij), written(lij)
        submit(rt, 1, PTO2_WORKER_VECTOR, given(sij), given(chunk["lens"]), *products, number)
        submit(rt, 2, PTO2_WORKER_CUBE, given(pij), given(values), *shared, written(oi_new), number)
        sums = changed(mi), changed(li), changed(oi), changed(chunk["out"])
        last = make_scalar_param(int(bn == max_bn - 1))
        submit(rt, 3, PTO2_WORKER_VECTOR, given(mij), given(lij), given(oi_new), *sums, last)


def submit(rt, kernel, worker, *params):
    pto2_rt_submit_task(rt, kernel, worker, params, len(params))


def sequence_lengths(params):
    """The length of each sequence: as PA_SEQ_LEN lists them, or one for all, or from 1 to 128 in turn."""
    if listed := os.environ.get("PA_SEQ_LEN"):
        lens = [int(each) for each in listed.split(",")]
        return np.array([lens[at % len(lens)] for at in range(params["batch"])], np.int32)
    if params["context_len"]:
        return np.full(params["batch"], params["context_len"], np.int32)
    return (1 + 37 * np.arange(params["batch"]) % 128).astype(np.int32)


def generate_inputs(params):
    random = np.random.default_rng(7)
    batch, heads, dim, block = (params[name] for name in ("batch", "num_heads", "head_dim", "block_size"))
    lens = sequence_lengths(params)
    max_bn = int(-(-lens.max() // block))
    query = random.uniform(-1, 1, (batch, heads, dim)).astype(np.float16)
    keys, values = (random.uniform(-1, 1, (batch * max_bn, block, dim)).astype(np.float16) for _ in range(2))
    table = random.permutation(batch * max_bn).astype(np.int32).reshape(batch, max_bn)
    out = np.zeros((batch, heads, dim), np.float32)
    tensors = [("query", query), ("key_cache", keys), ("value_cache", values), ("block_table", table)]
    sizes = [("batch", batch), ("heads", heads), ("dim", dim), ("block", block), ("max_bn", max_bn)]
    return [*tensors, ("context_lens", lens), ("out", out), *sizes]


def compute_golden(tensors, params):
    dim = params["head_dim"]
    for at, length in enumerate(tensors["context_lens"]):
        rows = tensors["block_table"][at]
        keys = tensors["key_cache"][rows].reshape(-1, dim)[:length].astype(np.float32)
        values = tensors["value_cache"][rows].reshape(-1, dim)[:length].astype(np.float32)
        scores = tensors["query"][at].astype(np.float32) @ keys.T / np.sqrt(np.float32(dim))
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        tensors["out"][at] = weights / weights.sum(axis=1, keepdims=True) @ values
