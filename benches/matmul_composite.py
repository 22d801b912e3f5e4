"""C = A @ B on all PEs of all SIPs, as one tiled pipeline on each.

The SIPs share the rows of A and run side by side; in each, cubes share its rows and the PEs of a cube the columns of B, or
the other way round if that gives more PEs a tile of C: every PE computes one block. The variant says how
operands reach the matrix engine: `ref` streams their tiles from memory while other tiles compute, `load` first brings the
whole block into TCM.
"""

from __future__ import annotations

from kernbench import DPPolicy, InputError, bench, part_of
from kernbench.dtypes import itemsize, widen

VARIANTS = ("ref_ref", "load_ref", "load_load")
TILE = 32  # rows and columns of a tile of C
PES, CUBES = 0, 1  # axes of program identity


def matmul(a_ptr, b_ptr, c_ptr, m, k, n, dtype, variant, row_axis, tl):
    """This PE's block of C. Each operand's block lies in one piece, those of one cube behind one another."""
    row, row_end = part_of((0, m), tl.program_id(row_axis), tl.num_programs(row_axis))
    column, column_end = part_of((0, n), tl.program_id(1 - row_axis), tl.num_programs(1 - row_axis))
    rows, columns = row_end - row, column_end - column
    if not rows or not columns:
        return
    size = itemsize(dtype)
    get_a, get_b = (tl.load if how == "load" else tl.ref for how in variant.split("_"))
    a = get_a(a_ptr + row * k * size, (rows, k), dtype)
    b = get_b(b_ptr + k * column * size, (k, columns), dtype)
    before = row * n + rows * column if row_axis == CUBES else m * column + row * columns
    tl.wait(tl.composite("gemm", a, b, out_ptr=c_ptr + before * size))


@bench(
    "matmul-composite",
    "A GEMM on all PEs, tiles streamed (ref) or operands loaded first (load)",
    choices={"variant": VARIANTS},
)
def run(torch, *, M=512, K=512, N=512, dtype="f16", variant="ref_ref", sips=0, cubes=0, pes=0):
    """Rows over SIPs; then rows over cubes and columns over PEs, or the other way round.

    At most `sips` SIPs, `cubes` of each and `pes` of each cube take part; 0 means all.

    Parameters:
        M: rows of A and C
        K: columns of A, rows of B
        N: columns of B and C
        dtype: type of elements, such as f16, bf16, f32 or f8e4m3
        variant: how A and B come: ref streams tiles, load brings the whole block first
        sips: SIPs that take part; 0: all
        cubes: cubes of each SIP that take part; 0: all
        pes: PEs of each cube that take part; 0: all
    """
    if min(M, K, N) < 1:
        raise InputError(f"matmul-composite got M={M}, K={K}, N={N}; each must be 1 or more")
    most = {"sips": torch.device_count, "cubes": torch.cubes_per_sip, "pes": torch.pes_per_cube}
    for name, asked in {"sips": sips, "cubes": cubes, "pes": pes}.items():
        if not 0 <= asked <= most[name]:
            raise InputError(f"matmul-composite got {name}={asked}; give 1 to {most[name]}, or 0 for all")
    sips = parts(M, sips or most["sips"])
    for sip in range(sips):
        first, end = part_of((0, M), sip, sips)
        with torch.device(sip):
            multiply(torch, sip, end - first, K, N, dtype, variant, cubes or most["cubes"], pes or most["pes"])


def multiply(torch, sip, m, k, n, dtype, variant, cubes, pes):
    """The rows of one SIP. All SIPs have the same B."""
    if parts(m, cubes) * parts(n, pes) >= parts(n, cubes) * parts(m, pes):
        row_axis, rows, columns = CUBES, {"cube": "row_wise"}, {"pe": "column_wise"}
        places = {"num_cubes": parts(m, cubes), "num_pes": parts(n, pes)}
    else:
        row_axis, rows, columns = PES, {"pe": "row_wise"}, {"cube": "column_wise"}
        places = {"num_cubes": parts(n, cubes), "num_pes": parts(m, pes)}
    a = torch.draw((m, k), dtype, DPPolicy(**rows, **places), name=f"a{sip}")
    b = torch.draw((k, n), dtype, DPPolicy(**columns, **places), name=f"b{sip}", seed=1)
    c = torch.empty((m, n), dtype, DPPolicy(**rows, **columns, **places), name=f"c{sip}")
    torch.launch("matmul", matmul, a, b, c, m, k, n, dtype, variant, row_axis)
    torch.expect(c, lambda: widen(a.initial()) @ widen(b.initial()))


def parts(size, most):
    """How many take part: as many as there are tiles."""
    return min(most, -(-size // TILE))
