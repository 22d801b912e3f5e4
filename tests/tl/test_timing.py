"""The end of each call on the tiny machine, by hand; the times are those of `models/`.

A transfer of 256 B from a PE's own slice: request 0.01 ns, commit 8 ns, two links of 1.005 ns each.
"""

import pytest

from kernbench.machine.intents import Intent, RouteKind
from tests.machine.alone import transfer_fs
from tests.tl.rig import BASE, Rig

NS = 1_000_000
SCHEDULE = 1 * NS
TLB = NS // 2
READ_256 = 10_020_000
TCM = 1_953.125  # fs a byte
GEMM_16 = 125  # fs a flop
MATH_16, MATH_32 = 3_906.25, 7_812.5  # fs an element


def fs(amount, figure):
    return round(amount * figure)


def after_load(kernel_call, shape=(8, 16)):
    """How long a call takes after a load of a tensor of 256 B."""

    def load(*, tl):
        tl.load(BASE, shape)

    def both(*, tl):
        kernel_call(tl, tl.load(BASE, shape))

    return Rig().record(both) - Rig().record(load)


def transfer(rig, kind, nbytes, stripe=0, pe=0):
    node = rig.machine.places.hbm(0, 0, pe)
    return transfer_fs(rig.machine, rig.machine.routing.route(rig.place.dma, node, Intent.PE_DMA, kind), nbytes, stripe)


def test_a_load_of_one_flit():
    def kernel(*, tl):
        tl.load(BASE, (128,))

    assert Rig().record(kernel) == SCHEDULE + TLB + READ_256


