"""Flash attention coupled by FIFOs: the cube core pushes scores and products, the vector cores push weights and add up.

Parameters:
    queries: queries
    keys: keys and values
    dim: elements of a head
    rows: queries of a block
    block: keys at a time
"""

import numpy as np

from kernbench.pto.api import (
    PTO2_WORKER_CUBE,
    make_inout_param,
    make_input_param,
    make_output_param,
    make_scalar_param,
    make_tensor,
    make_tensor_external,
    pto2_rt_submit_task,
)
from kernbench.pto.tpipe import Direction, TileSplitAxis, TPipe, global_tensor

LEAST = np.float32(-1e30)
SLOTS, VECTORS = 2, 2
UP_DOWN = TileSplitAxis.TILE_UP_DOWN


def pipes(fifo, rows, keys, dim):
    """Scores from cube to vector, weights back, products from cube to vector: a pipe and a stretch of memory for each."""
    found, at = [], fifo
    sizes = (("C2V", 4 * rows * keys), ("V2C", 4 * rows * keys), ("C2V", 4 * rows * dim))
    for number, (way, nbytes) in enumerate(sizes):
        found.append(TPipe(2 * number, Direction[f"DIR_{way}"], nbytes, SLOTS, at))
        at += SLOTS * nbytes
    return found


def cube(core, q, k, v, out, fifo, rows, keys, dim, blocks):
    scores, weights, products = pipes(fifo, rows, keys, dim)
    query = core.TLOAD(global_tensor(q + 2 * core.block_id * rows * dim, (rows, dim), None, "f16"))
    for block in range(blocks):
        at = 2 * block * keys * dim
        core.TPUSH(scores, core.TMATMUL(query, core.TLOAD(global_tensor(k + at, (keys, dim), None, "f16")).T))
        weight = core.TPOP_TILE(weights, (rows, keys))
        core.TPUSH(products, core.TMATMUL(weight, core.TLOAD(global_tensor(v + at, (keys, dim), None, "f16"))))


def vector(core, q, k, v, out, fifo, rows, keys, dim, blocks):
    scores, weights, products = pipes(fifo, rows, keys, dim)
    own = rows // VECTORS
    largest, total = np.full(own, LEAST), np.zeros(own, np.float32)
    acc = np.zeros((own, dim), np.float32)
    for _ in range(blocks):
        s = core.TPOP_TILE(scores, (own, keys), "f32", UP_DOWN) / np.sqrt(np.float32(dim))
        new = np.maximum(largest, s.max(axis=1))
        p = core.TVEC(lambda s, new: np.exp(s - new[:, None]), s, new, passes=4)
        core.TPUSH(weights, p.astype(np.float32), UP_DOWN)
        scale = np.exp(largest - new)
        total, largest = scale * total + p.sum(axis=1), new
        product = core.TPOP_TILE(products, (own, dim), "f32", UP_DOWN)
        acc = core.TVEC(lambda acc, scale, product: acc * scale[:, None] + product, acc, scale, product, passes=2)
    first = core.block_id * rows + core.get_subblockid() * own
    core.TSTORE(global_tensor(out + 4 * first * dim, (own, dim)), acc / total[:, None])


KERNELS = [{"func_id": 0, "name": "FLASH", "core_type": "mix", "cube": cube, "vector": vector}]
ORCHESTRATION = {"function_name": "aicpu_orchestration_entry"}
RUNTIME_CONFIG = {"runtime": "tensormap_and_ringbuffer", "aicpu_thread_num": 4, "block_dim": 24}
ALL_CASES = {
    "Default": {"queries": 768, "keys": 512, "dim": 128, "rows": 32, "block": 128},
    "Small": {"queries": 64, "keys": 64, "dim": 16, "rows": 16, "block": 16},
}
__outputs__ = ("out",)
RTOL = ATOL = 1e-3


def aicpu_orchestration_entry(rt, args, arg_count):
    ptr_q, ptr_k, ptr_v, ptr_out, queries, keys, dim, rows, block = args
    k, v = (make_tensor_external(ptr, (keys, dim), 2, "f16") for ptr in (ptr_k, ptr_v))
    for tile in range(queries // rows):
        at = tile * rows
        q = make_tensor_external(ptr_q + 2 * at * dim, (rows, dim), 2, "f16")
        out = make_tensor_external(ptr_out + 4 * at * dim, (rows, dim), 2)
        fifo = make_tensor((SLOTS * rows * (2 * block + dim),), 1)
        tensors = [make_input_param(each) for each in (q, k, v)]
        sizes = [make_scalar_param(each) for each in (rows, block, dim, keys // block)]
        params = [*tensors, make_inout_param(out), make_output_param(fifo), *sizes]
        pto2_rt_submit_task(rt, 0, PTO2_WORKER_CUBE, params, len(params))


def generate_inputs(params):
    random = np.random.default_rng(11)
    queries, keys, dim = params["queries"], params["keys"], params["dim"]
    q, k, v = (random.uniform(-1, 1, (n, dim)).astype(np.float16) for n in (queries, keys, keys))
    sizes = [(name, params[name]) for name in ("queries", "keys", "dim", "rows", "block")]
    return [("q", q), ("k", k), ("v", v), ("out", np.zeros((queries, dim), np.float32)), *sizes]


def compute_golden(tensors, params):
    q, k, v = (tensors[name].astype(np.float32) for name in "qkv")
    scores = q @ k.T / np.sqrt(np.float32(q.shape[1]))
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    tensors["out"][:] = weights / weights.sum(axis=1, keepdims=True) @ v
