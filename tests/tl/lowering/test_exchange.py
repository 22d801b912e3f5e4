"""Messages between PEs: contents and times by hand, recorded and live alike.

On "tiny" the DMA of PE A is five links from that of PE B, 9.5 mm in all: a flit takes 1 ns a link and 0.095 ns on the way,
those behind it follow every ns. A credit of 16 bytes takes 0.0625 ns a link.
"""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench.errors import DeadlockError, KernelError
from kernbench.machine.address import SPACE_SHIFT, MemorySpace
from kernbench.tl.lowering.ipcq import Ring
from tests.tl.mesh import BASE, A, B, C, Mesh, both, line

NS = 1_000_000
SCHEDULE = 1 * NS
QUEUE = 9 * NS  # of the sender
BEFORE = SCHEDULE + QUEUE
WIRE = 95_000  # from A to B
CREDIT = WIRE + 5 * 62_500
SLOT = 8 * NS  # 4096 bytes at 512 GB/s


def moved(nbytes):
    """From A to B, alone, in full flits."""
    return (nbytes // 256 + 4) * NS + WIRE


def numbers(run, where, n, dtype="f16", offset=0):
    return run.mesh.memory[where].read(BASE + offset, (n,), dtype)


def send(*tensors, way="E"):
    def kernel(*, tl):
        for shape in tensors:
            tl.send(way, tl.zeros(shape))

    return kernel


def recv(*tensors, way="W", wait=0):
    def kernel(*, tl):
        if wait:
            tl.cycles(wait)
        for shape in tensors:
            tl.recv(way, shape)

    return kernel


# Times


def test_one_message_pays_wires_slot_write_and_slot_read():
    run = both({A: send(2048), B: recv(2048)}, line(A, B))
    assert run.ends == [SCHEDULE, BEFORE + moved(4096) + SLOT + SLOT]
    assert run.mesh.times("message") == [(BEFORE, BEFORE, BEFORE + moved(4096))]
    assert [end - start for name in ("slot_write", "slot_read") for _, start, end in run.mesh.times(name)] == [
        SLOT,
        SLOT,
    ]


def test_who_comes_late_pays_only_the_slot_read():
    run = both({A: send(2048), B: recv(2048, wait=500)}, line(A, B))
    assert run.ends[1] == 500 * NS + SCHEDULE + SLOT


@pytest.mark.parametrize(
    ("tier", "slot_fs"),
    [("tcm", 8 * NS), ("sram", (8 + 32 + 2) * NS), ("hbm", (16 + 16 + 6) * NS)],
)
def test_slots_cost_by_where_they_lie(tier, slot_fs):
    run = both({A: send(2048), B: recv(2048)}, line(A, B, tier=tier))
    assert run.ends[1] == BEFORE + moved(4096) + 2 * slot_fs


def test_messages_of_one_pe_leave_one_after_the_other():
    run = both({A: send(2048, 2048), B: recv(2048, 2048)}, line(A, B))
    assert run.ends[0] == 2 * SCHEDULE  # it does not wait for what is on its way
    first = BEFORE + moved(4096)  # the queue has done its work on the second by then
    assert [start for _, start, _ in run.mesh.times("message")] == [BEFORE, first]
    assert run.ends[1] == first + moved(4096) + SLOT + SLOT


def test_a_send_waits_for_a_free_slot_and_a_credit_comes_back():
    run = both({A: send(128, 128, 128), B: recv(128, 128, 128, wait=100)}, line(A, B, n_slots=2))
    read = round(256 * NS / 512)
    assert run.ends[0] == 101 * NS + read + CREDIT  # its third message leaves with the first credit
    assert run.ends[1] == run.ends[0] + QUEUE + moved(256) + read + read


def test_credits_may_cost_more_bytes():
    took = [
        both({A: send(128, 128), B: recv(128, 128, wait=100)}, line(A, B, n_slots=1, credit_bytes=size)).ends[0]
        for size in (0, 16, 256)
    ]
    assert [t - took[0] for t in took] == [0, 5 * 62_500, 5 * NS]


def test_a_credit_between_cubes_pays_the_ports():
    run = both({B: send(128, 128), C: recv(128, 128, wait=200)}, line(B, C, n_slots=1))
    route = run.mesh.ipcq.queue(B, "E")
    machine = run.mesh.machine
    wires = int(machine.routing.tables().propagation_fs[route.home])
    links = machine.routing.edges(route.home)
    assert run.mesh.program.duration_fs()[route.credit] == 2 * 8 * NS + sum(
        round(16 * NS / machine.edge_gbs[link]) for link in links
    )
    slot = round(256 * NS / 512)
    assert run.ends[0] == 201 * NS + slot + int(run.mesh.program.duration_fs()[route.credit]) + wires


def test_the_queue_costs_what_its_sheet_says():
    run = both({A: send(128), B: recv(128)}, line(A, B), overrides={"pe_ipcq.overhead_ns": "3 ns"})
    assert run.ends[1] == SCHEDULE + 3 * NS + moved(256) + 2 * round(256 * NS / 512)


def test_dispatch_cycles_come_first():
    overrides = {"pe_cpu.dispatch_cycles": 5}

    def right(*, tl):
        tl.wait(tl.recv_async("W", 128))

    run = both({A: send(128), B: right}, line(A, B), overrides=overrides)
    slot = round(256 * NS / 512)
    assert run.ends == [6 * NS, 6 * NS + QUEUE + moved(256) + slot + slot]


def test_a_message_shares_the_channel_with_stores():
    def left(*, tl):
        done = tl.composite("math", tl.zeros(2048), out_ptr=BASE, math_op="exp")
        tl.send("E", tl.zeros(2048))
        tl.wait(done)

    run = both({A: left, B: recv(2048)}, line(A, B))
    writes = sorted(run.mesh.times("dma_write") + run.mesh.times("message"), key=lambda t: t[1])
    assert all(later[1] >= earlier[2] for earlier, later in pairwise(writes))


def test_without_consuming_the_slot_is_read_for_nothing():
    def right(*, tl):
        tl.store(BASE, tl.recv_no_consume("W", 2048))

    def plain(*, tl):
        tl.store(BASE, tl.recv("W", 2048))

    quick, slow = (both({A: send(2048), B: kernel}, line(A, B)) for kernel in (right, plain))
    assert slow.ends[1] - quick.ends[1] == SLOT
    notes = [note for note in quick.mesh.pes[B].thread.notes.values() if note["op"] == "recv"]
    assert [note.consume for note in notes] == [False]


@pytest.mark.parametrize("tier", ["tcm", "sram", "hbm"])
@pytest.mark.parametrize("elements", [8, 100, 128, 1000, 2048, 8192])
def test_never_faster_than_the_bare_transfer(tier, elements):
    run = both({A: send(elements), B: recv(elements)}, line(A, B, tier=tier, slot_bytes=1 << 16))
    ((_, start, end),) = run.mesh.times("message")
    assert run.ends[1] > end - start


def store_fs(elements):
    """How long a store of A into the slice of B takes."""
    mesh = Mesh(line(A, B))
    place, memory = mesh.machine.places.pe(*A), mesh.memory[A]
    memory.node = mesh.machine.places.hbm(*B)
    assert place.dma != memory.node
    return mesh.run({A: lambda *, tl: tl.store(BASE, tl.zeros(elements))})[0]


@pytest.mark.parametrize(
    ("tier", "elements"), [("tcm", 2048), ("tcm", 16384), ("sram", 2048), ("hbm", 8), ("hbm", 2048)]
)
def test_never_faster_than_a_store_of_as_much(tier, elements):
    run = both({A: send(elements), B: recv(elements)}, line(A, B, tier=tier, slot_bytes=1 << 15))
    assert run.ends[1] > store_fs(elements)


# Numbers


def test_a_message_is_what_its_source_was():
    def left(*, tl):
        x = tl.load(BASE, 64)
        tl.send("E", x)
        tl.store(BASE, x * 0.0)
        tl.send("E", src_addr=BASE, shape=64, space="hbm")

    def right(*, tl):
        first, second = tl.recv("W", 64), tl.recv("W", (8, 8))
        tl.store(BASE, first + 1.0)
        tl.store(BASE + 128, second + 2.0)

    run = both({A: left, B: right}, line(A, B))
    assert (numbers(run, B, 64) == 1).all()
    assert (numbers(run, B, 64, offset=128) == 2).all()


def test_a_transposed_reference_is_sent_transposed():
    def left(*, tl):
        tl.store(BASE, tl.arange(0, 6, "f32"))
        tl.send("E", tl.trans(tl.ref(BASE, (2, 3), "f32")))

    def right(*, tl):
        tl.store(BASE, tl.recv("W", (3, 2), "f32"))

    run = both({A: left, B: right}, line(A, B))
    assert numbers(run, B, 6, "f32").tolist() == [0, 3, 1, 4, 2, 5]


def test_addresses_in_tcm_name_what_the_kernel_holds():
    def left(*, tl):
        x = tl.arange(0, 64, "i32") + 0
        tl.send("E", src_addr=x.addr, shape=64, dtype="i32")
        tl.send("E", src_addr=x.addr + 16, nbytes=32, dtype="i32")
        tl.send("E", src_addr=x.addr, nbytes=4, dtype="u8")

    def right(*, tl):
        for i, (shape, dtype) in enumerate([(64, "i32"), ((2, 4), "i32"), (4, "u8")]):
            tl.store(BASE + 256 * i, tl.recv("W", shape, dtype))

    run = both({A: left, B: right}, line(A, B))
    assert numbers(run, B, 64, "i32").tolist() == list(range(64))
    assert numbers(run, B, 8, "i32", 256).tolist() == list(range(4, 12))
    assert numbers(run, B, 4, "u8", 512).tolist() == [0, 0, 0, 0]


def test_a_message_may_be_passed_on_from_its_slot():
    def middle(*, tl):
        tl.send("E", tl.recv("W", 8))
        again = tl.recv("W", 8)
        tl.send("E", src_addr=again.addr, shape=8)

    def left(*, tl):
        tl.send("E", tl.full(8, 3))
        tl.send("E", tl.full(8, 4))

    def right(*, tl):
        tl.store(BASE, tl.recv("W", 8) + tl.recv("W", 8))

    run = both({A: left, B: middle, C: right}, line(A, B, C))
    assert numbers(run, C, 8).tolist() == [7] * 8


@pytest.mark.parametrize("tier", ["tcm", "sram", "hbm"])
def test_a_slot_is_sent_by_its_address_whatever_its_memory(tier):
    def left(*, tl):
        for value in range(3):
            tl.send("E", tl.full((2, 4), value + 1))

    def middle(*, tl):
        for _ in range(3):
            r = tl.recv("W", (2, 4))
            assert r.space == tier
            tl.send("E", src_addr=r.addr, shape=8, space=r.space)
            tl.send("E", src_addr=r.addr + 8, nbytes=8, space=r.space)

    def right(*, tl):
        for i in range(3):
            tl.store(BASE + 32 * i, tl.recv("W", 8))
            tl.store(BASE + 32 * i + 16, tl.recv("W", 4))

    run = both({A: left, B: middle, C: right}, line(A, B, C, tier=tier))
    assert numbers(run, C, 48).reshape(3, 16)[:, :12].tolist() == [[value] * 12 for value in (1, 2, 3)]


def test_an_address_in_tcm_is_what_is_there_when_it_is_sent():
    """The slot has been given back, and holds the next message by the time of the second send."""

    def left(*, tl):
        tl.send("E", tl.full(8, 1))
        tl.send("E", tl.full(8, 2))

    def middle(*, tl):
        r = tl.recv("W", 8)
        tl.send("E", src_addr=r.addr, shape=8)
        tl.cycles(500)
        tl.send("E", src_addr=r.addr, shape=8)
        tl.send("E", r)

    def right(*, tl):
        for i in range(3):
            tl.store(BASE + 16 * i, tl.recv("W", 8))

    run = both({A: left, B: middle, C: right}, line(A, B, C, n_slots=1))
    assert numbers(run, C, 24)[::8].tolist() == [1, 2, 1]


@pytest.mark.parametrize("tier", ["sram", "hbm"])
def test_a_slot_is_loaded_by_its_address(tier):
    def right(*, tl):
        r = tl.recv("W", 8)
        tl.store(BASE, tl.load(r.addr, 8) + 1)

    run = both({A: lambda *, tl: tl.send("E", tl.full(8, 4)), B: right}, line(A, B, tier=tier))
    assert numbers(run, B, 8).tolist() == [5] * 8


def test_slots_lie_where_there_was_room_one_after_the_other():
    def middle(*, tl):
        places = [tl.recv("W", 8).addr for _ in range(3)] + [tl.recv("E", 8).addr]
        assert places[1] - places[0] == 4096
        assert places[2] == places[0]  # two slots only
        assert places[3] - places[0] == 2 * 4096
        assert places[0] == 4096
        x = tl.recv("E", 8)
        assert (x.space, x.pinned) == ("tcm", False)

    both({A: send(8, 8, 8), C: send(8, 8, way="W"), B: middle}, line(A, B, C, n_slots=2))


def test_a_slot_elsewhere_is_told():
    def right(*, tl):
        x = tl.recv("W", 8)
        assert (x.space, x.pinned, x.streamed) == ("hbm", True, False)
        tl.store(BASE, x)

    both({A: send(8), B: right}, line(A, B, tier="hbm"))


def test_copying_to_tcm_costs_a_write_and_gives_the_place():
    def right(*, tl):
        x = tl.recv("W", 2048, dst_addr=4096, dst_space="tcm")
        assert (x.addr, x.space) == (4096, "tcm")

    run = both({A: send(2048), B: right}, line(A, B))
    assert run.ends[1] == BEFORE + moved(4096) + 3 * SLOT


def test_copying_to_memory_is_a_store():
    def left(*, tl):
        tl.send("E", tl.full(128, 5))

    def right(*, tl):
        x = tl.recv("W", 128, dst_addr=BASE + 512, dst_space="hbm")
        assert (x.addr, x.space, x.streamed) == (BASE + 512, "hbm", True)

    run = both({A: left, B: right}, line(A, B))
    assert (numbers(run, B, 128, offset=512) == 5).all()
    ((_, start, end),) = run.mesh.times("dma_write")
    assert start == BEFORE + moved(256) + 2 * round(256 * NS / 512)
    assert run.ends[1] == end


def test_futures_keep_their_order_whenever_they_are_waited_for():
    def left(*, tl):
        for value in range(4):
            tl.send("E", tl.full(8, value))

    def right(*, tl):
        first, second = tl.recv_async("W", 8), tl.recv_async("W", 8)
        third = tl.recv("W", 8)
        assert second.out is None
        b = tl.wait(second)
        a = tl.wait(first)
        assert (second.out is b, tl.wait(second) is b) == (True, True)
        for i, x in enumerate((a, b, third)):
            tl.store(BASE + 16 * i, x)
        tl.recv_async("W", 8)  # taken at the end, although nobody waits for it

    run = both({A: left, B: right}, line(A, B, n_slots=3))
    assert numbers(run, B, 24)[::8].tolist() == [0, 1, 2]


def test_slots_are_given_back_in_order():
    """The second slot, though read first, is free only with the first."""

    def right(*, tl):
        first, second = tl.recv_async("W", 128), tl.recv_async("W", 128)
        tl.wait(second)
        tl.cycles(1000)
        tl.wait(first)
        tl.recv("W", 128)

    run = both({A: send(128, 128, 128), B: right}, line(A, B, n_slots=2))
    assert run.ends[0] > 1000 * NS


def test_a_receive_without_a_shape_takes_that_of_the_message():
    def left(*, tl):
        tl.send("E", tl.full((2, 3), 7, "i16"))
        tl.send("E", tl.full(5, 8, "f32"))
        tl.send("E", tl.full((1, 1), 9))

    def right(*, tl):
        x = tl.recv("W")
        assert (x.shape, x.dtype) == ((2, 3), "i16")
        tl.store(BASE, x)
        y = tl.wait(tl.recv_async("W"))
        assert (y.shape, y.dtype) == ((5,), "f32")
        assert tl.recv(shape=()).shape == (1, 1)

    run = both({A: left, B: right}, line(A, B))
    assert numbers(run, B, 6, "i16").tolist() == [7] * 6


def test_a_live_kernel_sees_the_numbers_of_a_message():
    seen = []

    def right(*, tl):
        seen.append(tl.recv("W").data.tolist())
        seen.append(tl.recv("W", 2, dst_addr=BASE, dst_space="hbm").data.tolist())

    def left(*, tl):
        tl.send("E", tl.full((2, 3), 7, "i16"))
        tl.send("E", tl.full(2, 3))

    Mesh(line(A, B), live=True).run({A: left, B: right})
    assert seen == [[[7] * 3] * 2, [3, 3]]


def test_what_is_copied_to_memory_can_be_computed_with():
    """It is streamed by a composite and loaded by other operations, as it is in memory then."""

    def left(*, tl):
        for value in (1, 2):
            tl.send("E", tl.full((16, 16), value))

    def right(*, tl):
        x = tl.recv("W", (16, 16), dst_addr=BASE + 4096, dst_space="hbm")
        y = tl.recv("W", (16, 16), dst_addr=BASE + 8192, dst_space="hbm")
        assert (x.space, x.addr, x.pinned) == ("hbm", BASE + 4096, False)
        tl.store(BASE, tl.dot(x, y))
        tl.store(BASE + 512, x + y * 2)
        tl.store(BASE + 1024, tl.sum(tl.trans(x), axis=0))
        tl.store(BASE + 8192, tl.full((16, 16), 5))
        tl.store(BASE + 1536, y)
        tl.wait(tl.composite("gemm", x, tl.trans(y), BASE + 2048, epilogue=[{"op": "bias", "bias": x}]))

    run = both({A: left, B: right}, line(A, B))
    assert numbers(run, B, 256).tolist() == [32] * 256
    assert numbers(run, B, 256, offset=512).tolist() == [5] * 256
    assert numbers(run, B, 16, offset=1024).tolist() == [16] * 16
    assert numbers(run, B, 256, offset=1536).tolist() == [5] * 256
    assert numbers(run, B, 256, offset=2048).tolist() == [81] * 256


def test_a_message_is_copied_to_sram():
    def right(*, tl):
        at = sram + 4096
        x = tl.recv("W", 8, dst_addr=at, dst_space="sram")
        assert (x.space, x.addr) == ("sram", at)
        tl.store(BASE, tl.load(at, 8) + x)

    sram = Mesh(line(A, B)).machine.places.address_of(0, 0, MemorySpace.SRAM)
    run = both({A: lambda *, tl: tl.send("E", tl.full(8, 4)), B: right}, line(A, B))
    assert numbers(run, B, 8).tolist() == [8] * 8


# From anywhere


def sender(value, cycles, way, count=3):
    def kernel(*, tl):
        for i in range(count):
            tl.cycles(cycles)
            tl.send(way, tl.full(8, value + i))

    return kernel


def collector(count, wait=0):
    def kernel(*, tl):
        tl.cycles(wait)
        for i in range(count):
            tl.store(BASE + 16 * i, tl.recv(shape=8))

    return kernel


def test_from_anywhere_takes_what_comes_first():
    run = both({A: sender(10, 100, "E"), C: sender(20, 250, "W"), B: collector(6)}, line(A, B, C))
    assert numbers(run, B, 48)[::8].tolist() == [10, 11, 20, 12, 21, 22]


def test_from_anywhere_is_fair():
    run = both({A: sender(10, 0, "E"), C: sender(20, 0, "W"), B: collector(6, wait=500)}, line(A, B, C))
    assert numbers(run, B, 48)[::8].tolist() == [10, 20, 11, 21, 12, 22]


def test_from_anywhere_beside_a_direction_and_a_future():
    def middle(*, tl):
        future = tl.recv_async("W", 8)
        tl.store(BASE, tl.recv(shape=8))  # the second from W or the first from E
        tl.store(BASE + 16, tl.recv("E", shape=8))
        tl.store(BASE + 32, tl.recv(shape=8))
        tl.store(BASE + 48, tl.wait(future))

    run = both({A: sender(10, 50, "E"), C: sender(20, 400, "W"), B: middle}, line(A, B, C))
    assert numbers(run, B, 32)[::8].tolist() == [11, 20, 12, 10]


def test_with_one_neighbour_anywhere_is_there():
    run = both({A: sender(1, 0, "E"), B: collector(3)}, line(A, B))
    assert numbers(run, B, 24)[::8].tolist() == [1, 2, 3]


def test_turns_go_on_from_launch_to_launch():
    mesh = Mesh(line(A, B, C))
    queues = mesh.ipcq.pe_queues(mesh.machine.places.pe(*B))
    mesh.run({A: sender(1, 0, "E", 1), C: sender(2, 0, "W", 1), B: collector(1, wait=99)})
    assert (queues.directions, queues.turn) == (("W", "E"), 1)


# What goes wrong


def deadlock(kernels, tables, **options):
    with pytest.raises(DeadlockError) as caught:
        Mesh(tables, **options).run(kernels)
    return str(caught.value)


@pytest.mark.parametrize("live", [False, True])
def test_a_message_that_nobody_sends_is_a_deadlock_with_both_ends(live):
    assert deadlock({A: send(8, 8), B: recv(8, 8, 8)}, line(A, B), live=live) == (
        "deadlock at 20.47 ns: sip0.cube0.pe1.pe_cpu/k waits for messages from sip0.cube0.pe0 (its E) at sip0.cube0.pe1 "
        "(its W) ≥ 3 (is 2) since 20.47 ns"
    )


def test_a_slot_that_nobody_frees_is_a_deadlock_with_both_ends():
    sentence = deadlock({A: send(8, 8, 8), B: recv(8)}, line(A, B, n_slots=1))
    assert (
        "sip0.cube0.pe0.pe_cpu/k waits for slots that sip0.cube0.pe1 (its W) gives back to sip0.cube0.pe0 (its E) "
        in sentence
    )
    assert "≥ 2 (is 1)" in sentence


def test_nothing_from_anywhere_is_a_deadlock():
    sentence = deadlock({A: send(), C: send(), B: collector(1)}, line(A, B, C))
    assert sentence == (
        "deadlock at 1 ns: sip0.cube0.pe1.pe_cpu/k waits for a message from anywhere at sip0.cube0.pe1 ≥ 1 (is 0) since 1 ns"
    )


def refused(kernel, other=None, tables=None, **options):
    with pytest.raises(KernelError) as caught:
        Mesh(tables or line(A, B), **options).run({A: kernel, **({B: other} if other else {})})
    before, _, rest = str(caught.value).partition(", at ")
    return before.partition(": ")[2] + rest.partition("; ")[1] + rest.partition("; ")[2]


def test_a_message_must_fit_its_slot():
    assert refused(send(4096)) == (
        "tl.send got 8192 bytes for 'E', whose slots have 4096; send it in pieces, or give the process group larger slots"
    )


HBM = BASE + 4096
SRAM = MemorySpace.SRAM << SPACE_SHIFT


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("shape", [8, ()])
@pytest.mark.parametrize(
    ("address", "space", "problem"),
    [
        (
            (16 << 20) - 8,
            "tcm",
            ", but the TCM of sip0.cube0.pe1 has 0x1000000 bytes; give an offset in it, such as `offset` of ",
        ),
        (-16, "tcm", ", but the TCM of sip0.cube0.pe1 has 0x1000000 bytes; give an offset in it, such as `offset` of "),
        (HBM, "sram", ", which are in sip0.cube0.hbm_ctrl.pe1; give the space 'hbm'"),
        (SRAM, "hbm", ", which are in sip0.cube0.sram; give the space 'sram'"),
    ],
)
def test_a_message_is_copied_to_the_memory_that_is_named(address, space, problem, shape, live):
    def right(*, tl):
        tl.recv("W", shape, dst_addr=address, dst_space=space)

    sentence = refused(send(8), right, live=live)
    assert sentence.startswith(f"tl.recv got dst_addr={address:#x} in {space!r} for 16 bytes{problem}"), sentence


@pytest.mark.parametrize(("address", "space", "right"), [(HBM, "sram", "hbm"), (SRAM, "hbm", "sram")])
def test_what_is_sent_is_in_the_memory_that_is_named(address, space, right):
    def left(*, tl):
        tl.send("E", src_addr=address, shape=8, space=space)

    where = "hbm_ctrl.pe0" if right == "hbm" else "sram"
    assert refused(left) == (
        f"tl.send got src_addr={address:#x} in {space!r} for 16 bytes, which are in sip0.cube0.{where}; "
        f"give the space {right!r}"
    )


def test_a_direction_must_lead_somewhere():
    assert refused(send(8, way="N")) == (
        "tl.send got the direction 'N', where sip0.cube0.pe0 has no neighbour; it has one at E"
    )
    assert refused(recv(8, way="intra_W")) == (
        "tl.recv got the direction 'intra_W', where sip0.cube0.pe0 has no neighbour; it has one at E"
    )


def test_a_pe_without_neighbours_is_told_what_to_do():
    mesh = Mesh(line(A, B))
    mesh.ipcq.install({})
    mesh.pes[A] = mesh._pe(A)
    with pytest.raises(KernelError) as caught:
        mesh.run({A: send(8)})
    sentence = str(caught.value)
    assert "tl.send was called on sip0.cube0.pe0, which has no neighbours, at " in sentence
    assert sentence.endswith("; let the host call torch.distributed.init_process_group first")


@pytest.mark.parametrize("live", [False, True])
def test_both_ends_must_mean_as_many_bytes(live):
    with pytest.raises(KernelError) as caught:
        Mesh(line(A, B), live=live).run({A: send(8), B: recv(16)})
    assert (
        "tl.recv has 32 bytes for message 0 from sip0.cube0.pe0 (its E) to sip0.cube0.pe1 (its W), "
        "where the other end has 16, at "
    ) in str(caught.value)
    assert str(caught.value).endswith("; give both ends one shape and dtype")


def test_a_message_may_be_read_as_another_type_of_as_many_bytes():
    def right(*, tl):
        tl.store(BASE, tl.recv("W", 4, "f32"))

    run = both({A: lambda *, tl: tl.send("E", tl.full(8, 1.0)), B: right}, line(A, B))
    assert (numbers(run, B, 8) == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["flit", "hybrid"])
def test_many_messages_across_the_default_machine(mode):
    """A ring of cubes around the corner of a package and over to the other package."""
    wheres = [(0, 0, 0), (0, 1, 0), (0, 5, 3), (1, 0, 0), (1, 15, 7)]
    tables = line(*wheres, tier="sram")
    kernels = {where: partial(_pass_on, i, len(wheres)) for i, where in enumerate(wheres)}
    run = both(kernels, tables, topology="sip_2x4x4", mode=mode)
    for i, where in enumerate(wheres):
        assert (numbers(run, where, 2048) == sum(range(i + 1))).all()


def _pass_on(i, count, *, tl):
    total = tl.full(2048, i)
    if i:
        total = total + tl.recv("W", 2048)
    if i + 1 < count:
        tl.send("E", total)
    tl.store(BASE, total)


def test_modes_agree():
    kernels = {A: sender(10, 3, "E", 8), C: sender(20, 1, "W", 8), B: collector(16)}
    assert both(kernels, line(A, B, C)).ends == both(kernels, line(A, B, C), mode="flit").ends


def test_rings_may_differ_by_direction():
    tables = line(A, B)
    tables[B]["E"], tables[C] = Ring(*C, "W", 2, 256, "hbm"), {"W": Ring(*B, "E", 2, 256, "hbm")}
    run = both(
        {A: send(2048), B: lambda *, tl: (tl.recv("W", 2048), tl.send("E", tl.zeros(128))), C: recv(128)}, tables
    )
    assert [note["queue"] for note in run.mesh.pes[C].thread.notes.values()] == ["sip0.cube0.pe1:E"]


def test_numbers_are_kept_as_they_were_sent():
    """A live kernel that scribbles over what it sent changes nothing."""

    def left(*, tl):
        x = tl.load(BASE, 8)
        tl.send("E", x)
        x.data[:] = 9

    mesh = Mesh(line(A, B), live=True)
    mesh.run({A: left, B: lambda *, tl: tl.store(BASE, tl.recv("W", 8))})
    assert (mesh.memory[B].read(BASE, (8,), "f16") == np.zeros(8)).all()


@st.composite
def conversations(draw):
    """Messages in an order that all three PEs keep to: (from, to, elements, cycles before it, how it is received)."""
    ways = [(A, (B,), "E"), (B, (A,), "W"), (B, (C,), "E"), (C, (B,), "W"), (B, (A, C), ("W", "E"))]
    how = st.sampled_from(["recv", "recv_async", "recv_no_consume", "copy", "shapeless", "used"])
    one = st.tuples(st.sampled_from(ways), st.integers(1, 300), st.integers(0, 60), how)
    return draw(st.lists(one, min_size=1, max_size=12))


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(conversations(), st.integers(1, 3), st.sampled_from(["tcm", "sram", "hbm"]))
def test_any_conversation_is_the_same_in_every_way_of_running(messages, n_slots, tier):
    def kernel(here, *, tl):
        waiting = []
        for i, ((source, targets, way), elements, cycles, how) in enumerate(messages):
            if here == source:
                tl.cycles(cycles)
                tl.send(way, tl.full(elements, i + 1))
            elif here in targets:
                back = "E" if here < source else "W"
                if how == "recv_async":
                    waiting.append((i, tl.recv_async(back, elements)))
                    if len(waiting) < n_slots:
                        continue
                for at, future in waiting:
                    tl.store(BASE + 1024 * at, tl.wait(future))
                waiting.clear()
                if how == "copy":
                    tl.recv(back, elements, dst_addr=BASE + 1024 * i, dst_space="hbm")
                elif how == "shapeless":
                    tl.store(BASE + 1024 * i, tl.recv(back))
                elif how == "used":
                    copied = tl.recv(back, elements, dst_addr=BASE + 65536, dst_space="hbm")
                    tl.store(BASE + 1024 * i, copied + 0)
                elif how != "recv_async":
                    tl.store(BASE + 1024 * i, getattr(tl, how)(back, elements))
        for at, future in waiting:
            tl.store(BASE + 1024 * at, tl.wait(future))

    kernels = {where: partial(kernel, where) for where in (A, B, C)}
    quick, exact = (both(kernels, line(A, B, C, n_slots=n_slots, tier=tier), mode=mode) for mode in ("hybrid", "flit"))
    assert quick.ends == exact.ends
    for i, ((_, targets, _), elements, _, _) in enumerate(messages):
        for target in targets:
            assert (numbers(quick, target, elements, offset=1024 * i) == i + 1).all()
