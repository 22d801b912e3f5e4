"""What-ifs: each thing that bounds a run saves time when it is twice as fast or large, and what does not saves none."""

from __future__ import annotations

import pytest

from kernbench.pto.bench import run_bench
from kernbench.pto.replay import replay
from kernbench.pto.results.what_if import FASTER, LARGER, find_what_ifs
from kernbench.pto.tasks.graph import read_graph


def of_graph(task, **runtime):
    graph = read_graph({"machine": "ascend_tiny", "tasks": task, "runtime": runtime}, "g")
    found = find_what_ifs(replay(graph), lambda fields, speed: replay(graph, None, fields, speed=speed))
    return saved_us(found)


def saved_us(found):
    """By the name of what is twice as fast or large."""
    return {each.name: (found.latency_ns - each.latency_ns) / 1000 for each in found.alternatives}


def test_long_tasks_are_bound_by_cores():
    found = of_graph([{"id": 0, "core": "aic", "blocks": 8, "duration_us": 500}])
    assert set(found) == {*FASTER, *LARGER, "cores"}
    assert next(iter(found)) == "cores"
    assert found["cores"] > 900
    assert found["heap"] == found["task ring"] == 0


def test_short_tasks_are_bound_by_dispatch():
    found = of_graph([{"id": at, "core": "aiv", "duration_us": 1} for at in range(40)])
    assert next(iter(found)) == "dispatch"
    assert found["cores"] < found["dispatch"] / 4


@pytest.mark.slow
def test_a_small_window_bounds_a_run():
    def again(fields, speed):
        given = {"pto_runtime.task_window": 16, **fields}
        run = run_bench("paged_attention", case="CaseBatch256", overrides=given, verify=False, speed=speed)
        return run.outcome

    found = saved_us(find_what_ifs(again({}, 1.0), again))
    assert found["task ring"] > 50
    assert found["heap"] == 0
