"""What holds of the energy of every run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import kernbench
from kernbench.energy.run_energy import RunEnergy
from kernbench.energy.uses import Uses
from kernbench.runs.energy_shares import share_energy
from kernbench.runs.result import RunResult
from tests.energy.round_sheet import PJ, read_slices, round_machine

PRICED = ("noc.energy.byte_pj", "hbm.energy.read_byte_pj", "pe_gemm.energy.flop_16_pj", "pe_tcm.energy.read_byte_pj")
BENCHES = ("matmul-composite", "ccl-allreduce", "pe-to-pe")


def run(bench: str = "matmul-composite", topology: str = "tiny", mode: str = "hybrid", **given: Any) -> RunResult:
    return kernbench.run(bench, topology=topology, mode=mode, **given)


@pytest.fixture(scope="module", params=BENCHES)
def result(request: pytest.FixtureRequest) -> RunResult:
    return run(request.param)


def test_every_breakdown_adds_up_to_the_last_digit(result: RunResult) -> None:
    energy, total = result.energy(), result.dynamic_aj
    assert total is not None
    assert total > 0
    shares = share_energy(energy, result.launches)
    for parts in (
        [one.energy_aj or 0 for one in energy.by_action()],
        [dynamic for dynamic, _ in energy.by_part().values()],
        [dynamic for dynamic, _ in energy.by_die().values()],
        list(Uses.of(energy.rows).by_place().values()),
        [aj for *_, aj in shares.operations],
        [aj for *_, aj in shares.lines],
        [aj for *_, aj in shares.launches],
    ):
        assert len(parts) > 1
        assert sum(parts) == total
    for groups in (energy.by_part(), energy.by_die()):
        assert sum(static for _, static in groups.values()) == result.static_aj == energy.static_aj


@pytest.mark.parametrize("bench", BENCHES)
def test_dynamic_energy_is_the_same_in_every_mode(bench: str) -> None:
    flit, hybrid = (run(bench, mode=mode) for mode in ("flit", "hybrid"))
    live = run(bench, live=True)
    assert flit.dynamic_aj == hybrid.dynamic_aj == live.dynamic_aj
    assert flit.static_aj == hybrid.static_aj == live.static_aj


def test_dynamic_energy_does_not_depend_on_time() -> None:
    fast = run()
    slow = run(overrides={"hbm.channel_gbs": 4, "pe_scheduler.overhead_ns": 100, "noc.gbs": 64})
    assert slow.makespan_ns > 1.5 * fast.makespan_ns
    assert slow.dynamic_aj == fast.dynamic_aj
    assert (slow.static_aj or 0) > (fast.static_aj or 0)


def test_bounds_hold_the_energy_of_a_run() -> None:
    bounds, found = run(mode="analytic"), run()
    assert bounds.dynamic_aj == found.dynamic_aj
    assert (bounds.static_aj or 0) <= (found.static_aj or 0) <= (bounds.static_upper_aj or 0)


def times_prices(factor: int, fields: Mapping[str, float]) -> dict[str, object]:
    return {field: factor * price for field, price in fields.items()}


def test_energy_goes_with_prices() -> None:
    prices = {
        "technology.node_nm": 7,
        "technology.wire_pj_mm": 0.5,
        **{f"pe_gemm.energy.flop_{bits}_pj": 0.25 for bits in (8, 16, 32)},
        **{f"{part}.energy.{way}_byte_pj": 4 for part in ("hbm", "sram", "pe_tcm") for way in ("read", "write")},
        **{f"{part}.energy.byte_pj": 1 for part in ("noc", "io_noc", "switch")},
        **{f"{part}.energy.crossing_byte_pj": 3 for part in ("ucie", "pcie_ep", "sip_link")},
        **{
            f"{part}.energy.job_pj": 5
            for part in ("io_cpu", "m_cpu", "pcie_ep", "pe_cpu", "pe_scheduler", "pe_fetch_store")
        },
        "pe_dma.energy.transfer_pj": 7,
        "pe_mmu.energy.tlb_pj": 2,
        "pe_ipcq.energy.job_pj": 2,
    }
    once, node = run(overrides=prices), prices.pop("technology.node_nm")
    twice = run(overrides={**times_prices(2, prices), "technology.node_nm": node})
    assert twice.dynamic_aj == 2 * (once.dynamic_aj or 0)


@pytest.mark.parametrize("field", PRICED)
def test_a_price_changes_its_own_action_alone(field: str) -> None:
    base, changed = run(), run(overrides={field: 1000})
    part, _, action = field.removesuffix("_pj").split(".")
    one, other = ({(a.part, a.action): a for a in r.energy().by_action()} for r in (base, changed))
    assert one.keys() == other.keys()
    assert [key for key in one if one[key].energy_aj != other[key].energy_aj] == [(part, action)]
    assert [one[key].amount for key in one] == [other[key].amount for key in one]


def test_another_route_costs_links_and_routers_alone() -> None:
    near, far = (read_slices(round_machine(), (0, 0, pe)) for pe in (0, 7))
    amounts = [{(a.part, a.action): a.amount for a in energy.by_action()} for energy in (near, far)]
    changed = {key for key in amounts[0] if amounts[0][key] != amounts[1][key]}
    assert changed == {("noc", "byte"), ("technology", "wire")}
    assert far.dynamic_aj - near.dynamic_aj == 16384 * (10 * PJ + 27_500 * 600)


def test_mean_power_is_energy_over_the_makespan(result: RunResult) -> None:
    energy = result.energy()
    assert energy.mean_w == pytest.approx(energy.total_aj * 1e-18 / (result.makespan_ns * 1e-9), rel=1e-12)
    assert result.power_w == pytest.approx(energy.mean_w)
    assert result.energy_j == pytest.approx(energy.total_aj * 1e-18)


def test_sums_are_wider_than_64_bits() -> None:
    """9.2 J are 2**63 aJ: a transfer of 2**40 bytes at 35.6 pJ is 39 J."""
    energy = read_slices(round_machine(), (0, 0, 0), nbytes=1 << 30)
    wide = RunEnergy(energy.program, 10**16)
    assert energy.dynamic_aj == (1 << 30) * 35_600_000
    dear = read_slices(round_machine(hbm__energy__read_byte_pj="1000 nJ/B"), (0, 0, 0), nbytes=1 << 30)
    assert dear.dynamic_aj == (1 << 30) * (10**12 + 3_600_000)
    assert dear.dynamic_aj > 1 << 63
    assert sum(one.energy_aj or 0 for one in dear.by_action()) == dear.dynamic_aj
    assert wide.static_aj > 1 << 63
