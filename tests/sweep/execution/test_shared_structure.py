"""Points that share a structure against each run by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kernbench
from kernbench.machine.variants import Variants
from kernbench.runs.recording import RecordedGroup, Recording
from kernbench.runs.result import RunResult
from kernbench.sweep.execution.shared_structure import (
    SharedStructure,
    find_structure,
    identify,
    is_kept,
    keep_structures,
)
from kernbench.sweep.execution.worker import run_point, run_together
from kernbench.sweep.point import Point
from kernbench.sweep.row import FIGURES, OF_TRAFFIC
from kernbench.sweep.run import run_sweep

FIELDS = sorted(Variants("tiny", {}).fields)
BENCH = "vector-add"


def point(overrides: dict[str, Any], mode: str = "hybrid", **parameters: Any) -> Point:
    return Point(0, "key", BENCH, "tiny", mode, {"n": 4096, "dtype": "f16", **parameters}, overrides)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), st.floats(0.05, 2000), max_size=5), st.sampled_from(["hybrid", "flit"]))
def test_a_shared_run_gives_what_the_point_gives_by_itself(figures, mode):
    shared = find_structure(point(figures, mode)).run(point(figures, mode))
    alone = run_point(point(figures, mode))
    for name in set(FIGURES) - {"wall_s", *OF_TRAFFIC}:
        assert getattr(shared, name, None) == getattr(alone, name, None), name


def several(draw):
    """Points of one structure, some as typed and some with a figure that cannot be."""
    values = st.one_of(st.floats(0.05, 2000), st.sampled_from(["32", "0.5", -1.0, "fast"]))
    names = draw(st.lists(st.sampled_from(FIELDS), unique=True, min_size=1, max_size=5))
    figures = draw(st.lists(st.dictionaries(st.sampled_from(names), values), min_size=1, max_size=6))
    mode = draw(st.sampled_from(["hybrid", "flit", "analytic"]))
    return [point(set_, mode) for set_ in figures]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.composite(several)())
def test_points_together_give_what_each_gives_by_itself(points):
    structure = find_structure(points[0])
    for one, together in zip(points, structure.run_all(points), strict=True):
        if {-1.0, "fast"} & set(one.overrides.values()) or not any(each.overrides for each in points):
            assert together is None
            continue
        alone = run_point(one)
        for name in set(FIGURES) - {"wall_s", *OF_TRAFFIC}:
            assert getattr(together, name, None) == getattr(alone, name, None), name


def test_the_memory_of_a_batch_is_used_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[RecordedGroup] = []

    def make(recording: Recording, mode: str) -> RecordedGroup:
        made.append(RecordedGroup(recording, mode))
        return made[-1]

    monkeypatch.setattr("kernbench.sweep.execution.shared_structure.RecordedGroup", make)
    points = [point({"noc.gbs": gbs}) for gbs in (64, 128, 256)]
    structure = SharedStructure(points[0])
    for batch in (points[:2], points[2:], points):
        rows = list(run_together(structure, batch))
        assert None not in rows
    assert len(made) == 1


def test_what_makes_a_structure() -> None:
    one = identify(point({"hbm.channels": 4, "noc.gbs": 100}))
    assert one == identify(point({"noc.gbs": 7, "hbm.channels": 4, "ucie.overhead_ns": 3}))
    assert one != identify(point({"hbm.channels": 8, "noc.gbs": 100}))
    assert one != identify(point({"hbm.channels": 4, "noc.gbs": 100}, n=8192))
    assert find_structure(point({"noc.gbs": 1})) is find_structure(point({"noc.gbs": 2}))
    assert find_structure(point({"noc.gbs": 1})) is not find_structure(point({"noc.gbs": 2, "hbm.channels": 4}))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hybrid", "flit", "analytic"])
@pytest.mark.parametrize("asked", ["auto", "ring"])
def test_rows_say_which_algorithm_a_collective_took(tmp_path: Path, mode: str, asked: str) -> None:
    """Of points together, and where the choice looks at the figures and each runs alone."""
    gbs, set_ = [64.0, 128.0, 256.0], {"algorithm": asked, "bytes_per_pe": 4096}
    grid = {"name": "g", "bench": "ccl-allreduce", "topology": "tiny", "mode": mode}
    grid |= {"parameters": {**set_, "topology.noc.gbs": gbs}}
    rows = run_sweep(grid, tmp_path / "out", 1).table
    alone = [
        kernbench.run("ccl-allreduce", "tiny", mode=mode, parameters=set_, overrides={"noc.gbs": value})
        for value in gbs
    ]
    assert rows["collective_algorithm"].to_list() == [one.collective_algorithm for one in alone]
    assert {one.collective_algorithm for one in alone} == {one.collectives[0]["algorithm"] for one in alone}
    assert asked == "auto" or rows["collective_algorithm"].to_list() == ["ring_allreduce"] * 3
    assert alone[0].to_dict()["collective_algorithm"] == alone[0].collective_algorithm


def test_rows_without_collectives_name_no_algorithm() -> None:
    found = run_point(point({}))
    assert isinstance(found, RunResult)
    assert found.collective_algorithm is None


LOOKS = """
from kernbench import bench, DPPolicy

