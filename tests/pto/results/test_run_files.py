"""A run of a graph of tasks as it is kept: its op log with threads and cores, its critical path, its figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars
import pytest

from kernbench.energy.figures import EnergyFigures
from kernbench.oplog.critical import CLOCK, UNKNOWN
from kernbench.pto.bench import find_bench, run_bench
from kernbench.pto.launch import Outcome
from kernbench.pto.replay import replay
from kernbench.pto.results.record import ORCHESTRATOR, Cause, Phase
from kernbench.pto.results.run_files import explain_graph
from kernbench.pto.results.usage import find_usage
from kernbench.pto.results.what_if import FASTER, find_what_ifs
from kernbench.pto.tasks.graph import read_graph
from kernbench.sealing import load_sealed_json, read_sealed_parquet
from tests.pto.graphs import random_graph, result_of

BACKENDS = ("tensormap_and_ringbuffer", "aicpu_build_graph", "host_build_graph")


def keep(outcome: Outcome, out: Path) -> tuple[dict[str, Any], polars.DataFrame, polars.DataFrame]:
    """What is kept of a run: its result, its op log with the numbers of rows, its critical path."""
    result_of(outcome).write(out)
    log = (
        read_sealed_parquet(out / "oplog.parquet")
        .with_row_index("row")
        .with_columns(polars.col("row").cast(polars.Int64))
    )
    return load_sealed_json(out / "result.json"), log, read_sealed_parquet(out / "critical_path.parquet")


def run_small(bench: str, backend: str) -> Outcome:
    found = find_bench(bench)
    case = "Small" if "Small" in found.cases else None
    return run_bench(found, "ascend_tiny", case=case, backend=backend, verify=False).outcome


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_and_blocks_are_rows_of_the_op_log(tmp_path: Path, backend: str) -> None:
    outcome = run_small("vector_example", backend)
    _, log, _ = keep(outcome, tmp_path)
    record, names = outcome.record, {row.task: row.name for row in outcome.record.tasks}
    cores = [core.place.name for core in outcome.device.cores]
    blocks = {(cores[row.core], names[row.task], row.dispatch_fs, row.start_fs, row.end_fs) for row in record.blocks}
    assert blocks <= set(log.select("component", "op_name", "issue_fs", "start_fs", "end_fs").iter_rows())
    on_threads = log.filter(polars.col("thread").str.contains(r"\.(orchestrator|scheduler\d)$"))
    assert len(on_threads) == len(record.phases)
    dispatches = on_threads.filter(polars.col("op_name") == "dispatch")
    assert dispatches["component"].str.contains(r"^aicpu(\d)\.scheduler\d$").all()
    orchestrator = "host" if backend == "host_build_graph" else f"aicpu{len(outcome.device.schedulers)}"
    assert set(on_threads["component"]) >= {f"{orchestrator}.orchestrator"}
    assert (log["start_fs"].diff().drop_nulls() >= 0).all()
    inner = log.filter(polars.col("component").str.ends_with(".vector")).explode("dependencies")
    before = inner.join(log, left_on="dependencies", right_on="row", suffix="_before")
    assert (before["component_before"].str.ends_with(".in")).all()
    assert (before["end_fs_before"] <= before["start_fs"]).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bench", ["vector_example", "fused_matmul", "spmd_blocks"])
def test_the_critical_path_has_no_gaps_and_names_rows(tmp_path: Path, bench: str, backend: str) -> None:
    outcome = run_small(bench, backend)
    check_path(outcome, tmp_path)


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_the_path_of_a_replay(tmp_path: Path, seed: int, slots: int) -> None:
    graph = read_graph(random_graph(seed, 30) | {"runtime": {"replay_core_slots": slots}}, "g")
    check_path(replay(graph), tmp_path)


@pytest.mark.parametrize("part", FASTER)
@pytest.mark.parametrize("bench", ["blocked_gemm", "paged_attention"])
def test_the_path_goes_on_through_what_takes_no_time(tmp_path: Path, bench: str, part: str) -> None:
    free = dict.fromkeys((field for field in FASTER[part] if not field.endswith(("probe_ns", "load_ns"))), 0.0)
    check_path(run_bench(find_bench(bench), "ascend_910b2", overrides=free, verify=False).outcome, tmp_path)


def check_path(outcome: Outcome, out: Path) -> None:
    told, log, path = keep(outcome, out)
    pieces = path.unique(["start_ns", "end_ns"], maintain_order=True)
    assert pieces["start_ns"][0] == 0
    assert pieces["end_ns"][-1] == told["makespan_ns"] == told["latency_ns"]
    assert pieces["end_ns"][:-1].equals(pieces["start_ns"][1:].rename("end_ns"))
    assert path["spent_ns"].sum() == pytest.approx(told["makespan_ns"])
    assert not {UNKNOWN, CLOCK} & set(path["kind"])
    named = path.filter(polars.col("op_name") != "").join(log, on="row", suffix="_of_log")
    assert len(named) == len(path.filter(polars.col("op_name") != "")) > 10
    assert named["op_name"].equals(named["op_name_of_log"].rename("op_name"))
    assert named["part"].equals(named["component"].rename("part"))


def test_rows_that_are_added_change_nothing_of_the_run() -> None:
    outcome = run_small("vector_example", BACKENDS[0])
    session, busy_fs = outcome.session, outcome.usage.busy_fs
    energy = EnergyFigures(session.program).of_run(outcome.end_fs)
    rows, times, events, now_fs = len(session.op_times), session.op_times.copy(), session.events, session.now_fs
    assert outcome.whole is session
    assert len(session.op_times) == session.program.row_count > rows
    assert (session.op_times[:rows] == times).all()
    assert (session.op_times[rows:]["end_fs"] > 0).all()
    assert (session.events, session.now_fs) == (events, now_fs)
    assert (find_usage(outcome).busy_fs == busy_fs).all()
    assert EnergyFigures(session.program).of_run(outcome.end_fs) == energy


@pytest.mark.parametrize("seed", range(6))
def test_causes_are_noted_as_they_happen(seed: int) -> None:
    """What a phase waited for was done in a phase or at the end of a block, before it began, or before it was unblocked."""
    graph = read_graph(
        random_graph(seed, 40) | {"machine": "ascend_910b2", "runtime": {"replay_core_slots": 1 + seed % 2}}, "g"
    )
    record = replay(graph).record
    causes = [(row, row.cause) for row in record.phases if isinstance(row.cause, Cause)]
    assert {row.phase for row, _ in causes} >= {Phase.SCAN, Phase.DISPATCH, Phase.COMPLETE}
    for row, cause in causes:
        until_fs = row.end_fs if row.phase == Phase.BLOCKED else row.start_fs
        assert cause.by is not None
        assert cause.by.start_fs <= cause.done_fs <= cause.by.end_fs
        assert cause.done_fs <= cause.seen_fs <= until_fs
    for block in record.blocks:
        assert block.dispatch.start_fs < block.dispatch_fs <= block.dispatch.end_fs


def test_the_time_by_cause_of_a_chain() -> None:
    """Each task waits for the one before, so the path has all steps of all tasks, by hand from the record."""
    tasks = [{"id": at, "core": "aiv", "duration_us": 40, "deps": [at - 1] if at else []} for at in range(5)]
    outcome = replay(read_graph({"machine": "ascend_tiny", "tasks": tasks}, "g"))
    spent, record = explain_graph(outcome).spent_ns, outcome.record
    assert spent["aiv"] == 5 * 40_000
    assert spent["hand-over to a core"] == sum(row.start_fs - row.dispatch_fs for row in record.blocks) / 1e6
    assert spent["hand-over from a core"] == 5 * outcome.device.settings.time.cond / 1e6
    for phase in (Phase.COMPLETE, Phase.DISPATCH):  # of one scheduler, so all of these are on the path
        took = [row.end_fs - row.start_fs for row in record.phases if row.phase == phase]
        assert spent[f"scheduler: {phase.label}"] == sum(took) / 1e6


def test_a_blocked_orchestrator_leads_to_what_frees_it(tmp_path: Path) -> None:
    bench = find_bench("paged_attention")
    outcome = run_bench(
        bench, "ascend_910b2", case="CaseBatch256", overrides={"pto_runtime.task_window": 16}, verify=False
    ).outcome
    blocked = sum(row.end_fs - row.start_fs for row in outcome.record.phases if row.phase == Phase.BLOCKED)
    told, _, _ = keep(outcome, tmp_path)
    spent = told["explain"]["critical_path"]
    assert blocked > 0.3 * outcome.end_fs
    assert spent["orchestrator: blocked"] < 0.01 * told["latency_ns"]
    assert next(iter(spent)).startswith("scheduler: ")


def test_a_sentence_says_how_the_path_and_the_what_ifs_fit() -> None:
    """The schedulers have most of the path, but the orchestrator is nearly as long: twice as fast a dispatch saves little."""

    def again(fields: Mapping[str, object], speed: float) -> Outcome:
        return run_bench(
            find_bench("blocked_gemm"), "ascend_910b2", overrides=fields, verify=False, speed=speed
        ).outcome

    outcome = again({}, 1.0)
    what_ifs = find_what_ifs(outcome, again)
    found = explain_graph(outcome, what_ifs, again)
    change = {one.name: one.change for one in what_ifs.alternatives}
    spent = sum(ns for kind, ns in found.spent_ns.items() if kind.startswith("scheduler: "))
    share, saves = spent / found.path_ns, -change["dispatch"]
    assert saves < 0.9 * share / 2
    assert found.remarks[0].startswith(
        f"the schedulers have {share:.0%} of the critical path, half of which is {share / 2:.0%}; dispatch twice as fast "
        f"saves {saves:.0%}, because the orchestrator has "
    )
    assert found.advice[-1] == found.remarks[0]
    then, now = (float(each) for each in re.findall(r"[\d.]+(?= µs|$)", found.remarks[0])[-2:])
    assert (
        then
        > now
        == pytest.approx(
            sum(ns for kind, ns in found.spent_ns.items() if kind.startswith("orchestrator: ")) / 1000, abs=0.06
        )
    )
    assert explain_graph(outcome).remarks == ()


def test_utilisation_counts_threads_and_cores(tmp_path: Path) -> None:
    outcome = run_small("vector_example", BACKENDS[0])
    keep(outcome, tmp_path)
    busy = dict(polars.read_parquet(tmp_path / "utilisation.parquet").select("part", "busy_ns").iter_rows())
    worked = [row for row in outcome.record.phases if row.thread == ORCHESTRATOR]
    worked = [row for row in worked if row.phase not in (Phase.BLOCKED, Phase.START_UP)]
    assert busy[f"aicpu{len(outcome.device.schedulers)}"] == pytest.approx(
        sum(row.end_fs - row.start_fs for row in worked) / 1e6
    )
    for core in outcome.device.cores:
        own = [row.end_fs - row.start_fs for row in outcome.record.blocks if row.core == core.index]
        assert busy[core.place.name] == pytest.approx(sum(own) / 1e6)
