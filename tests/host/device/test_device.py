"""What the device answers: failures come back to the host call that caused them, and the device goes on."""

from __future__ import annotations

import gc
import re
from typing import Any

import numpy as np
import pytest

from kernbench.errors import AddressError, DeadlockError, InputError, KernelError, LimitError, OutOfMemoryError
from kernbench.host.memory.placement import DPPolicy
from kernbench.host.messages import KernelLaunch, Response, Shard
from kernbench.host.torch.context import RuntimeContext
from kernbench.tl.lowering.ipcq import Ring
from tests.host.conftest import Make

ONE_PE = DPPolicy(num_cubes=1, num_pes=1)


def fill(x: int, value: int, tl: Any) -> None:
    tl.store(x, tl.load(x, 8, "f32") * 0 + value)


def fill_then_fail(x: int, value: int, tl: Any) -> None:
    fill(x, value, tl)
    raise ValueError("no more")


def read_nowhere(x: int, tl: Any) -> None:
    tl.load(1 << 60, 8)


def fill_scratch(x: int, tl: Any) -> None:
    tl.zeros((1024, 600)) + 1


@pytest.mark.parametrize(
    ("kernel", "code", "said"),
    [
        (lambda x, tl: 1 // 0, "kernel_failed", "raised ZeroDivisionError: integer division or modulo by zero"),
        (read_nowhere, "bad_address", "address 0x1000000000000000 is mapped by no tensor"),
        (fill_scratch, "scratch_full", "scratch memory is full"),
    ],
)
def test_a_failed_launch_raises_with_the_devices_answer(make: Make, kernel: Any, code: str, said: str) -> None:
    torch = make()
    x = torch.zeros(16)
    with pytest.raises(KernelError) as error:
        torch.launch("k", kernel, x)
    answer = error.value.response
    assert (answer.ok, answer.error_code, answer.error_message) == (False, code, str(error.value))
    assert "kernel k on sip0.cube0.pe0" in answer.error_message
    assert said in answer.error_message


def test_a_failed_launch_leaves_a_device_that_goes_on(make: Make) -> None:
    torch = make()
    x = torch.zeros(8, "f32")
    with pytest.raises(KernelError):
        torch.launch("bad", fill_then_fail, x, 1)
    torch.synchronize()
    failed_fs = torch.driven.session.now_fs
    assert failed_fs > 0
    assert x.numpy().tolist() == [1] * 8  # what it did before it failed, it did
    done = torch.launch("good", fill, x, 2)
    assert done.response is None
    assert x.numpy().tolist() == [2] * 8
    assert done.response == Response(ok=True)
    assert repr(done) == f"Launch('good' on sip0, 2 cubes x 2 PEs, at {done.place}, response={done.response})"


def test_all_pes_run_whichever_fails_and_the_first_of_those_is_told(make: Make) -> None:
    ran: list[tuple[int, int]] = []

    def fails_on_the_second(x: int, tl: Any) -> None:
        ran.append((tl.program_id(1), tl.program_id(0)))
        if tl.program_id(0) == 1:
            raise ValueError

    torch = make()
    with pytest.raises(KernelError, match=r"^kernel k on sip0\.cube0\.pe1 raised ValueError"):
        torch.launch("k", fails_on_the_second, torch.zeros(8, "f32"))
    assert ran == [(0, 0), (0, 1), (1, 0), (1, 1)]
    torch.synchronize()


def test_a_limit_of_the_run_ends_a_launch_at_once(make: Make) -> None:
    ran: list[int] = []

    def endless(x: int, tl: Any) -> None:
        ran.append(tl.program_id(0))
        if tl.program_id(0) == 0:
            raise ValueError
        while True:
            tl.load(x, 8)

    torch = make()
    torch.driven.program.most_ops = 100
    with pytest.raises(LimitError, match=r"^kernel k on sip0\.cube0\.pe1, at "):
        torch.launch("k", endless, torch.zeros(8))
    assert ran == [0, 1]


def test_each_failed_launch_is_told_once(make: Make) -> None:
    torch = make(live=True)
    x = torch.zeros(8, "f32")
    launches = [
        torch.launch(name, kernel, x, 1) for name, kernel in (("a", fill_then_fail), ("b", fill), ("c", fill_then_fail))
    ]
    for name in "ac":
        with pytest.raises(KernelError, match=rf"^kernel {name} on sip0\.cube0\.pe0 raised"):
            torch.synchronize()
    torch.synchronize()
    assert [launch.response.ok for launch in launches] == [False, True, False]


def test_a_live_kernel_fails_at_the_call_that_waits_for_it(make: Make) -> None:
    torch = make(live=True)
    x = torch.zeros(8, "f32")
    launch = torch.launch("bad", fill_then_fail, x, 1)
    with pytest.raises(KernelError, match=r"^kernel bad on sip0\.cube0\.pe0 raised ValueError: no more, at ") as error:
        torch.synchronize()
    said, _, place = str(error.value).rpartition("; launched at ")
    assert place == launch.place
    assert re.search(r"tests/host/device/test_device\.py:\d+$", place)
    assert launch.response == error.value.response == Response(False, "kernel_failed", said)
    torch.synchronize()
    torch.launch("good", fill, x, 2)
    assert x.numpy().tolist() == [2] * 8


def launch_and_wait(torch: RuntimeContext, kernel: Any, *args: Any) -> None:
    torch.launch("k", kernel, *args)
    torch.synchronize()


def test_times_of_a_failed_launch_are_the_same_live(make: Make) -> None:
    def now_fs(live: bool) -> int:
        torch = make(live)
        x = torch.zeros(8, "f32", ONE_PE)
        with pytest.raises(KernelError):
            launch_and_wait(torch, fill_then_fail, x, 1)
        torch.synchronize()
        return torch.driven.session.now_fs

    assert now_fs(live=True) == now_fs(live=False)


@pytest.mark.parametrize(("cubes", "pes"), [((0, 7), (0,)), ((0,), (5,))])
def test_a_launch_on_pes_that_are_not_there_leaves_nothing(make: Make, cubes: Any, pes: Any) -> None:
    torch = make()
    with pytest.raises(InputError, match=r"^the machine has no sip0\.cube\d\.pe\d; it has sip0 to sip0, "):
        torch.driven.launch(KernelLaunch("k", (), 0, cubes, pes), fill)
    torch.synchronize()
    assert torch.driven.session.now_fs == 0


def exec_ns(torch: RuntimeContext) -> float:
    torch.synchronize()
    session = torch.driven.session
    return torch.runtime.launches[-1].pe_exec_fs(session.op_issue_fs, session.op_end_fs) / 1e6


def test_a_dma_without_a_kernel_takes_the_time_of_its_bytes(make: Make) -> None:
    torch = make()
    x = torch.zeros(16384, "i8", ONE_PE)
    torch.pe_dma(x.shards[0])
    near = exec_ns(torch)
    assert 16384 / 256 < near < 77  # of a kernel's 77 ns, without its CPU, scheduler and look-up
    torch.pe_dma(x.shards[0], write=True)
    assert exec_ns(torch) == pytest.approx(near, rel=0.1)
    torch.pe_dma(x.shards[0], cube=1, pe=1)
    assert exec_ns(torch) > near + 16


def test_dmas_of_one_pe_wait_for_its_channel_and_show_in_the_log(make: Make) -> None:
    torch = make()
    x = torch.zeros(16384, "i8", ONE_PE)
    done = [torch.pe_dma(x.shards[0]), torch.pe_dma(x.shards[0])]
    torch.synchronize()
    assert [launch.response for launch in done] == [Response(ok=True)] * 2
    program = torch.driven.program
    moves = program.op[(program.op[:, 0] == 2) & (program.op_tag == program.tag("dma_read", "memory"))]
    assert moves[:, 2].tolist() == [16384, 16384]
    assert (moves[:, 5] == torch.driven.machine.places.pe(0, 0, 0).dma_read).all()


@pytest.mark.parametrize(
    ("shard", "sentence"),
    [
        (Shard(0, 0, 0, 1 << 48, 64), "64 bytes at 0x1000000000000 do not lie in one memory of the machine"),
        (Shard(0, 0, 0, (6 << 30) - 32, 64), "64 bytes at 0x17fffffe0 do not lie in one memory of the machine"),
    ],
)
def test_a_dma_to_nowhere_is_answered_so(make: Make, shard: Shard, sentence: str) -> None:
    torch = make()
    with pytest.raises(AddressError) as error:
        torch.pe_dma(shard)
    assert str(error.value) == f"PeDma of sip0.cube0.pe0: {sentence}; give the physical address of a shard"
    assert error.value.response.error_code == "bad_address"
    torch.pe_dma(torch.zeros(64, "i8", ONE_PE).shards[0])
    torch.synchronize()


def test_no_pe_starts_before_the_time_that_is_asked_for(make: Make) -> None:
    def starts_ns(start_ns: float | None) -> float:
        torch = make()
        torch.launch("fill", fill, torch.zeros(8, "f32"), 1, start_ns=start_ns)
        torch.synchronize()
        end_fs = torch.driven.session.op_end_fs
        (launch,) = torch.runtime.launches
        (start,) = {int(end_fs[thread.find_row(row)]) for thread, row in launch.started}
        return start / 1e6

    soonest = starts_ns(None)
    assert starts_ns(0) == starts_ns(soonest - 1) == soonest
    assert starts_ns(soonest + 0.5) == soonest + 0.5
    assert starts_ns(5000) == 5000


def test_a_copy_is_complete_when_each_of_its_shards_is(make: Make) -> None:
    torch = make()
    x = torch.zeros((4, 4096), "i8", DPPolicy("row_wise", "row_wise"))
    torch.synchronize()
    x.copy_(np.ones((4, 4096), np.int8))
    torch.synchronize()
    driven = torch.driven
    program, session = driven.program, driven.session
    writes = np.flatnonzero((program.op[:, 0] == 2) & (program.op_tag == program.tag("host_write", "memory")))
    ends = session.op_end_fs[writes]
    assert len(set(ends.tolist())) == len(writes) == 4
    assert session.now_fs == ends.max()


@pytest.mark.parametrize("op", ["host_write", "host_read"])
def test_the_shards_of_a_copy_leave_together(make: Make, op: str) -> None:
    """The endpoint spends its overhead on each, and has no queue."""
    took = {}
    for rows in (1, 4):
        torch = make()
        x = torch.zeros((rows, 128), "i8", DPPolicy("row_wise", "row_wise"))
        torch.synchronize()
        begun = torch.driven.session.now_fs
        x.copy_(np.ones((rows, 128), np.int8))
        torch.synchronize()
        if op == "host_read":
            begun = torch.driven.session.now_fs
            x.numpy()
        program, session = torch.driven.program, torch.driven.session
        moves = np.flatnonzero(program.op_tag == program.tag(op, "memory"))
        assert session.op_issue_fs[moves].tolist() == [begun] * rows
        took[rows] = session.op_end_fs[moves].min() - begun
    assert took[1] == took[4] > 8_000_000


@pytest.mark.parametrize("op", ["host_write", "host_read"])
def test_a_copy_is_one_message_a_shard_to_the_memory_of_its_address(make: Make, op: str) -> None:
    torch = make()
    x = torch.zeros((4, 4096), "i8", DPPolicy("row_wise", "row_wise"))
    x.copy_(np.ones((4, 4096), np.int8))
    x.numpy()
    program, machine = torch.driven.program, torch.driven.machine
    rows = program.op[(program.op[:, 0] == 2) & (program.op_tag == program.tag(op, "memory"))]
    ways = [machine.routing.edges(int(route)) for route in rows[:, 1]]
    memories = [machine.edge_dst[way[-1]] if op == "host_write" else machine.edge_src[way[0]] for way in ways]
    assert memories == [machine.places.memory_of(shard.pa)[0] for shard in x.shards]
    assert rows[:, 2].tolist() == [4096] * 4
    passed = {machine.node_kind[machine.edge_dst[edge]] for way in ways for edge in way}
    assert not passed & {"io_cpu", "m_cpu", "pe_cpu", "pe_dma"}


def test_a_device_that_hangs_says_who_waits(make: Make) -> None:
    torch = make()
    torch.driven._streams[0].thread.wait(torch.driven.program.counter("a message that never comes"), 1)
    with pytest.raises(DeadlockError, match=r"a message that never comes"):
        torch.synchronize()


def neighbours(**ring: Any) -> dict[tuple[int, int, int], dict[str, Ring]]:
    return {
        (0, 0, 0): {"intra_E": Ring(0, 0, 1, "intra_W", **ring)},
        (0, 0, 1): {"intra_W": Ring(0, 0, 0, "intra_E", **ring)},
    }


@pytest.mark.parametrize("tier", ["tcm", "sram", "hbm"])
def test_slots_of_queues_take_memory_until_the_queues_are_gone(make: Make, tier: str) -> None:
    torch = make()
    before = torch.reserve(tier, 64)
    queues = torch.driven.install_neighbours(neighbours(tier=tier))
    beyond = torch.reserve(tier, 64)
    rings = 2 if tier == "sram" else 1  # a cube has one SRAM for all its PEs
    assert beyond.data_ptr() - before.data_ptr() >= rings * 4 * 4096
    there = beyond.data_ptr()
    del queues, beyond
    gc.collect()
    assert torch.reserve(tier, 64).data_ptr() < there


def test_slots_that_do_not_fit_leave_nothing_allocated(make: Make) -> None:
    torch = make()
    first = torch.reserve("tcm", 64).data_ptr()
    with pytest.raises(OutOfMemoryError) as error:
        torch.driven.install_neighbours(neighbours(tier="tcm", slot_bytes=4 << 20))
    assert str(error.value) == (
        "a ring of 4 slots needs 16777216 bytes in the TCM of sip0.cube0.pe0, whose largest free block is 15728624 of "
        "15728624 bytes; spread it over more PEs or free another"
    )
    del error
    gc.collect()
    assert torch.reserve("tcm", 64).data_ptr() == first


def test_who_waits_for_a_failed_pe_does_not_hide_its_error(make: Make) -> None:
    def fails_or_waits(tl: Any) -> None:
        if tl.program_id(1) == tl.program_id(0) == 0:
            raise ValueError("no message from me")
        if tl.program_id(1) == 0:
            tl.recv("intra_W", 8)

    torch = make(live=True)
    torch.driven.ipcq = torch.driven.install_neighbours(neighbours())
    torch.launch("wait", fails_or_waits)
    with pytest.raises(
        KernelError, match=r"^kernel wait on sip0\.cube0\.pe0 raised ValueError: no message from me, at "
    ):
        torch.synchronize()
    with pytest.raises(DeadlockError, match=r"sip0\.cube0\.pe1"):
        torch.synchronize()


def copied_ns(make: Make, **overrides: object) -> float:
    """The time of a copy of 64 KiB to each of two cubes."""
    torch = make(pcie_ep__gbs=64, **overrides)
    x = torch.zeros((2, 32768), dp=DPPolicy(cube="row_wise", num_pes=1))
    torch.synchronize()
    started_fs = torch.driven.session.now_fs
    x.copy_(np.ones((2, 32768), np.float16))
    torch.synchronize()
    return (torch.driven.session.now_fs - started_fs) / 1e6


def test_each_io_chiplet_takes_the_copies_of_its_cubes(make: Make) -> None:
    one, two = copied_ns(make), copied_ns(make, sip__io_chiplets=2)
    assert 2 * 1024 < one < 2 * 1024 + 100  # 64 KiB at 64 GB/s take 1,024 ns
    assert 1024 < two < 1024 + 100