def kernel(x_ptr, n, tl):
    tl.store(x_ptr, tl.load(x_ptr, (n,), "f16") * 2)

@bench("looks", "decides by a figure of the machine, or by a number it has computed")
def run(torch, *, n=64, how="figure"):
    x = torch.ones((4 * n,), dp=DPPolicy(num_cubes=1, num_pes=1))
    torch.launch("first", kernel, x, n)
    fast = torch.driven.machine.figures["noc.gbs"] > 100 if how == "figure" else x.numpy().sum() > 0
    torch.launch("second", kernel, x, 2 * n if fast else n)
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hybrid", "analytic"])
@pytest.mark.parametrize("how", ["figure", "number"])
def test_a_bench_that_asks_the_machine_is_run_by_itself(tmp_path: Path, how: str, mode: str) -> None:
    bench = tmp_path / "looks.py"
    bench.write_text(LOOKS, encoding="utf-8")
    gbs = [50, 90, 150, 200]
    grid = {"name": "g", "bench": str(bench), "topology": "tiny", "mode": mode}
    grid |= {"parameters": {"topology.noc.gbs": gbs, "how": how}}
    table = run_sweep(grid, tmp_path / "out", 1).table
    if how == "number" and mode == "analytic":
        assert table["status"].to_list() == ["error"] * 4
        return
    alone = [
        kernbench.run(bench, "tiny", mode=mode, parameters={"how": how}, overrides={"noc.gbs": value}) for value in gbs
    ]
    assert table["latency_ns"].to_list() == [result.latency_ns for result in alone]
    assert table["program_digest"].to_list() == [result.program_digest for result in alone]


