"""Error bars of sweeps."""

from __future__ import annotations

import json

import polars
import pytest

import kernbench
from kernbench.cli.main import main
from kernbench.errors import InputError
from kernbench.report.pages.page_data import make_arrow
from kernbench.runs.error_bars import find_error_bars
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.error_bars import ENDS, HIGH, LOW, SCHEMA, combine_effects, count_turnable, tell_ranking
from tests.machine.ranged import write_ranged

FIRST = Objective("latency_ns")


@pytest.fixture
def ranged(tmp_path, monkeypatch):
    """`tiny` with wide ranges of a rate and of the matrix engine."""
    monkeypatch.chdir(tmp_path)
    return write_ranged(hbm={"channel_gbs": (32, "GB/s", (16, 64))}, pe_gemm={"tflops_f16": (8, "TFLOPS", (4, 9))})


@pytest.mark.slow
def test_error_bars_are_those_of_the_runs(ranged, tmp_path):
    asked = {"parameters": {"M": [32, 64]}, "topology": ranged, "workers": 1}
    before = kernbench.sweep("gemm-single-pe", tmp_path / "out", **asked)
    plain = before.table
    found = kernbench.sweep("gemm-single-pe", tmp_path / "out", **asked, error_bars=True)
    assert found.ran == 0  # rows of the points themselves are the same
    assert found.table.drop(LOW, HIGH).equals(plain)
    for row in found.table.to_dicts():
        result = kernbench.run("gemm-single-pe", ranged, parameters={"M": row["M"]})
        bars = find_error_bars(result.device.session, result.launches)
        assert bars is not None
        assert (row[LOW], row[HIGH]) == pytest.approx((bars.low_ns, bars.high_ns))
        own = found.error_bars.filter(polars.col("key") == row["key"])
        at_ends = {one["field"]: (one[ENDS[0]], one[ENDS[1]]) for one in own.to_dicts()}
        for one in bars.effects:
            assert at_ends[one.figure.field] == (one.at_low_ns, one.at_high_ns)
    with pytest.raises(InputError, match=r"^this sweep has no error bars; give error_bars=True$"):
        before.error_bars  # noqa: B018


@pytest.mark.slow
def test_what_the_grid_varies_is_certain_and_reports_have_the_bars(ranged, tmp_path, capsys):
    arguments = ["sweep", "gemm-single-pe", "-t", ranged, "--set", "M=32,64", "--out", "out", "--error-bars"]
    arguments += ["--objective", "min latency_ns"]
    assert main([*arguments, "--set", "topology.hbm.channel_gbs=16,32"]) == 0
    shown = capsys.readouterr().out
    assert "latency low ns" in shown
    assert (
        "the ranking is not certain: for what is uncertain of the machine, number" in shown or "no range of an" in shown
    )
    effects = polars.read_parquet(tmp_path / "out/error_bars.parquet")
    assert "hbm.channel_gbs" not in effects["field"]
    assert "pe_gemm.tflops_f16" in effects["field"]
    assert (tmp_path / "out/latency.svg").is_file()
    (sentence,) = [line for line in shown.splitlines() if "number" in line or "no range of an" in line]
    told = sentence[0].upper() + sentence[1:]
    assert f"{told}." in (tmp_path / "out/report.md").read_text()
    assert f"<li>{sentence}</li>" in (tmp_path / "out/report.html").read_text()
    assert "latency_low_ns | latency_high_ns" in (tmp_path / "out/report.md").read_text()
    table = polars.read_parquet(tmp_path / "out/table.parquet")
    columns = polars.read_ipc(make_arrow(table, [FIRST])).columns  # of the viewer's table
    assert columns[columns.index("latency_ns") :][:3] == ["latency_ns", LOW, HIGH]
    kept = (tmp_path / "out/table.parquet").read_bytes()
    assert main([*arguments, "--set", "topology.hbm.channel_gbs=16,32"]) == 0
    assert (tmp_path / "out/table.parquet").read_bytes() == kept


