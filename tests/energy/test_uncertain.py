"""Ranges of energies and prices, by hand."""

from __future__ import annotations

from math import hypot

import pytest

import kernbench
from kernbench.energy.uncertain import TotalRange, find_cost_range, find_energy_range
from kernbench.machine import load_machine
from kernbench.runs.result import RunResult


@pytest.fixture(scope="module")
def result() -> RunResult:
    return kernbench.run("matmul-composite", topology="tiny")


def test_each_end_is_the_energy_of_a_run_there(result: RunResult) -> None:
    """What is computed of one run is what runs with the ends of each range take."""
    found = find_energy_range(result.energy())
    assert found is not None
    fields = ("hbm.energy.read_byte_pj", "technology.static_w_mm2", "technology.wire_pj_mm", "hbm.silicon.static_mw")
    effects = {one.figure.field: one for one in found.effects}
    for field in fields:
        effect = effects[field]
        for end, energy in ((effect.figure.low, effect.at_low), (effect.figure.high, effect.at_high)):
            run = kernbench.run("matmul-composite", topology="tiny", overrides={field: end})
            assert energy == pytest.approx((run.dynamic_aj or 0) + (run.static_aj or 0), rel=1e-6)


def test_ends_are_combined_as_for_independent_errors(result: RunResult) -> None:
    found = find_energy_range(result.energy())
    assert found is not None
    more = [max(one.at_low, one.at_high) - found.value for one in found.effects]
    assert found.high == pytest.approx(found.value + hypot(*(max(one, 0) for one in more)))
    assert found.most == pytest.approx(found.value + sum(max(one, 0) for one in more))
    assert found.least <= found.low <= found.value <= found.high <= found.most
    sizes = [abs(one.at_high - one.at_low) for one in found.effects]
    assert sizes == sorted(sizes, reverse=True)


def test_the_range_of_a_price() -> None:
    found = find_cost_range(load_machine("tiny"))
    assert found is not None
    memory = next(one for one in found.effects if one.figure.field == "hbm.silicon.usd_gb")
    gb = 4 * 6 * 2**30 / 1e9
    assert memory.at_high - memory.at_low == pytest.approx(gb * (20 - 5))
    assert find_cost_range(load_machine("wormhole_n150")) is None


def test_what_somebody_sets_is_certain() -> None:
    result = kernbench.run("matmul-composite", topology="tiny", overrides={"technology.static_w_mm2": 0.05})
    found = find_energy_range(result.energy())
    assert found is not None
    assert "technology.static_w_mm2" not in {one.figure.field for one in found.effects}


def test_no_figure_no_range() -> None:
    assert TotalRange.of(7.0, []) == TotalRange(7.0, 7.0, 7.0, 7.0, 7.0, ())


def test_savings_are_halves_of_what_is_spent(result: RunResult) -> None:
    energy = result.energy()
    savings = dict(energy.list_savings())
    assert savings["static power"] == energy.static_aj // 2
    actions = {f"{one.part}.energy.{one.action}_pj": one.energy_aj or 0 for one in energy.by_action()}
    assert savings["hbm.energy.read_byte_pj"] == actions["hbm.energy.read_byte_pj"] // 2
    assert list(savings.values()) == sorted(savings.values(), reverse=True)
    assert result.explain().savings == tuple(energy.list_savings())