LATE = """
from kernbench import bench, DPPolicy

def kernel(x_ptr, tl):
    tl.store(x_ptr, tl.load(x_ptr, (8,), "f16"))

@bench("late", "waits for a counter that is 1 for a while: with a slow clock it comes too late")
def run(torch):
    program = torch.driven.program
    counts, waits, counter = program.thread("counts"), program.thread("waits"), program.counter("one and no more")
    for ns in (0, 1000):
        counts.until(ns * 10**6)
        counts.add(counter)
    waits.delay(program.duration(("pe_cpu.cycle", 1000)))
    waits.wait(counter, 1, compare=1)
    torch.launch("k", kernel, torch.zeros((8,), dp=DPPolicy(num_cubes=1, num_pes=1)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("mode", ["hybrid", "flit"])
def test_of_many_points_only_those_fail_that_come_to_a_deadlock(tmp_path: Path, mode: str, workers: int) -> None:
    bench = tmp_path / "late.py"
    bench.write_text(LATE, encoding="utf-8")
    grid = {"name": "g", "bench": str(bench), "topology": "tiny", "mode": mode}
    grid |= {"parameters": {"topology.pe_cpu.clock_ghz": [0.5, 0.9, 1.25, 2, 4], "topology.noc.gbs": [50, 100]}}
    table = run_sweep(grid, tmp_path / "out", workers).table
    failed = table["topology.pe_cpu.clock_ghz"] < 1
    assert (table["status"] == "error").to_list() == failed.to_list()
    assert table.filter(failed)["error"].str.starts_with("deadlock at").all()
    assert table.filter(failed)["error"].str.contains("waits waits for one and no more = 1 (is 2)", literal=True).all()
    for row in table.filter(~failed).iter_rows(named=True):
        overrides = {"pe_cpu.clock_ghz": row["topology.pe_cpu.clock_ghz"], "noc.gbs": row["topology.noc.gbs"]}
        alone = kernbench.run(bench, "tiny", mode=mode, overrides=overrides)
        assert [row[name] for name in ROWS] == [getattr(alone, name) for name in ROWS]


ROWS = ("latency_ns", "pe_exec_ns", "lower_ns", "upper_ns", "events", "flit_hops", "program_digest", "bottleneck_part")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hybrid", "analytic"])
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(names=st.lists(st.sampled_from(FIELDS), unique=True, min_size=2, max_size=2), seed=st.integers(0, 999))
def test_the_rows_of_a_sweep_are_those_of_single_runs(tmp_path_factory, mode, names, seed):
    rng = np.random.default_rng(seed)
    axes = {f"topology.{name}": [float(f"{x:.4g}") for x in rng.uniform(0.5, 300, 9)] for name in names}
    grid = {"name": "g", "bench": "matmul-composite", "topology": "tiny", "mode": mode}
    grid |= {"parameters": {"M": [64, 96], "N": 64, "K": 64, **axes}}
    table = run_sweep(grid, tmp_path_factory.mktemp("out"), 1).table
    assert len(table) == 162  # 81 a structure: bounds are evaluated together
    for row in table[rng.choice(162, 3, replace=False).tolist()].iter_rows(named=True):
        alone = kernbench.run(
            "matmul-composite",
            "tiny",
            mode=mode,
            parameters={name: row[name] for name in "MNK"},
            overrides={name: row[f"topology.{name}"] for name in names},
        )
        assert [row[name] for name in ROWS] == [getattr(alone, name) for name in ROWS]
        assert row["fidelity"] == mode


SMALL = {"M": 64, "N": 64, "K": 64}
CREDIT_FIGURES = ["noc.gbs", "hbm.channel_gbs", "ucie.gbs", "pcie_ep.gbs", "sram.gbs", "noc.overhead_ns", "pe_dma.gbs"]
CREDIT_FIELDS = {  # which are of the structure
    "noc_port.routing_ns": [0, 1.7, 4],
    "noc_port.credit_ns": [0, 2.5],
    "noc_port.traversal_ns": [0.5, 6],
    "noc_port.virtual_channels": [2, 4],
    "noc_port.buffer_flits": [1, 3],
    "memory_port.queue_flits": [1, 8],
    "memory_port.reply_packets": [1, 4],
    "internal_speedup": [1, 2],
    "ns_per_mm": [0.01, 0.2],
}


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "workers"), [("flit", 1), ("hybrid", 2), ("analytic", 1)])
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    figures=st.lists(st.sampled_from(CREDIT_FIGURES), unique=True, min_size=2, max_size=2),
    field=st.sampled_from(sorted(CREDIT_FIELDS)),
    seed=st.integers(0, 999),
)
def test_the_rows_of_a_sweep_with_credits_are_those_of_single_runs(
    tmp_path_factory, mode, workers, figures, field, seed
):
    """Tables of the network follow from figures, so no two points run in one memory; bounds are evaluated together."""
    rng = np.random.default_rng(seed)
    axes = {f"topology.{name}": [float(f"{x:.4g}") for x in rng.uniform(8, 300, 3)] for name in figures}
    axes[f"topology.{field}"] = CREDIT_FIELDS[field]
    grid = {"name": "g", "bench": "matmul-composite", "topology": "tiny", "mode": mode}
    grid |= {"parameters": {**SMALL, "topology.flow_control": "credit", **axes}}
    table = run_sweep(grid, tmp_path_factory.mktemp("out"), workers).table
    assert table["latency_ns"].n_unique() > len(CREDIT_FIELDS[field])
    for row in table[rng.choice(len(table), 4, replace=False).tolist()].iter_rows(named=True):
        overrides = {"flow_control": "credit", **{name.removeprefix("topology."): row[name] for name in axes}}
        alone = kernbench.run("matmul-composite", "tiny", mode=mode, parameters=SMALL, overrides=overrides)
        assert [row[name] for name in ROWS] == [getattr(alone, name) for name in ROWS]
        if mode == "analytic":
            simulated = kernbench.run("matmul-composite", "tiny", parameters=SMALL, overrides=overrides)
            assert row["lower_ns"] <= simulated.latency_ns <= row["upper_ns"]


def test_structures_are_kept_for_who_comes_back() -> None:
    points = [point({"noc.gbs": 64.0}, n=n) for n in (1024, 2048, 4096)]
    with keep_structures(2):
        first = find_structure(points[0])
        assert find_structure(points[1]) is not first
        assert find_structure(points[0]) is first
        find_structure(points[2])
        assert [is_kept(one) for one in points] == [True, False, True]
    assert [is_kept(one) for one in points] == [False, False, True]
    find_structure(points[0])
    assert [is_kept(one) for one in points] == [True, False, False]
