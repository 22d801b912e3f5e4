"""How busy parts are in runs of task graphs, and which of them is the bottleneck."""

from __future__ import annotations

import pytest

from kernbench.pto.replay import replay
from kernbench.pto.results import usage
from kernbench.pto.results.record import ORCHESTRATOR, Phase
from kernbench.pto.tasks.graph import read_graph
from tests.pto.graphs import result_of


def run(tasks, machine="ascend_910b2", **runtime):
    return replay(read_graph({"machine": machine, "tasks": tasks, "runtime": runtime}, "g"))


def test_processors_have_the_class_of_the_thread_that_runs_on_them() -> None:
    parts = run([{"id": 0, "core": "aiv", "duration_us": 1}]).usage.parts
    kinds = dict(zip(parts.name, parts.kind, strict=True))
    assert [kinds[f"aicpu{number}"] for number in range(4)] == ["scheduler"] * 3 + ["orchestrator"]


def test_short_tasks_keep_the_schedulers_busy_and_long_ones_the_cores() -> None:
    short = run([{"id": at, "core": "aiv", "duration_us": 1} for at in range(300)])
    found = short.usage.bottleneck
    assert found is not None
    assert found.kind == "scheduler"
    assert 0.8 < found.utilisation <= 1
    long = run([{"id": at, "core": "aic", "duration_us": 500} for at in range(48)]).usage.bottleneck
    assert long is not None
    assert long.kind == "aic"


def test_the_utilisation_of_a_thread_is_what_it_worked() -> None:
    outcome = run([{"id": at, "core": "aiv", "duration_us": 1} for at in range(100)], alloc_ns=5000)
    worked = [row for row in outcome.record.phases if row.thread == ORCHESTRATOR]
    busy_fs = sum(row.end_fs - row.start_fs for row in worked if row.phase not in (Phase.BLOCKED, Phase.START_UP))
    assert outcome.usage.to_dict() == {
        "bottleneck": "orchestrator",
        "bottleneck_part": "aicpu3",
        "bottleneck_utilisation": pytest.approx(busy_fs / outcome.end_fs),
    }


def test_a_run_finds_its_bottleneck_once_for_all_that_is_said_of_it(tmp_path, monkeypatch) -> None:
    found: list[int] = []
    real = usage.find_bottlenecks
    monkeypatch.setattr(usage, "find_bottlenecks", lambda *given: found.append(1) or real(*given))
    outcome = run([{"id": 0, "core": "aiv", "duration_us": 1}])
    result_of(outcome).write(tmp_path / "run")
    assert len(found) == 1
