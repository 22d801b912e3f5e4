from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.ops import NONE, Op
from kernbench.tl.runner import record_kernel
from tests.naive import tiling as naive
from tests.tl.rig import BASE, Rig

A, B, OUT = BASE, BASE + (1 << 18), BASE + (1 << 19)


def read_plan(rig, plan=0):
    """The stages of each token of a plan, in words: (name, amount, address)."""
    program = rig.program
    program.flush()
    figures = {"fetch": "pe_tcm.read_byte", "store": "pe_tcm.write_byte"}
    first, end = program.plan_start[plan : plan + 2]
    tokens = []
    for start, stop in zip(program.token_start[first:end], program.token_end[first:end], strict=True):
        stages = []
        for row, tag in zip(program.op[start:stop].tolist(), program.op_tag[start:stop], strict=True):
            name, _ = program.tags[tag]
            if row[0] == Op.MOVE:
                stages.append((name, *row[1:]))
            else:
                *request, (figure, amount) = program.durations[row[2]]
                assert request == ([("pe_fetch_store.overhead", 1)] if name in figures else [])
                assert figure.startswith(figures.get(name, "pe_gemm.flop_" if name == "gemm" else "pe_math.element_"))
                stages.append((name, row[1], figure, amount, row[3]))
        tokens.append(stages)
    return tokens


def gemm(m, k, n, *, streamed=(True, True), epilogue=None, tile=None, dtype="f16", swap=False, wait=True):
    def kernel(*, tl):
        a = (tl.ref if streamed[0] else tl.load)(A, (k, m) if swap else (m, k), dtype)
        b = (tl.ref if streamed[1] else tl.load)(B, (k, n), dtype)
        tl.composite("gemm", tl.trans(a) if swap else a, b, OUT, epilogue=epilogue, tile_shape=tile)

    return kernel