@pytest.mark.slow
def test_a_comparison_says_which_changes_the_ranges_could_turn_around(ranged, tmp_path, capsys):
    common = ["sweep", "gemm-single-pe", "-t", ranged, "--set", "M=32,64", "--error-bars"]
    assert main([*common, "--out", "a"]) == 0
    for name, field, sentence, count in (
        ("b", "hbm.channel_gbs=40", "2 of the changes of latency_ns may be the other way around", 2),
        ("c", "pe_cpu.overhead_ns=30", "no range of an uncertain figure turns a change of latency_ns around", 0),
    ):
        assert main([*common, "--set", f"topology.{field}", "--out", name]) == 0
        capsys.readouterr()
        assert main(["compare", "a", name]) == 0
        assert sentence in capsys.readouterr().out
        assert kernbench.compare("a", name).turnable == count
        assert main(["compare", "a", name, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["turnable"] == count
    (tmp_path / "a/error_bars.parquet").unlink()
    assert kernbench.compare("a", "b").turnable is None


@pytest.mark.parametrize(
    ("grid", "sentence"),
    [
        (
            {"bench": "gemm-single-pe", "mode": "auto"},
            "error bars take simulated points, and mode auto leaves some out",
        ),
        ({"bench": "gemm-single-pe", "mode": "analytic"}, "error bars take simulated points, and mode analytic leaves"),
        ({"pattern": "uniform", "topology": "mesh_8x8"}, "error bars are of benches, and this grid sends traffic"),
    ],
)
def test_a_grid_that_cannot_have_them(grid, sentence, tmp_path):
    with pytest.raises(InputError, match=f"^{sentence}"):
        kernbench.sweep({**grid, "error_bars": True}, tmp_path)


def _effects(**latencies):
    rows = [
        (key, field, 1.0, 2.0, base, low, high)
        for key, (base, ends) in latencies.items()
        for field, (low, high) in ends.items()
    ]
    return polars.DataFrame(rows, schema=SCHEMA, orient="row")


def test_bars_combine_what_single_figures_do_and_a_failed_end_leaves_none():
    effects = _effects(a=(100.0, {"x": (97.0, 103.0), "y": (104.0, 96.0)}), b=(100.0, {"x": (None, 103.0)}))
    assert combine_effects(effects).rows() == [("a", 95.0, 105.0), ("b", None, None)]


def test_a_ranking_counts_what_moves_two_points_apart():
    ranked = polars.DataFrame({"key": ["a", "b", "c"]})
    together = _effects(
        a=(100.0, {"x": (50.0, 150.0)}), b=(110.0, {"x": (60.0, 160.0)}), c=(120.0, {"x": (71.0, 171.0)})
    )
    assert tell_ranking(together, ranked, FIRST) == [
        "no range of an uncertain figure makes another of these points faster than the first"
    ]
    apart = _effects(
        a=(100.0, {"x": (80.0, 120.0)}), b=(110.0, {"x": (109.0, 111.0)}), c=(120.0, {"x": (101.0, 139.0)})
    )
    assert tell_ranking(apart, ranked, FIRST) == [
        "the ranking is not certain: for what is uncertain of the machine, number 2 may be faster than the first"
    ]
    assert count_turnable(apart, apart, [("a", "b"), ("b", "a"), ("a", "c"), ("a", "gone")]) == 2
    one_sided = _effects(
        a=(100.0, {"y": (100.0, 100.0)}), b=(110.0, {"x": (95.0, 125.0)}), c=(110.0, {"x": (101.0, 119.0)})
    )
    assert count_turnable(one_sided, one_sided, [("a", "b")]) == 1
    assert count_turnable(one_sided, one_sided, [("a", "c")]) == 0
    assert tell_ranking(apart, ranked, Objective("achieved_tflops", least=False)) == []
    assert tell_ranking(apart, ranked.head(1), FIRST) == []
