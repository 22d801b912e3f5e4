"""C = A @ B on all PEs of a SIP, as one tiled pipeline on each.

The cubes share the rows of A and the PEs of a cube the columns of B, so every PE computes one block of C. The variant says
how operands reach the matrix engine: `ref` streams their tiles from memory while other tiles compute, `load` first brings
the whole block into TCM.
"""

from __future__ import annotations

import numpy as np

from kernbench import DPPolicy, InputError, bench, part_of
from kernbench.dtypes import itemsize

VARIANTS = ("ref_ref", "load_ref", "load_load")


def matmul(a_ptr, b_ptr, c_ptr, m, k, n, dtype, variant, tl):
    """This PE's block of C. Each operand's block lies in one piece, in the order in which the parts are numbered."""
    row, row_end = part_of((0, m), tl.program_id(axis=1), tl.num_programs(axis=1))
    column, column_end = part_of((0, n), tl.program_id(axis=0), tl.num_programs(axis=0))
    rows, columns = row_end - row, column_end - column
    if not rows or not columns:
        return
    size = itemsize(dtype)
    get_a, get_b = (tl.load if how == "load" else tl.ref for how in variant.split("_"))
    a = get_a(a_ptr + row * k * size, (rows, k), dtype)
    b = get_b(b_ptr + k * column * size, (k, columns), dtype)
    tl.wait(tl.composite("gemm", a, b, out_ptr=c_ptr + (row * n + rows * column) * size))


@bench("matmul-composite", "A GEMM on all PEs of a SIP, tiles streamed (ref) or operands loaded first (load)")
def run(torch, *, M=512, K=512, N=512, dtype="f16", variant="ref_ref"):
    """Rows over cubes, columns over PEs."""
    if variant not in VARIANTS:
        raise InputError(f"matmul-composite has no variant {variant!r}; known: {', '.join(VARIANTS)}")
    a = torch.randn((M, K), dtype, DPPolicy(cube="row_wise"), name="a")
    b = torch.randn((K, N), dtype, DPPolicy(pe="column_wise"), name="b")
    c = torch.empty((M, N), dtype, DPPolicy(cube="row_wise", pe="column_wise"), name="c")
    torch.launch("matmul", matmul, a, b, c, M, K, N, dtype, variant)
    torch.expect(c, lambda: a.initial().astype(np.float32) @ b.initial().astype(np.float32))
