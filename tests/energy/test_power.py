"""Power over time: bins add up to the energy of a run, and energy falls where work was done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kernbench
from kernbench.energy.power import apportion, spread_energies
from kernbench.energy.row_places import place_energies
from kernbench.energy.run_energy import RunEnergy
from kernbench.engine import Session
from kernbench.errors import InputError
from kernbench.machine.intents import Intent, RouteKind
from kernbench.oplog.bins import Bins
from kernbench.oplog.causes import Times
from kernbench.oplog.transfers import find_transfers
from kernbench.program.program import Program
from kernbench.runs.result import RunResult
from kernbench.units import FS_PER_NS
from tests.energy.round_sheet import round_machine

RUNS: dict[str, dict[str, Any]] = {
    "matmul-composite": {"topology": "tiny"},
    "ccl-allreduce": {"topology": "tiny"},
    "pe-to-pe": {"topology": "tiny", "live": True},
    "tanto-matmul": {"parameters": {"M": 64, "N": 64, "K": 64}},
    "blocked_gemm": {},
}


@pytest.fixture(scope="module", params=RUNS)
def result(request: pytest.FixtureRequest) -> RunResult:
    return kernbench.run(request.param, **RUNS[request.param])


def run_on(program: Program) -> RunEnergy:
    session = Session(program)
    session.run()
    times = Times(session.op_issue_fs, session.op_start_fs, session.op_end_fs)
    return RunEnergy(program, session.now_fs, times=times)


@pytest.mark.parametrize("bins", [1, 7, 256, 2048])
def test_bins_add_up_to_the_energy_of_the_run(result: RunResult, bins: int) -> None:
    energy = result.energy()
    power = energy.power(bins)
    assert len(power.total_aj) == len(power.static_aj) == len(power.bins.start_fs) <= bins
    assert sum(power.total_aj) == energy.total_aj
    assert sum(power.static_aj) == energy.static_aj
    dynamic = {part: of[0] for part, of in energy.by_part().items() if of[0]}
    assert {part: sum(each) for part, each in power.dynamic_aj.items()} == dynamic
    assert min(min(each) for each in (power.static_aj, *power.dynamic_aj.values())) >= 0
    assert np.dot(power.watts, power.bins.length_fs) * 1000 == pytest.approx(energy.total_aj, rel=1e-9)


def test_energy_goes_to_the_places_of_its_uses(result: RunResult) -> None:
    energy = result.energy()
    assert energy.times is not None
    placed = place_energies(energy.rows, lambda place, part: (place, part))
    bins = Bins.over(0, energy.makespan_fs, 16)
    total = spread_energies(energy.program, energy.times, bins, placed).sum(axis=0)
    found = {group: aj for group, aj in zip(placed.groups, total.tolist(), strict=True) if aj}
    uses = dict[tuple[int, str], int]()
    for use in energy.uses.uses:
        uses[use.place, use.part] = uses.get((use.place, use.part), 0) + use.energy_aj
    assert found == pytest.approx({key: aj for key, aj in uses.items() if aj}, rel=1e-9)


def test_groups_may_leave_places_out(result: RunResult) -> None:
    energy = result.energy()
    placed = place_energies(energy.rows, lambda _, part: "kept" if part == "technology" else None)
    assert placed.groups == ("kept",)
    assert energy.times is not None
    bins = Bins.over(0, energy.makespan_fs, 1)
    found = spread_energies(energy.program, energy.times, bins, placed).sum()
    assert found == pytest.approx(energy.by_part()["technology"][0], rel=1e-9)


def test_power_is_the_same_in_every_mode() -> None:
    given: dict[str, dict[str, Any]] = {"flit": {"mode": "flit"}, "hybrid": {"mode": "hybrid"}, "live": {"live": True}}
    runs = (kernbench.run("matmul-composite", topology="tiny", **how) for how in given.values())
    flit, hybrid, live = (run.energy().power() for run in runs)
    assert flit.dynamic_aj == hybrid.dynamic_aj
    for part, each in hybrid.dynamic_aj.items():  # live, rows are in another order
        assert live.dynamic_aj[part] == pytest.approx(each, rel=1e-9, abs=1e-6 * sum(each) / len(each))
    assert flit.static_aj == hybrid.static_aj == live.static_aj


def test_a_job_draws_its_energy_while_it_lasts() -> None:
    """131,072 flop of 0.5 pJ in 8,192 ns at 16 GFLOPS: 65,536 pJ, 8 W; before and after, static power alone."""
    machine = round_machine(pe_gemm__tflops_f16=0.016)
    program, pe = Program(machine), machine.places.pe(0, 0, 0)
    thread = program.thread("sip0.cube0.pe0.pe_scheduler")
    done = program.counter("done")
    thread.delay(program.duration(("ns", 1000)))
    thread.exec(pe.gemm_server, program.duration(*machine.costs.product(32, 64, 32, 16)), done)
    thread.wait(done, 1)
    thread.delay(program.duration(("ns", 1000)))
    energy = run_on(program)
    power = energy.power(1 << 20)
    assert power.dynamic_aj.keys() == {"pe_gemm"}
    start_ns = power.bins.start_fs // FS_PER_NS
    ends_ns = energy.makespan_fs // FS_PER_NS - 1000
    works = (start_ns >= 1000) & (start_ns < ends_ns)
    dynamic = np.array(power.dynamic_aj["pe_gemm"])
    assert not dynamic[~works].any()
    each = 65_536 * 10**6 / (ends_ns - 1000)
    assert dynamic[works] == pytest.approx(each, abs=1)
    assert power.watts[power.peak] == pytest.approx(energy.static_aj / energy.makespan_fs / 1000 + each / 1e9, rel=1e-6)


def test_a_transfer_draws_its_energy_while_its_data_are_on_the_way() -> None:
    machine = round_machine()
    program, pe = Program(machine), machine.places.pe(0, 0, 0)
    thread = program.thread(machine.node_name[pe.dma])
    route = machine.routing.route(pe.dma, machine.places.hbm(1, 0, 0), Intent.PE_DMA, RouteKind.READ)
    done = program.counter("read")
    thread.move(route, 16384, done=done, hold=pe.dma_read)
    thread.wait(done, 1)
    energy = run_on(program)
    assert energy.times is not None
    moved = find_transfers(program, energy.times, np.arange(program.row_count), ends=False)
    power = energy.power(1 << 20)
    drawn = np.flatnonzero(power.dynamic_aj["hbm"])
    assert drawn[0] == moved.leave_fs[0] // FS_PER_NS > 0
    assert drawn[-1] == (moved.arrive_fs[0] - 1) // FS_PER_NS
    assert len(drawn) == drawn[-1] - drawn[0] + 1


def test_analytic_mode_has_no_power_over_time() -> None:
    bounds = kernbench.run("vector-add", topology="tiny", mode="analytic")
    with pytest.raises(
        InputError, match=r"^analytic mode has no events, so it keeps no power over time; use mode hybrid$"
    ):
        bounds.energy().power()


@pytest.mark.parametrize("total", [0, 1, 10**6 + 1, 2**53 + 1, 3**60])
def test_apportioned_numbers_add_up_whatever_their_size(total: int) -> None:
    weight = np.random.default_rng(1).random(1000) ** 9
    found = apportion(total, weight)
    assert sum(found) == total
    assert min(found) >= 0
    if total > 1 << 60:
        assert np.array(found, float) / total == pytest.approx(weight / weight.sum(), abs=1e-9)


def test_what_rounding_leaves_is_no_energy() -> None:
    assert apportion(10**20, np.array([0.0, 1.0, 1e-12, -1e-12, 1.0])) == [0, 5 * 10**19, 0, 0, 5 * 10**19]
    assert apportion(9, np.zeros(3)) == [3, 3, 3]
