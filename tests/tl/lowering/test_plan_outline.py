from dataclasses import replace

import numpy as np
import pytest

from kernbench.program.ops import Op
from kernbench.tl.runner import record_kernel
from tests.tl.rig import BASE, BYTES, Rig

A, B, OUT = BASE, BASE + (1 << 18), BASE + (1 << 19)


def gemm(m, k, n, **options):
    def kernel(a, *, tl):
        tl.composite("gemm", tl.ref(a, (m, k), "f16"), tl.ref(B, (k, n), "f16"), OUT, **options)

    return kernel


def both_pes(rig, kernel, *, shared):
    """What both PEs of the cube write, the second reading A from elsewhere; with outlines in common or of their own."""
    rows = []
    for pe, a in ((0, A), (1, A + (1 << 14))):
        outlines = rig.pe.outlines if shared else {}
        place = rig.machine.places.pe(0, 0, pe)
        record_kernel(replace(rig.pe, place=place, outlines=outlines), kernel, (a,))
        rig.program.flush()
        first, end = rig.program.plan_rows[-1], rig.program.row_count
        rows.append((rig.program.op[first:end].copy(), rig.program.op_tag[first:end].copy()))
    return rows


def test_pes_that_share_an_outline_write_what_they_write_alone():
    kernel = gemm(70, 40, 50, epilogue=[{"op": "relu"}])
    rig = Rig(cut=(1 << 18) + 1000)  # a tile of B straddles two memories
    shared = both_pes(rig, kernel, shared=True)
    assert len(rig.pe.outlines) == 1
    alone = both_pes(Rig(cut=(1 << 18) + 1000), kernel, shared=False)
    for (rows, tags), (rows_alone, tags_alone) in zip(shared, alone, strict=True):
        np.testing.assert_array_equal(rows, rows_alone)
        np.testing.assert_array_equal(tags, tags_alone)
    assert (shared[0][0] != shared[1][0]).any()


@pytest.mark.parametrize("out", [OUT, 0])
@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_tensors_in_one_piece_are_moved_as_tile_after_tile_is_found(out, dtype):
    def kernel(*, tl):
        a, b = tl.ref(A + 96, (70, 40), dtype), tl.trans(tl.ref(B + 64, (50, 40), dtype))
        tl.composite("gemm", a, b, out, epilogue=[{"op": "relu"}], tile_shape=(32, 24, 16))
        tl.composite("math", a, math_op="exp", out_ptr=out)

    together, each = Rig(), Rig()
    record_kernel(together.pe, kernel)
    record_kernel(replace(each.pe, locate=lambda _va, _nbytes: None), kernel)
    for program in (together.program, each.program):
        program.flush()
    for name in ("op", "op_tag", "plan_start", "token_start", "token_end"):
        np.testing.assert_array_equal(getattr(together.program, name), getattr(each.program, name), err_msg=name)
    assert (together.program.op[:, 0] == Op.MOVE).sum() > 20


def test_composites_that_differ_have_outlines_of_their_own():
    rig = Rig()
    kernels = [
        gemm(64, 64, 64),
        gemm(64, 64, 64, epilogue=[{"op": "relu"}]),
        gemm(64, 64, 64, tile_shape=(16, 16, 16)),
        gemm(64, 64, 32),
    ]
    for kernel in kernels:
        record_kernel(rig.pe, kernel, (A,))
    record_kernel(rig.pe, lambda *, tl: tl.composite("gemm", tl.load(A, (64, 64)), tl.ref(B, (64, 64)), OUT))
    record_kernel(rig.pe, lambda *, tl: tl.composite("gemm", tl.trans(tl.ref(A, (64, 64))), tl.ref(B, (64, 64)), OUT))
    assert len(rig.pe.outlines) == len(kernels) + 2
    record_kernel(rig.pe, gemm(64, 64, 64), (A + BYTES // 8,))
    assert len(rig.pe.outlines) == len(kernels) + 2
