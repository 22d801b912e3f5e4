"""The probe of a machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.traffic.checks import Check
from kernbench.traffic.probe_suite import SIZES_BYTES, Survey, run_survey

COLUMNS = ["family", "name", "src", "dst", "kind", "flow", "bytes", "hops", "via", "actual_ns", "formula_ns", "wire_ns",
           "overhead_ns", "routers_ns", "serialisation_ns", "commit_ns", "effective_gbs", "bottleneck_gbs", "bottleneck",
           "utilisation"]  # fmt: skip


@pytest.fixture(scope="module")
def tiny() -> Survey:
    return run_survey(load_machine("tiny"))


def test_every_case_at_every_size(tiny: Survey) -> None:
    assert SIZES_BYTES == (4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
    assert len(tiny.measured) == 8 * len(SIZES_BYTES)
    assert [one.nbytes for one in tiny.summary] == [32768] * 8
    assert tiny.table().columns == COLUMNS


def test_the_parts_sum_to_the_formula_and_the_formula_is_met(tiny: Survey) -> None:
    for row in tiny.to_dict()["sweep"]:
        parts = row["wire_ns"] + row["overhead_ns"] + row["serialisation_ns"] + row["commit_ns"]
        assert parts == pytest.approx(row["formula_ns"], abs=1e-9)
        assert row["routers_ns"] == 0
        assert row["actual_ns"] == row["formula_ns"]
        assert row["effective_gbs"] == row["bytes"] / row["actual_ns"]
        assert row["utilisation"] == row["effective_gbs"] / row["bottleneck_gbs"] <= 1


def test_the_invariants_hold(tiny: Survey) -> None:
    assert [check.passed for check in tiny.checks] == [True] * 6
    assert tiny.ok


def test_a_failed_check_fails_the_probe(tiny: Survey) -> None:
    broken = replace(tiny, checks=(*tiny.checks, Check("x", False, "y"), Check("z", None, "")))
    assert not broken.ok
    assert [check.name for check in broken.failed] == ["x"]
    assert broken.to_dict()["ok"] is False


def test_cases_do_not_disturb_each_other(tiny: Survey) -> None:
    told: list[str] = []
    again = run_survey(load_machine("tiny"), "flit", lambda case: told.append(case.name))
    assert again.measured == tiny.measured
    assert told[:2] == ["cube0", "farthest PE"]


@pytest.mark.slow
def test_the_default_machine() -> None:
    survey = run_survey(load_machine("sip_2x4x4"))
    assert all(check.passed for check in survey.checks)
    told = {(one.case.name, one.nbytes): one.actual_ns for one in survey.measured if one.case.kind == "write"}
    assert told["own slice", 16384] == 76.52
    assert told["other SIP", 16384] == 408.99
    assert all(one.actual_fs == one.breakdown.total_fs for one in survey.measured)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sip_2x4x4_credit", "mesh_8x8_credit", "torus_8x8_credit"])
def test_machines_with_credits(name: str) -> None:
    survey = run_survey(load_machine(name))
    assert survey.ok
    assert "device to host takes at least as long as host to device" not in {
        one.name for one in survey.checks if one.passed
    }
    assert all(one.actual_fs == one.breakdown.total_fs for one in survey.measured)
    assert all(one.breakdown.routers_fs > 0 for one in survey.measured)


@pytest.mark.parametrize("name", ["tensix_tiny", "wormhole_n150", "blackhole_p150"])
def test_chips_of_tensix_cores(name: str) -> None:
    survey = run_survey(load_machine(name))
    assert [check.passed for check in survey.checks] == [True] * 3
    assert all(one.actual_fs == one.breakdown.total_fs for one in survey.measured)
    assert {one.via for one in survey.measured} == {()}


@pytest.mark.parametrize("name", ["wormhole_n150", "blackhole_p150"])
def test_a_bank_with_credits_gives_its_rate(name: str) -> None:
    """Its queue is as long as the flits that it serves during an access."""
    survey = run_survey(load_machine(name, {"flow_control": "credit"}))
    assert survey.ok
    banks = [one for one in survey.measured if one.case.name == "DRAM, near" and one.nbytes == SIZES_BYTES[-1]]
    assert len(banks) == 2
    assert all(one.utilisation > 0.97 for one in banks)


@pytest.mark.parametrize("name", ["ascend_tiny", "ascend_910b2"])
def test_ascend_chips(name: str) -> None:
    """The overhead of a memory delays the first flit of a write alone, so only reads equal the sum."""
    survey = run_survey(load_machine(name))
    assert [check.passed for check in survey.checks] == [True] * 2
    assert all(one.actual_fs <= one.breakdown.total_fs for one in survey.measured)
    reads = [one for one in survey.measured if one.case.kind == "read"]
    assert all(one.actual_fs == one.breakdown.total_fs for one in reads)


def test_an_unknown_mode() -> None:
    with pytest.raises(InputError, match=r"unknown mode 'x'"):
        run_survey(load_machine("tiny"), "x")
