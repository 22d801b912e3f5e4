from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.web.run_comparison import compare_runs
from kernbench.web.sources import RunSource
from tests.web.job_runs import write_run


def source(directory: Path) -> RunSource:
    return RunSource(directory.name, directory)


def test_two_runs_are_compared_as_the_command_compares_them(tmp_path: Path) -> None:
    a = source(write_run(tmp_path / "a", explained=True))
    b = source(write_run(tmp_path / "b", {"latency_ns": 1000.0, "overrides": {"noc.gbs": "512"}}, explained=True))
    found = compare_runs(a, b)
    assert (found["a"], found["b"], found["unexplained"]) == ("a", "b", [])
    assert found["settings"] == [{"name": "topology.noc.gbs", "a": None, "b": "512"}]
    latency = found["figures"][0]
    assert latency["name"] == "latency_ns"
    assert latency["change"] == pytest.approx(1000.0 / latency["a"] - 1)
    assert {"achieved_tflops", "gbs_of_peak"} <= {one["name"] for one in found["figures"]}
    assert sum(one["a_ns"] for one in found["critical_path"]) == pytest.approx(latency["a"])
    gemm = next(one for one in found["utilisation"] if one["kind"] == "gemm")
    assert gemm["a"] == gemm["b"]
    assert gemm["a"]["busiest"] == "sip0.cube0.pe0.pe_gemm"


def test_what_has_not_been_explained_is_named(tmp_path: Path) -> None:
    found = compare_runs(source(write_run(tmp_path / "a")), source(write_run(tmp_path / "b", explained=True)))
    assert (found["unexplained"], found["critical_path"], found["utilisation"]) == (["a"], [], [])


def test_benches_and_machines_that_differ_are_settings(tmp_path: Path) -> None:
    a = source(write_run(tmp_path / "a"))
    b = source(write_run(tmp_path / "b", {"bench": "other", "topology": "sip_2x4x4"}))
    assert compare_runs(a, b)["settings"][:2] == [
        {"name": "bench", "a": "gemm-single-pe", "b": "other"},
        {"name": "topology", "a": "tiny", "b": "sip_2x4x4"},
    ]
