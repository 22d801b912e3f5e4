"""Five vector tasks: f = (a + b + 1)(a + b + 2) + (a + b); with a = 2 and b = 3 it is 47.

Parameters:
    rows: rows of a and b
    cols: columns of a and b
"""

import numpy as np

from kernbench.pto.api import (
    PTO2_SCOPE,
    PTO2_WORKER_VECTOR,
    make_input_param,
    make_output_param,
    make_scalar_param,
    make_tensor,
    make_tensor_external,
    pto2_rt_orchestration_done,
    pto2_rt_submit_task,
)


def add(a, b, out):
    out[...] = a + b


def add_scalar(a, scalar, out):
    out[...] = a + np.float32(scalar)


def multiply(a, b, out):
    out[...] = a * b


KERNELS = [
    {"func_id": 0, "name": "ADD", "core_type": "aiv", "function": add},
    {"func_id": 1, "name": "ADD_SCALAR", "core_type": "aiv", "function": add_scalar},
    {"func_id": 2, "name": "MUL", "core_type": "aiv", "function": multiply},
]
ORCHESTRATION = {"function_name": "aicpu_orchestration_entry"}
RUNTIME_CONFIG = {"runtime": "tensormap_and_ringbuffer", "aicpu_thread_num": 4, "block_dim": 24}
ALL_CASES = {"Default": {"rows": 128, "cols": 128}, "Small": {"rows": 16, "cols": 16}}
__outputs__ = ("f",)


def aicpu_orchestration_entry(rt, args, arg_count):
    ptr_a, ptr_b, ptr_f, size = args
    a, b, f = (make_tensor_external(ptr, (size,), 1) for ptr in (ptr_a, ptr_b, ptr_f))
    c, d, e, g = (make_tensor((size,), 1) for _ in range(4))
    with PTO2_SCOPE(rt):
        submit(rt, 0, make_input_param(a), make_input_param(b), make_output_param(c))
        submit(rt, 1, make_input_param(c), make_scalar_param(1.0), make_output_param(d))
        submit(rt, 1, make_input_param(c), make_scalar_param(2.0), make_output_param(e))
        submit(rt, 2, make_input_param(d), make_input_param(e), make_output_param(g))
        submit(rt, 0, make_input_param(g), make_input_param(c), make_output_param(f))
    pto2_rt_orchestration_done(rt)


def submit(rt, kernel, *params):
    pto2_rt_submit_task(rt, kernel, PTO2_WORKER_VECTOR, params, len(params))


def generate_inputs(params):
    size = params["rows"] * params["cols"]
    a, b, f = (np.full(size, value, np.float32) for value in (2, 3, 0))
    return [("a", a), ("b", b), ("f", f), ("size", size)]


def compute_golden(tensors, params):
    c = tensors["a"] + tensors["b"]
    tensors["f"][:] = (c + 1) * (c + 2) + c
