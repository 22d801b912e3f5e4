"""C = A B in tiles: a cube task for each product of two tiles, a vector task that adds it to its tile of C.

Parameters:
    m: rows of A and C
    k: columns of A, rows of B
    n: columns of B and C
    tile: rows and columns of a tile
"""

import numpy as np

from kernbench.pto.api import (
    PTO2_SCOPE,
    PTO2_WORKER_CUBE,
    PTO2_WORKER_VECTOR,
    make_inout_param,
    make_input_param,
    make_output_param,
    make_tensor,
    make_tensor_external,
    pto2_rt_submit_task,
)
from kernbench.pto.kernels import Load, MatMul, Store


def gemm(a, b, p):
    p[...] = a.astype(np.float32) @ b.astype(np.float32)


def gemm_cost(a, b, p):
    return [Load(a), Load(b), MatMul(a.shape[0], a.shape[1], b.shape[1]), Store(p)]


def add(p, c):
    c += p


KERNELS = [
    {"func_id": 0, "name": "GEMM", "core_type": "aic", "function": gemm, "cost": gemm_cost},
    {"func_id": 1, "name": "ADD", "core_type": "aiv", "function": add},
]
ORCHESTRATION = {"function_name": "aicpu_orchestration_entry"}
RUNTIME_CONFIG = {"runtime": "tensormap_and_ringbuffer", "aicpu_thread_num": 4, "block_dim": 24}
ALL_CASES = {
    "Default": {"m": 512, "k": 512, "n": 512, "tile": 128},
    "Small": {"m": 64, "k": 96, "n": 64, "tile": 32},
}
__outputs__ = ("c",)
RTOL = ATOL = 1e-2


def aicpu_orchestration_entry(rt, args, arg_count):
    ptr_a, ptr_b, ptr_c, m, k, n, tile = args
    a = make_tensor_external(ptr_a, (m, k), 2, "f16")
    b = make_tensor_external(ptr_b, (k, n), 2, "f16")
    c = make_tensor_external(ptr_c, (m, n), 2)
    for row in range(0, m, tile):
        for col in range(0, n, tile):
            with PTO2_SCOPE(rt):
                out = c.view((tile, tile), (row, col))
                for step in range(0, k, tile):
                    p = make_tensor((tile, tile), 2)
                    left = make_input_param(a.view((tile, tile), (row, step)))
                    right = make_input_param(b.view((tile, tile), (step, col)))
                    pto2_rt_submit_task(rt, 0, PTO2_WORKER_CUBE, [left, right, make_output_param(p)], 3)
                    pto2_rt_submit_task(rt, 1, PTO2_WORKER_VECTOR, [make_input_param(p), make_inout_param(out)], 2)


def generate_inputs(params):
    random = np.random.default_rng(1)
    m, k, n = params["m"], params["k"], params["n"]
    a, b = (random.uniform(-1, 1, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    sizes = [(name, params[name]) for name in ("m", "k", "n", "tile")]
    return [("a", a), ("b", b), ("c", np.zeros((m, n), np.float32)), *sizes]


def compute_golden(tensors, params):
    tensors["c"][:] = tensors["a"].astype(np.float32) @ tensors["b"].astype(np.float32)
