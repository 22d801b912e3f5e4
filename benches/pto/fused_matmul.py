"""Fused product and activation on clusters: for each block a cube task and a vector task that share one cluster.

Parameters:
    blocks: blocks, each with a cluster of its own
    m: rows of a block's left operand
    k: columns of it, rows of the right one
    n: columns of a block's right operand
"""

import numpy as np

from kernbench.pto.api import (
    PTO2_SCOPE,
    PTO2_WORKER_CUBE,
    PTO2_WORKER_VECTOR,
    make_input_param,
    make_output_param,
    make_tensor,
    make_tensor_external,
    pto2_rt_allocate_cluster,
    pto2_rt_submit_task_clustered,
)
from kernbench.pto.kernels import Load, MatMul, Store, Vector


def matmul(a, b, mid):
    mid[...] = a.astype(np.float32) @ b.astype(np.float32)


def matmul_cost(a, b, mid):
    return [Load(a), Load(b), MatMul(a.shape[0], a.shape[1], b.shape[1]), Store(mid)]


def silu(mid, out):
    out[...] = mid / (1 + np.exp(-mid))


def silu_cost(mid, out):
    return [Load(mid), Vector(mid.nbytes, 4), Store(out)]


KERNELS = [
    {"func_id": 0, "name": "MATMUL", "core_type": "aic", "function": matmul, "cost": matmul_cost},
    {"func_id": 1, "name": "SILU", "core_type": "aiv", "function": silu, "cost": silu_cost},
]
ORCHESTRATION = {"function_name": "aicpu_orchestration_entry"}
RUNTIME_CONFIG = {"runtime": "tensormap_and_ringbuffer", "aicpu_thread_num": 4, "block_dim": 24}
ALL_CASES = {
    "Default": {"blocks": 48, "m": 64, "k": 256, "n": 128},
    "Small": {"blocks": 4, "m": 16, "k": 32, "n": 16},
}
__outputs__ = ("out",)
RTOL = ATOL = 1e-2


def aicpu_orchestration_entry(rt, args, arg_count):
    ptr_a, ptr_b, ptr_out, blocks, m, k, n = args
    a = make_tensor_external(ptr_a, (blocks * m, k), 2, "f16")
    b = make_tensor_external(ptr_b, (k, n), 2, "f16")
    out = make_tensor_external(ptr_out, (blocks * m, n), 2)
    for block in range(blocks):
        with PTO2_SCOPE(rt):
            fuse(rt, a.view((m, k), (block * m, 0)), b, out.view((m, n), (block * m, 0)))


def fuse(rt, a, b, out):
    """Submit the two tasks of a block; the end of the scope frees their cluster."""
    cluster = pto2_rt_allocate_cluster(rt)
    mid = make_tensor(out.shape, 2)
    cube = [make_input_param(a), make_input_param(b), make_output_param(mid)]
    pto2_rt_submit_task_clustered(rt, 0, PTO2_WORKER_CUBE, cube, 3, cluster)
    vector = [make_input_param(mid), make_output_param(out)]
    pto2_rt_submit_task_clustered(rt, 1, PTO2_WORKER_VECTOR, vector, 2, cluster)


def generate_inputs(params):
    random = np.random.default_rng(3)
    blocks, m, k, n = (params[name] for name in ("blocks", "m", "k", "n"))
    a, b = (random.uniform(-1, 1, shape).astype(np.float16) for shape in ((blocks * m, k), (k, n)))
    sizes = [(name, params[name]) for name in ("blocks", "m", "k", "n")]
    return [("a", a), ("b", b), ("out", np.zeros((blocks * m, n), np.float32)), *sizes]


def compute_golden(tensors, params):
    mid = tensors["a"].astype(np.float32) @ tensors["b"].astype(np.float32)
    tensors["out"][:] = mid / (1 + np.exp(-mid))
