"""Error bars of runs: simulated at the ends of what is uncertain."""

from __future__ import annotations

import pytest

from kernbench.frontends.run import run_bench
from kernbench.machine.sheets.field_values import show_topology
from kernbench.machine.sheets.uncertainty import combine, find_uncertain, is_price
from kernbench.runs.error_bars import find_error_bars
from tests.machine.ranged import write_ranged

BENCH = ("gemm-single-pe", {"M": 32, "K": 32, "N": 32})


def _latency(topology, overrides):
    return run_bench(BENCH[0], topology, parameters=BENCH[1], overrides=overrides).latency_ns


@pytest.fixture
def ranged(tmp_path, monkeypatch):
    """`tiny` with a range of a published figure, and of one that decides more than times."""
    monkeypatch.chdir(tmp_path)
    return write_ranged(noc={"gbs": (256, "GB/s", (64, 300)), "attach_mm": (0.5, "mm", (0.1, 2))})


@pytest.mark.parametrize(
    ("topology", "field", "ends"),
    [
        ("wormhole_n150", "tensix_noc.gbs", (30, 31.2)),
        ("wormhole_n150", "tensix_dram.bank_gbs", (22, 22.25)),
        ("blackhole_p150", "tensix_noc.read_gap_ns", (25.2, 25.9)),
        ("blackhole_p150", "tensix_noc.write_gap_ns", (14.8, 17)),
        ("ascend_910b2", "aicpu.cond_ns", (180, 2020)),
        ("ascend_910b2", "aicpu.load_ns", (95, 105)),
    ],
)
def test_shipped_sheets_have_the_ranges_that_their_sources_give(topology, field, ends):
    figure = find_uncertain(topology)[field]
    assert figure.ranged
    assert (figure.low, figure.high) == ends


@pytest.mark.slow
def test_each_end_is_the_latency_of_a_run_there(ranged):
    result = run_bench(BENCH[0], ranged, parameters=BENCH[1])
    bars = find_error_bars(result.device.session, result.launches)
    assert bars is not None
    effects = {one.figure.field: one for one in bars.effects}
    assert {"noc.gbs", "m_cpu.overhead_ns", "pcie_ep.overhead_ns"} <= set(effects)
    assert (effects["noc.gbs"].figure.low, effects["noc.gbs"].figure.high) == (64, 300)
    for field in ("noc.gbs", "m_cpu.overhead_ns"):
        figure = effects[field].figure
        assert effects[field].at_low_ns == _latency(ranged, {field: figure.low})
        assert effects[field].at_high_ns == _latency(ranged, {field: figure.high})
    ends = [(one.at_low_ns, one.at_high_ns) for one in bars.effects]
    assert (bars.low_ns, bars.high_ns) == pytest.approx(combine(result.latency_ns, ends))
    slow = {
        one.figure.field: one.figure.low if one.at_low_ns > one.at_high_ns else one.figure.high for one in bars.effects
    }
    assert bars.slowest_ns == _latency(ranged, slow)
    assert bars.fastest_ns < bars.low_ns < result.latency_ns < bars.high_ns < bars.slowest_ns
    assert bars.not_varied == ("noc.attach_mm",)
    assert bars.effects[0].figure.field == "noc.gbs"


@pytest.mark.slow
def test_what_is_set_for_a_run_is_certain(ranged):
    result = run_bench(BENCH[0], ranged, parameters=BENCH[1], overrides={"noc.gbs": 128})
    bars = find_error_bars(result.device.session, result.launches)
    assert bars is not None
    assert "noc.gbs" not in {one.figure.field for one in bars.effects}


@pytest.mark.slow
def test_an_explanation_has_them(ranged, capsys):
    from kernbench.cli.main import main

    assert main(["run", BENCH[0], "-t", ranged, "--set", "M=32", "--explain"]) == 0
    shown = capsys.readouterr().out
    assert "\nerror bars: " in shown
    assert "\nnoc.gbs 256 GB/s " in shown
    assert "64 … 300" in shown
    assert "not varied, as they decide more than times: noc.attach_mm" in shown
    found = run_bench(BENCH[0], ranged, parameters=BENCH[1]).explain()
    told = found.to_dict()["error_bars"]
    assert told["latency_low_ns"] < told["latency_ns"] < told["latency_high_ns"]
    assert "noc.gbs" in found._repr_html_()


def test_effects_add_up_as_independent_ones():
    assert combine(100, [(97, 103), (96, 104), (100, 100)]) == (95, 105)
    assert combine(100, [(101, 104)]) == (100, 104)
    assert combine(100, []) == (100, 100)


def test_prices_are_no_part_of_error_bars():
    assert any(is_price(one.path) for one in show_topology("sip_2x4x4").all_fields)
    assert not [name for name in find_uncertain("sip_2x4x4") if is_price(name)]
