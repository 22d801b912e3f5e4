"""An SPMD call of block_dim blocks: each normalises its own rows, and a last task adds up what all have found.

Parameters:
    rows: rows
    cols: columns
    block_dim: blocks, which share the rows
"""

import numpy as np

from kernbench.pto.api import (
    PTO2_WORKER_VECTOR,
    block_incore,
    make_input_param,
    make_output_param,
    make_tensor,
    make_tensor_external,
    pto2_rt_submit_task,
)
from kernbench.pto.kernels import Load, Store, Vector


def normalise(rows, sums, block_dim, block_id):
    part = np.array_split(np.arange(len(rows)), block_dim)[block_id]
    sums[part] = np.sqrt((rows[part].astype(np.float32) ** 2).mean(axis=1))


def normalise_cost(rows, sums, block_dim, block_id):
    share = -(-rows.shape[0] // block_dim)
    part = rows.view((min(share, rows.shape[0]), rows.shape[1]), (0, 0))
    return [Load(part), Vector(part.nbytes, 2), Store(sums.view((part.shape[0],), (0,)))]


def add_up(sums, out):
    out[0] = sums.sum()


KERNELS = [
    {"func_id": 0, "name": "NORM", "core_type": "aiv", "function": normalise, "cost": normalise_cost},
    {"func_id": 1, "name": "SUM", "core_type": "aiv", "function": add_up},
]
ORCHESTRATION = {"function_name": "aicpu_orchestration_entry"}
RUNTIME_CONFIG = {"runtime": "tensormap_and_ringbuffer", "aicpu_thread_num": 4, "block_dim": 24}
ALL_CASES = {
    "Default": {"rows": 1024, "cols": 256, "block_dim": 48},
    "Small": {"rows": 32, "cols": 16, "block_dim": 4},
}
__outputs__ = ("out",)
RTOL = ATOL = 1e-3


def aicpu_orchestration_entry(rt, args, arg_count):
    ptr_rows, ptr_out, rows, cols, block_dim = args
    data = make_tensor_external(ptr_rows, (rows, cols), 2, "f16")
    out = make_tensor_external(ptr_out, (1,), 1)
    sums = make_tensor((rows,), 1)
    block_incore(rt, 0, PTO2_WORKER_VECTOR, [make_input_param(data), make_output_param(sums)], block_dim)
    pto2_rt_submit_task(rt, 1, PTO2_WORKER_VECTOR, [make_input_param(sums), make_output_param(out)], 2)


def generate_inputs(params):
    rows, cols = params["rows"], params["cols"]
    data = np.random.default_rng(5).uniform(-1, 1, (rows, cols)).astype(np.float16)
    return [("rows", data), ("out", np.zeros(1, np.float32)), ("n", rows), ("m", cols), ("dim", params["block_dim"])]


def compute_golden(tensors, params):
    tensors["out"][0] = np.sqrt((tensors["rows"].astype(np.float32) ** 2).mean(axis=1)).sum()