@pytest.mark.parametrize(("elements", "offset"), [(1, 0), (100, 512), (129, 0), (4096, 256), (5000, 1792)])
def test_a_load_is_scheduler_tlb_and_transfer(elements, offset):
    def kernel(*, tl):
        tl.load(BASE + offset, elements)

    rig = Rig()
    want = transfer(rig, RouteKind.READ, 2 * elements, offset // 256 % 8)
    assert rig.record(kernel) == SCHEDULE + TLB + want


@pytest.mark.parametrize("elements", [1, 128, 129, 4096])
def test_a_store_is_scheduler_tlb_transfer_and_acknowledgement(elements):
    def kernel(*, tl):
        tl.store(BASE, tl.zeros(elements))

    rig = Rig()
    assert rig.record(kernel) == SCHEDULE + TLB + transfer(rig, RouteKind.WRITE, 2 * elements)


def test_pieces_in_two_memories_queue_for_the_channel():
    def kernel(*, tl):
        tl.load(BASE, 256)

    rig = Rig(cut=256)
    near, far = (transfer(rig, RouteKind.READ, 256, 0, pe) for pe in (0, 1))
    assert rig.record(kernel) == SCHEDULE + TLB + near + TLB + far
    ((row, note),) = rig.thread.notes.items()
    assert rig.session.op_end_fs[rig.thread.find_row(row)] == SCHEDULE + TLB + near + TLB + far
    assert (note.op, note.shape) == ("load", (256,))


def test_a_dot_fetches_multiplies_and_stores():
    took = after_load(lambda tl, x: tl.dot(x, tl.trans(x)))
    assert took == SCHEDULE + fs(2 * 256, TCM) + fs(2 * 8 * 8 * 16, GEMM_16) + fs(8 * 8 * 2, TCM)


@pytest.mark.parametrize("function", ["exp", "log", "sqrt", "abs", "sigmoid", "cos", "sin", "softmax"])
def test_unary_math(function):
    took = after_load(lambda tl, x: getattr(tl, function)(x))
    assert took == SCHEDULE + fs(256, TCM) + fs(128, MATH_16) + fs(256, TCM)


@pytest.mark.parametrize("function", ["add", "sub", "mul", "div", "maximum", "minimum"])
def test_binary_math(function):
    took = after_load(lambda tl, x: getattr(tl, function)(x, x))
    assert took == SCHEDULE + fs(512, TCM) + fs(128, MATH_16) + fs(256, TCM)


def test_a_number_is_not_fetched():
    took = after_load(lambda tl, x: 2.0 * x)
    assert took == SCHEDULE + fs(256, TCM) + fs(128, MATH_16) + fs(256, TCM)


@pytest.mark.parametrize("function", ["fma", "clamp", "where"])
def test_math_of_three(function):
    took = after_load(lambda tl, x: getattr(tl, function)(x, x, x))
    assert took == SCHEDULE + fs(768, TCM) + fs(128, MATH_16) + fs(256, TCM)


@pytest.mark.parametrize("function", ["sum", "max", "min"])
@pytest.mark.parametrize(("axis", "left"), [(0, 16), (1, 8), (-1, 8)])
def test_a_reduction_costs_its_input(function, axis, left):
    took = after_load(lambda tl, x: getattr(tl, function)(x, axis))
    assert took == SCHEDULE + fs(256, TCM) + fs(128, MATH_16) + fs(left * 2, TCM)


def test_broadcast_math_costs_its_result():
    took = after_load(lambda tl, x: tl.add(x, tl.zeros((4, 1, 16))))
    assert took == SCHEDULE + fs(256 + 4 * 16 * 2, TCM) + fs(4 * 128, MATH_16) + fs(4 * 128 * 2, TCM)


def test_mixed_types_cost_the_wider():
    took = after_load(lambda tl, x: x + tl.zeros((8, 16), "f32"))
    assert took == SCHEDULE + fs(256 + 512, TCM) + fs(128, MATH_32) + fs(512, TCM)


def test_what_names_no_work_takes_no_time():
    def nothing(tl, x):
        tl.ref(BASE, (4, 4))
        tl.trans(x)
        tl.arange(0, 8)
        tl.zeros((4,))
        tl.full(4, 1.5)
        assert tl.cdiv(7, 2) == 4
        assert (tl.program_id(0), tl.program_id(1), tl.num_programs(0), tl.num_programs(1)) == (0, 0, 2, 2)

    assert after_load(nothing) == 0


def test_cycles_are_those_of_the_clock():
    assert after_load(lambda tl, x: tl.cycles(7)) == 7 * NS


def test_each_call_pays_its_dispatch():
    def kernel(*, tl):
        x = tl.load(BASE, (8, 16))
        tl.store(BASE, tl.exp(x) + x)
        tl.dot(x, tl.trans(x))
        tl.sum(x, 0)
        done = tl.composite("gemm", x, tl.trans(x))
        tl.cycles(5)
        tl.wait(done)
        tl.zeros(4)

    late = Rig({"pe_cpu.dispatch_cycles": 3}).record(kernel) - Rig().record(kernel)
    assert late == 9 * 3 * NS  # all but zeros and trans


def one_tile(streamed, out):
    def kernel(*, tl):
        tensor = tl.ref if streamed else tl.load
        a, b = tensor(BASE, (32, 64)), tensor(BASE + 4096, (64, 32))
        tl.wait(tl.composite("gemm", a, b, BASE + 8192 if out else 0))

    return kernel


PRODUCT = fs(2 * 4096, TCM) + fs(2 * 32 * 64 * 32, GEMM_16) + fs(2048, TCM)


def test_a_streamed_tile_walks_all_stages():
    rig = Rig()
    read, write = transfer(rig, RouteKind.READ, 4096), transfer(rig, RouteKind.WRITE, 2048)
    assert rig.record(one_tile(True, True)) == SCHEDULE + 2 * (TLB + read) + PRODUCT + TLB + write


def test_a_pinned_tile_is_not_read():
    rig = Rig()
    read = SCHEDULE + TLB + transfer(rig, RouteKind.READ, 4096)
    assert rig.record(one_tile(False, False)) == 2 * read + SCHEDULE + PRODUCT


def test_tiles_overlap_and_the_slowest_stage_decides():
    def kernel(*, tl):
        a, b = tl.zeros((64, 256)), tl.zeros((256, 64))
        tl.composite("gemm", a, b)

    tiles, gemm = 2 * 2 * 4, fs(2 * 32 * 64 * 32, GEMM_16)
    took = Rig().record(kernel)
    assert took == SCHEDULE + fs(2 * 4096, TCM) + tiles * max(gemm, fs(2 * 4096, TCM)) + fs(2048, TCM)


def exponentials(tiles):
    """An elementwise pipeline over tiles of 1024 elements, 2 KiB each."""

    def kernel(*, tl):
        tl.wait(tl.composite("math", tl.zeros((32 * tiles, 32)), math_op="exp"))

    return kernel


def test_a_fetch_overlaps_a_store_but_not_another_fetch():
    fetch, math, store = fs(2048, TCM), fs(1024, MATH_16), fs(2048, TCM)
    assert fetch == math == store
    assert Rig().record(exponentials(9)) == SCHEDULE + fetch + 9 * math + store


def test_reads_and_writes_of_tcm_have_their_own_bandwidth():
    usual = Rig().record(exponentials(1))
    slow = {way: Rig({f"pe_tcm.{way}_gbs": 128}).record(exponentials(1)) - usual for way in ("read", "write")}
    assert slow == {"read": 3 * fs(2048, TCM), "write": 3 * fs(2048, TCM)}
    both = Rig({"pe_tcm.read_gbs": 128, "pe_tcm.write_gbs": 128}).record(exponentials(9))
    assert both == SCHEDULE + 9 * 4 * fs(2048, TCM) + fs(1024, MATH_16) + 4 * fs(2048, TCM)


def test_the_scheduler_acts_once_for_all_tiles():
    rows = []
    for tiles in (1, 9):
        rig = Rig()
        rig.record(exponentials(tiles))
        rows.append(rig.session.server_busy_fs[rig.place.scheduler_server])
    assert rows == [SCHEDULE, SCHEDULE]


def test_an_epilogue_adds_its_math():
    def with_steps(*scopes):
        def kernel(*, tl):
            steps = [{"op": "scale", "factor": 2.0, "scope": scope} for scope in scopes]
            tl.composite("gemm", tl.zeros((32, 128)), tl.zeros((128, 32)), epilogue=steps)

        return kernel

    bare = Rig().record(with_steps())
    assert Rig().record(with_steps("output_tile")) - bare == fs(1024, MATH_32)
    assert Rig().record(with_steps("kernel", "output_tile")) - bare == 2 * fs(1024, MATH_32)
    assert Rig().record(with_steps("k_tile")) - bare == fs(1024, MATH_32)  # that of the first k tile is hidden


def test_the_kernel_goes_on_while_a_composite_runs():
    def kernel(*, tl):
        tl.composite("gemm", tl.zeros((32, 64)), tl.zeros((64, 32)))
        tl.cycles(1000)
        tl.wait()

    assert Rig().record(kernel) == SCHEDULE + 1000 * NS


def test_a_kernel_ends_when_its_composites_have():
    def kernel(*, tl):
        tl.composite("gemm", tl.zeros((32, 64)), tl.zeros((64, 32)))

    rig = Rig()
    end = rig.record(kernel)
    assert end == SCHEDULE + PRODUCT
    last = rig.thread.find_row(rig.thread.row_count - 1)
    assert rig.session.op_end_fs[last] == end  # the thread itself waits


def test_waiting_twice_takes_no_time():
    def kernel(*, tl):
        done = tl.composite("gemm", tl.zeros((32, 64)), tl.zeros((64, 32)))
        tl.wait(done)
        tl.wait(done)
        tl.wait()

    assert Rig().record(kernel) == SCHEDULE + PRODUCT
