"""Results of collectives at all copies of a replicated tensor: by sends down meshes, or by multicasts to the PEs of cubes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernbench import DPPolicy, RunResult, bench, run
from kernbench.ccl.broadcast_in_sip import Copies, cube_queues
from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.tl.lowering.ipcq import Ring, check_tables

LAYOUTS = {
    "everywhere": DPPolicy(),
    "in a cube": DPPolicy(cube="row_wise"),
    "over cubes": DPPolicy(pe="column_wise"),
    "in three PEs": DPPolicy(num_pes=3),
    "in five cubes": DPPolicy(num_cubes=5),
}


def reduced(
    elements: int,
    layout: str,
    topology: str = "tiny",
    times: int = 1,
    dtype: str = "i32",
    mode: str = "hybrid",
    **settings: Any,
) -> RunResult:
    """All ranks reduce a tensor of copies some times; `settings` are those of the group."""

    def worker(rank: int, torch: Any) -> None:
        dp = LAYOUTS[layout]
        tensor = torch.full((5, elements), rank + 1, dtype, dp, name=f"t{rank}")
        for _ in range(times):
            torch.distributed.all_reduce(tensor)
        torch.expect(tensor, np.full((5, elements), 3 * 2 ** (times - 1)), every_copy=True)

    @bench("reduced", "For a test")
    def found(torch: Any) -> None:
        torch.distributed.init_process_group(backend="ahbm", **settings)
        torch.multiprocessing.spawn(worker, args=(torch,), nprocs=2)

    return run(found, topology, mode=mode, overrides={"sips.count": 2}, verify=mode != "analytic")


def kernels(result: RunResult) -> list[str]:
    """The kernels that brought the results to the copies, one for each rank and collective."""
    return [launch.message.kernel_ref for launch in result.launches if launch.message.kernel_ref.startswith("spread")]


@pytest.mark.parametrize("intra", ["mesh", "all"])
@pytest.mark.parametrize("kind", ["tcm", "sram", "hbm"])
@pytest.mark.parametrize("layout", ["everywhere", "in a cube", "over cubes"])
def test_multicasts_bring_results_to_every_copy(layout: str, kind: str, intra: str) -> None:
    result = reduced(333, layout, copies="multicast", buffer_kind=kind, intra=intra, slot_size=256)
    assert result.verified, result.mismatches
    assert kernels(result) == ["spread" if layout == "over cubes" else "spread_by_multicast"] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "topology"),
    [("everywhere", "sip_2x4x4"), ("in three PEs", "sip_2x4x4"), ("in five cubes", "sip_2x4x4_credit")],
)
def test_multicasts_bring_results_to_every_copy_on_the_full_machine(layout: str, topology: str) -> None:
    result = reduced(301, layout, topology, copies="multicast")
    assert result.verified, result.mismatches
    assert kernels(result) == ["spread_by_multicast"] * 2


def test_both_modes_take_the_same_time() -> None:
    hybrid, flit = (reduced(700, "everywhere", copies="multicast", mode=mode) for mode in ("hybrid", "flit"))
    assert hybrid.makespan_ns == flit.makespan_ns


def test_the_analytic_bound_holds() -> None:
    exact, bound = (reduced(700, "everywhere", copies="multicast", mode=mode) for mode in ("hybrid", "analytic"))
    assert bound.lower_ns is not None
    assert exact.latency_ns / 2 < bound.lower_ns <= exact.latency_ns


def test_small_results_go_by_sends_and_large_ones_by_multicasts() -> None:
    """A multicast needs queues that the PEs do not have yet; what they save must be worth the wait for them."""
    found = {
        copies: [reduced(n, "everywhere", copies=copies) for n in (100, 20_000)]
        for copies in ("auto", "mesh", "multicast")
    }
    assert [kernels(result)[0] for result in found["auto"]] == ["spread", "spread_by_multicast"]
    for at, auto in enumerate(found["auto"]):
        assert auto.latency_ns == min(found[way][at].latency_ns for way in ("mesh", "multicast"))


def test_queues_that_all_pes_of_a_cube_have_are_used_at_once() -> None:
    assert kernels(reduced(100, "everywhere", intra="all"))[0] == "spread_by_multicast"


def test_queues_of_all_pes_serve_copies_in_some_of_them() -> None:
    result = reduced(301, "in three PEs", "sip_2x4x4", copies="multicast", intra="all")
    assert result.verified, result.mismatches


def test_queues_are_installed_once() -> None:
    once, thrice = (reduced(100, "everywhere", times=times, copies="multicast") for times in (1, 3))
    assert kernels(thrice) == ["spread_by_multicast"] * 6
    installs = [(result.op_log()["op_name"] == "ipcq_install").sum() for result in (once, thrice)]
    assert installs[0] == installs[1] > 0


def test_nothing_is_chosen_where_slots_are_given() -> None:
    assert kernels(reduced(20_000, "everywhere", slot_size=4096)) == ["spread"] * 2


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(InputError) as error:
        reduced(8, "everywhere", copies="flood")
    assert "copies: got 'flood'" in str(error.value)


@pytest.mark.parametrize("cubes", [1, 3, 7, 16])
@pytest.mark.parametrize("over_cubes", [False, True])
def test_the_queues_of_multicasts_lead_back(cubes: int, over_cubes: bool) -> None:
    tables = {
        (0, *where): {name: Ring(0, *peer) for name, peer in table.items()}
        for where, table in cube_queues(Copies(cubes, 5, 4, 8, over_cubes, over_pes=True)).items()
    }
    check_tables(load_machine("sip_2x4x4"), tables)
    assert all(len(table) == 1 for (*_, pe), table in tables.items() if pe)


def test_a_kernel_sends_to_all_pes_of_its_cube_at_once() -> None:
    """Each PE in turn sends its number to all others of the cube, which add up what they get."""
    ahead = [f"intra_ahead_{n}" for n in range(1, 8)]

    def around(out: int, *, tl: Any) -> None:
        tl.send(ahead, tl.full(64, tl.program_id(0)))
        total = tl.full(64, tl.program_id(0))
        for direction in ahead:
            total = total + tl.recv(direction, 64)
        tl.store(out + 128 * (8 * tl.program_id(1) + tl.program_id(0)), total)

    @bench("around", "For a test")
    def found(torch: Any) -> None:
        torch.distributed.init_process_group(backend="ahbm", intra="all")
        out = torch.empty((8, 64), dp=DPPolicy(num_cubes=1, pe="row_wise"))
        torch.launch("around", around, out)
        torch.expect(out, np.full((8, 64), 28))

    result = run(found, "sip_2x4x4", verify=True)
    assert result.verified, result.mismatches