def expected(rig, plain, element_bits=16):
    """The plain plan with the ids of the rig's machine."""
    place, machine, program = rig.place, rig.machine, rig.program
    node = machine.places.hbm(0, 0, 0)
    lead = program.duration(("pe_mmu.tlb", 1), ("pe_dma.overhead", 1))
    move = {
        "dma_read": (RouteKind.READ, place.dma_read),
        "dma_write": (RouteKind.WRITE, place.dma_write),
    }
    job = {
        "fetch": (place.tcm_read, "pe_tcm.read_byte"),
        "store": (place.tcm_write, "pe_tcm.write_byte"),
        "gemm": (place.gemm_server, f"pe_gemm.flop_{element_bits}"),
    }
    for stages in plain:
        words = []
        for name, amount, address in stages:
            if address is None:
                server, figure = job.get(name, (place.math_server, "pe_math.element_32"))
                words.append((name, server, figure, amount, NONE))
            else:
                kind, hold = move[name]
                route = machine.routing.route(place.dma, node, Intent.PE_DMA, kind)
                words.append((name, route, amount, (address - BASE) // 256 % 8, NONE, hold, NONE, lead))
        yield words


SCOPES = st.sampled_from(["k_tile", "output_tile", "kernel"])


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    st.tuples(st.integers(1, 80), st.integers(1, 150), st.integers(1, 80)),
    st.tuples(st.integers(8, 40), st.integers(8, 70), st.integers(8, 40)),
    st.tuples(st.booleans(), st.booleans()),
    st.lists(SCOPES, max_size=3),
)
def test_a_plan_is_that_of_the_plain_loop(dims, tile, streamed, scopes):
    rig = Rig()
    steps = [{"op": "scale", "factor": 0.5, "scope": scope} for scope in scopes]
    kernel = gemm(*dims, streamed=streamed, epilogue=steps, tile=tile)
    record_kernel(rig.pe, kernel)
    a, b = (address if stream else None for address, stream in zip((A, B), streamed, strict=True))
    plain = naive.gemm_stages(*dims, tile, a, b, OUT, [("scale", scope) for scope in scopes])
    assert read_plan(rig) == list(expected(rig, plain))


def lowered(kernel, **rig_options):
    rig = Rig(**rig_options)
    record_kernel(rig.pe, kernel)
    return rig


def test_tiles_of_the_machine_are_the_default():
    rig = lowered(gemm(64, 128, 64))
    assert len(read_plan(rig)) == 2 * 2 * 2
    assert rig.notes()[0].tile == (32, 64, 32)


@pytest.mark.parametrize(("dtype", "width"), [("f32", 32), ("f16", 16), ("bf16", 16), ("f8e4m3", 8), ("i8", 8)])
def test_the_engine_is_charged_by_the_width_of_the_operands(dtype, width):
    ((*_, gemm_stage, _store, _write),) = read_plan(lowered(gemm(8, 8, 8, dtype=dtype)))
    assert gemm_stage[2:4] == (f"pe_gemm.flop_{width}", 2 * 8 * 8 * 8)


def test_a_transposed_reference_is_read_where_its_tiles_lie():
    rig = lowered(gemm(64, 64, 32, swap=True))
    reads = [stages[0] for stages in read_plan(rig)]
    assert [read[3] for read in reads] == [0, (32 * 2 // 256) % 8]  # the second tile begins 32 elements on
    assert [read[2] for read in reads] == [32 * 64 * 2] * 2


def test_a_tile_in_two_memories_is_two_transfers_on_one_hold():
    rig = lowered(gemm(32, 64, 32), cut=1024)
    near, far = (
        rig.machine.routing.route(rig.place.dma, rig.machine.places.hbm(0, 0, pe), Intent.PE_DMA, RouteKind.READ)
        for pe in (0, 1)
    )
    ((first, second, third, fetch, *_),) = read_plan(rig)
    assert [stage[:4] for stage in (first, second)] == [("dma_read", near, 1024, 0), ("dma_read", far, 3072, 0)]
    assert third[0] == "dma_read"
    assert fetch[0] == "fetch"
    assert {stage[5] for stage in (first, second, third)} == {rig.place.dma_read}


def test_tiles_after_a_split_one_keep_their_own_transfers():
    rig = lowered(gemm(96, 64, 32), cut=32 * 64 * 2 + 1024)
    plan = read_plan(rig)
    assert [[stage[2] for stage in stages if stage[0] == "dma_read"] for stages in plan] == [
        [4096, 4096],
        [1024, 3072, 4096],
        [4096, 4096],
    ]


def test_a_result_in_scratch_is_not_written_to_memory():
    def kernel(*, tl):
        a = tl.ref(A, (32, 64))
        done = tl.composite("gemm", a, tl.ref(B, (64, 32)))
        assert done.out.shape == (32, 32)
        assert done.out.addr > 0

    ((*_, last),) = read_plan(lowered(kernel))
    assert last[0] == "store"


def test_an_elementwise_pipeline_has_a_token_for_each_output_tile():
    def kernel(*, tl):
        x = tl.ref(A, (40, 33))
        tl.composite("math", x, x, OUT, math_op="add", epilogue=[{"op": "relu", "scope": "kernel"}])

    plan = read_plan(lowered(kernel))
    assert [[stage[0] for stage in stages] for stages in plan] == [
        *[["dma_read", "dma_read", "fetch", "add", "store", "dma_write"]] * 3,
        ["dma_read", "dma_read", "fetch", "add", "relu", "store", "dma_write"],
    ]
    assert [stages[3][2:4] for stages in plan] == [("pe_math.element_16", n) for n in (32 * 32, 32 * 1, 8 * 32, 8 * 1)]
    assert plan[-1][4][2:4] == ("pe_math.element_32", 40 * 33)


def test_plans_of_a_whole_machine_are_built_quickly():
    def kernel(*, tl):
        shape = (512, 512)  # 16 * 16 * 8 tiles
        tl.composite("gemm", tl.ref(BASE, shape), tl.ref(BASE, shape), BASE)

    rig = Rig()
    record_kernel(rig.pe, kernel)  # routes found
    begun = process_time()
    record_kernel(rig.pe, kernel)
    rig.program.flush()
    took = process_time() - begun
    assert len(rig.program.plan_start) == 3
    assert np.diff(rig.program.plan_start).tolist() == [2048, 2048]
    assert took < 0.05  # 256 PEs of twice as many tiles within seconds
