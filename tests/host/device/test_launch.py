"""Launches: the barrier, the order of a stream, SIPs side by side."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import InputError, KernelError
from kernbench.host.device.launch import Launch
from kernbench.host.torch.context import RuntimeContext
from kernbench.runs.metrics import run_metrics
from kernbench.tl.registry import get_kernel, register_kernel
from tests.host.conftest import Make

NS = 1_000_000


def times(torch: RuntimeContext, launch: Launch) -> tuple[int, int]:
    session = torch.driven.session
    return launch.left_fs(session.op_issue_fs), launch.back_fs(session.op_end_fs)


def busy(tl) -> None:
    tl.cycles(10 * (1 + tl.program_id(0)) + 100 * tl.program_id(1))


def test_all_pes_start_at_the_arrival_of_the_last(make: Make) -> None:
    torch = make()
    torch.launch("busy", busy)
    torch.synchronize()
    session, launch = torch.driven.session, torch.runtime.launches[0]
    rows = [(thread.find_row(row - 1), thread.find_row(row)) for thread, row in launch.started]
    arrived, opened = ([int(session.op_end_fs[row]) for row in column] for column in zip(*rows, strict=True))
    assert len(set(arrived)) > 1
    assert set(opened) == {max(arrived)}


def test_a_launch_is_fanned_out_on_the_way_and_gathered_on_the_way_back(make: Make) -> None:
    """One message from the host, one to each cube, one to each PE; back it is one from each, after those below it."""
    torch = make()
    torch.launch("busy", busy)
    torch.synchronize()
    program, machine, session = torch.driven.program, torch.driven.machine, torch.driven.session
    ends: dict[str, list[int]] = {}
    for row in np.flatnonzero((program.op[:, 0] == 2) & (program.op_tag == program.tag("launch"))):
        name = machine.node_name[machine.edge_dst[machine.routing.edges(int(program.op[row, 1]))[-1]]]
        ends.setdefault(name, []).append(int(session.op_end_fs[row]))
    assert {name: len(found) for name, found in ends.items()} == {
        "sip0.io0.io_cpu": 1 + 2,
        **{f"sip0.cube{cube}.m_cpu": 1 + 2 for cube in (0, 1)},
        **{f"sip0.cube{cube}.pe{pe}.pe_cpu": 1 for cube in (0, 1) for pe in (0, 1)},
        "sip0.io0.pcie_ep": 1,
    }
    io_cpu = sorted(ends["sip0.io0.io_cpu"])
    for cube in (0, 1):
        m_cpu = sorted(ends[f"sip0.cube{cube}.m_cpu"])
        pes = [ends[f"sip0.cube{cube}.pe{pe}.pe_cpu"][0] for pe in (0, 1)]
        assert io_cpu[0] < m_cpu[0] < min(pes) < max(pes) < m_cpu[1] <= m_cpu[2] < io_cpu[2]
    assert io_cpu[2] < ends["sip0.io0.pcie_ep"][0]


def test_pe_exec_counts_from_the_barrier_to_the_last_pe(make: Make) -> None:
    torch = make()
    torch.launch("busy", busy)
    torch.synchronize()
    assert run_metrics(torch.driven.session, torch.runtime.launches)["pe_exec_ns"] == 120


def test_launches_of_one_sip_follow_each_other(make: Make) -> None:
    torch = make()
    torch.launch("one", busy)
    torch.launch("two", busy)
    torch.synchronize()
    (left, back), (left_too, back_too) = (times(torch, launch) for launch in torch.runtime.launches)
    assert left_too == back
    assert back_too - left_too == back - left
    assert run_metrics(torch.driven.session, torch.runtime.launches)["pe_exec_ns"] == 240
    assert run_metrics(torch.driven.session, torch.runtime.launches)["latency_ns"] == (back_too - left) / NS


def test_launches_of_two_sips_run_side_by_side(make: Make) -> None:
    torch = make(sips__count=2)
    for sip in range(torch.device_count):
        with torch.device(sip):
            torch.launch("busy", busy)
    torch.synchronize()
    first, second = (times(torch, launch) for launch in torch.runtime.launches)
    assert first == second
    assert run_metrics(torch.driven.session, torch.runtime.launches)["pe_exec_ns"] == 120


def test_what_is_launched_after_a_wait_begins_then(make: Make) -> None:
    torch = make()
    torch.launch("one", busy)
    torch.synchronize()
    now = torch.driven.session.now_fs
    torch.launch("two", busy)
    torch.synchronize()
    assert times(torch, torch.runtime.launches[1])[0] == now


def test_a_launch_reaches_the_pes_that_hold_its_tensors(make: Make) -> None:
    seen = []

    def look(ptr, tl) -> None:
        seen.append((ptr, tl.program_id(1), tl.program_id(0), tl.num_programs(1), tl.num_programs(0)))

    torch = make()
    a = torch.zeros(4, dp=torch.DPPolicy(num_pes=1))
    torch.launch("look", look, a)
    assert seen == [(a.data_ptr(), 0, 0, 2, 1), (a.data_ptr(), 1, 0, 2, 1)]


@pytest.mark.parametrize("model", ["va", "pa", "la"])
def test_tensors_may_lie_on_different_pes(make: Make, model: str) -> None:
    """A scale that one PE holds, rows that the PEs of its cube hold, and a sum of each cube."""

    def scaled(scale, x, sums, tl) -> None:
        if tl.program_id(1):
            tl.store(sums + 2 * tl.program_id(1), tl.full(1, 7))
            return
        mine = x + 8 * tl.program_id(0)
        tl.store(mine, tl.load(mine, 4) * tl.load(scale, 1))

    torch = make(mmu__model=model)
    scale = torch.full((1,), 3, dp=torch.DPPolicy(num_cubes=1, num_pes=1), name="scale")
    x = torch.full((2, 4), 2, dp=torch.DPPolicy(num_cubes=1, pe="row_wise"), name="x")
    sums = torch.zeros((2,), dp=torch.DPPolicy(cube="row_wise", num_pes=1), name="sums")
    launch = torch.launch("scaled", scaled, scale, x, sums)
    assert (launch.message.target_cubes, launch.message.target_pe) == ((0, 1), (0, 1))
    assert x.numpy().tolist() == [[6] * 4] * 2
    if model != "pa":  # where the parts of a tensor do not follow each other
        assert sums.numpy().tolist() == [0, 7]


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("va", "is in tensor 'one', which only the PEs of cube0 map; make the tensor with a larger num_cubes"),
        ("la", "is mapped by no tensor and is not the physical address of a memory"),
    ],
)
def test_a_tensor_of_other_cubes_is_out_of_reach(make: Make, model: str, sentence: str) -> None:
    def reach(one, both, tl) -> None:
        tl.load(both + 8 * tl.program_id(1), 4)
        tl.load(one, 4)

    torch = make(mmu__model=model)
    one = torch.zeros(4, dp=torch.DPPolicy(num_cubes=1, num_pes=1), name="one")
    both = torch.zeros((2, 4), dp=torch.DPPolicy(cube="row_wise", num_pes=1), name="both")
    with pytest.raises(KernelError) as error:
        torch.launch("reach", reach, one, both)
    assert str(error.value).startswith("kernel reach on sip0.cube1.pe0, at ")
    assert sentence in str(error.value)


def test_a_launch_takes_the_name_of_its_kernel_however_often(make: Make) -> None:
    """Each launch runs the function it was given, and the name is that of the latest."""
    ran = []

    def one(tl) -> None:
        ran.append("one")

    def two(tl) -> None:
        ran.append("two")

    torch = make()
    for kernel in (one, two, two):
        torch.launch("k", kernel)
        assert get_kernel("k") is kernel
    assert ran == ["one"] * 4 + ["two"] * 8


def test_a_registered_kernel_is_launched_by_its_name(make: Make) -> None:
    ran = []

    def kernel(x, n, tl) -> None:
        ran.append((x, n))

    torch = make()
    x = torch.zeros(4, dp=torch.DPPolicy(num_cubes=np.int64(1), num_pes=np.int32(1)))
    register_kernel("by its name", kernel)
    torch.launch("by its name", x, 3)
    torch.launch("by its name", None, x, 4)
    torch.launch("given with it", kernel, x, 5)
    torch.launch("given with it", x, 6)
    assert ran == [(x.data_ptr(), n) for n in (3, 4, 5, 6)]
    with pytest.raises(InputError) as error:
        torch.launch("by its nam", x)
    assert str(error.value).startswith(
        "torch.launch got 'by its nam' without a kernel, and none is registered by that name; did you mean 'by its name'? "
    )
    assert str(error.value).endswith("; give the kernel after its name")


@pytest.mark.parametrize("live", [False, True])
def test_a_kernel_that_raises(make: Make, live: bool) -> None:
    """The first PE is told, whichever is the first in time; live, the host is told where it launched."""

    def bad(tl) -> None:
        raise LookupError("nothing there")

    def launch(torch: RuntimeContext) -> None:
        torch.launch("bad", bad)
        torch.synchronize()

    line = bad.__code__.co_firstlineno + 1
    with pytest.raises(KernelError) as error:
        launch(make(live))
    assert str(error.value) == (
        f"kernel bad on sip0.cube0.pe0 raised LookupError: nothing there, at tests/host/device/test_launch.py:{line}"
        + (f"; launched at tests/host/device/test_launch.py:{line + 3}" if live else "")
    )


def test_a_live_kernel_sees_what_other_launches_left(make: Make) -> None:
    got = []

    def write(ptr, tl) -> None:
        tl.store(ptr, tl.full((4,), 7, "i32"))

    def read(ptr, tl) -> None:
        got.append(tl.load(ptr, (4,), "i32").data.tolist())

    torch = make(live=True)
    a = torch.zeros(4, "i32", torch.DPPolicy(num_cubes=1, num_pes=1))
    torch.launch("write", write, a)
    torch.launch("read", read, a)
    torch.synchronize()
    assert got == [[7, 7, 7, 7]]
    assert a.numpy().tolist() == [7, 7, 7, 7]
