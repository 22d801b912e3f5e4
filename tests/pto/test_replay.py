"""Replay: order, lanes, blocks and spans."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest

from kernbench.errors import InputError
from kernbench.pto.replay import replay
from kernbench.pto.results.summary import FS_PER_US, summarise
from kernbench.pto.runtime.scheduler import CORES
from kernbench.pto.tasks.graph import SHAPES, read_graph
from tests.pto.graphs import random_graph


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("topology", ["ascend_tiny", "ascend_910b2"])
def test_random_graphs_keep_their_dependencies_and_their_lanes(slots, topology):
    for seed in range(4):
        graph = read_graph(random_graph(seed, 30) | {"runtime": {"replay_core_slots": slots}}, "g")
        outcome = replay(graph, topology)
        rows = defaultdict(list)
        for row in outcome.record.blocks:
            rows[row.task].append(row)
        number = {task.id: at for at, task in enumerate(graph.tasks)}
        for at, task in enumerate(graph.tasks):
            assert len(rows[at]) == len(task.block_ns) * len(CORES[SHAPES[task.core]])
            start = min(row.start_fs for row in rows[at])
            assert all(start > max(row.end_fs for row in rows[number[dep]]) for dep in task.deps)
            for row in rows[at]:
                assert row.end_fs - row.start_fs == round(task.block_ns[row.block] * 1e6)
            for block in range(len(task.block_ns)):
                cores = [outcome.device.cores[row.core].place for row in rows[at] if row.block == block]
                assert len({core.cluster for core in cores}) == 1
        by_core = defaultdict(list)
        for row in outcome.record.blocks:
            by_core[row.core].append((row.start_fs, row.end_fs))
        for each in by_core.values():
            each.sort()
            assert all(before[1] < after[0] for before, after in pairwise(each))


def test_blocks_fill_all_cores_of_their_type_before_any_waits():
    graph = {"tasks": [{"id": 0, "core": "aic", "blocks": 24, "duration_us": 50}]}
    outcome = replay(read_graph(graph, "g"))
    assert len({row.core for row in outcome.record.blocks}) == 24


def test_a_block_that_waits_at_its_core_begins_a_task_switch_after_the_one_before():
    graph = {"tasks": [{"id": 0, "core": "aic", "blocks": 4, "duration_us": 50}]}
    summary = summarise(replay(read_graph(graph, "g"), "ascend_tiny"))
    assert summary.gap_us == pytest.approx(0.81)
    alone = summarise(replay(read_graph(graph | {"runtime": {"replay_core_slots": 1}}, "g"), "ascend_tiny"))
    assert alone.gap_us is not None
    assert alone.gap_us > 3


def spans_of(outcome):
    """By name of a task: when its first block starts and when its last block does (fs)."""
    names = {row.task: row.name for row in outcome.record.tasks}
    found = defaultdict(list)
    for row in outcome.record.blocks:
        found[names[row.task]].append(row.start_fs)
    return {name: (min(starts), max(starts)) for name, starts in found.items()}


def test_blocks_that_found_no_core_wait_behind_what_is_ready_by_then():
    tasks = [{"id": at, "name": name, "core": "aic", "blocks": 8, "duration_us": 50} for at, name in enumerate("ab")]
    spans = spans_of(replay(read_graph({"tasks": tasks}, "g"), "ascend_tiny"))
    assert spans["a"][0] < spans["b"][0] < spans["a"][1] < spans["b"][1]


def test_tasks_of_whole_clusters_come_before_those_of_single_cores():
    """Four vector cores: two tasks fill some of them, and what gets ready then is a mixed task and more vector tasks."""
    tasks = [{"id": 0, "name": "root", "core": "aic", "duration_us": 5, "deps": []}]
    tasks += [
        {"id": 1 + at, "name": "wide" if at == 4 else "narrow", "core": "mix" if at == 4 else "aiv"} for at in range(8)
    ]
    tasks[1:] = [{**task, "duration_us": 20, "deps": [0]} for task in tasks[1:]]
    spans = spans_of(replay(read_graph({"tasks": tasks, "runtime": {"replay_core_slots": 1}}, "g"), "ascend_tiny"))
    assert spans["wide"][0] < spans["narrow"][1]
    assert spans["wide"][0] == pytest.approx(spans["narrow"][0], abs=3e9)


def test_a_chain_hops_as_fast_as_in_captures_of_the_chip():
    """3.6 to 7 us from a task's end to the start behind it, where nothing else is to do."""
    for core in ("aiv", "aic"):
        tasks = [{"id": at, "core": core, "duration_us": 5, "deps": [at - 1] if at else []} for at in range(60)]
        graph = read_graph({"machine": "ascend_910b2", "tasks": tasks}, "g")
        blocks = sorted(replay(graph).record.blocks, key=lambda row: row.task)
        hops = sorted((after.start_fs - before.end_fs) / FS_PER_US for before, after in pairwise(blocks))
        assert 3.6 < hops[3] < hops[-4] < 7


def test_many_small_tasks_take_as_long_as_the_published_benchmark():
    """`benchmark_bgemm` of the public runtime: 250 chains of four tasks in 775 us (pull request 326), bound by its threads."""
    tasks = [
        {"id": at, "core": ("aic", "aiv")[at % 2], "duration_us": 4, "deps": [at - 1] if at % 4 else []}
        for at in range(1000)
    ]
    summary = summarise(replay(read_graph({"machine": "ascend_910b2", "tasks": tasks}, "g")))
    assert summary.run_us == pytest.approx(775, rel=0.15)


@pytest.mark.parametrize("name", ["core_slots", "ready_shards"])
def test_sizes_that_replays_have_of_their_own_are_told(name):
    graph = read_graph(random_graph(0, 2) | {"runtime": {name: 2}}, "g")
    with pytest.raises(
        InputError, match=rf"pto_runtime\.{name} has no effect on a replay; set pto_runtime\.replay_{name}"
    ):
        replay(graph)


def test_the_summary_adds_up():
    outcome = replay(read_graph(random_graph(1, 20), "g"))
    summary = summarise(outcome)
    rows = outcome.record.blocks
    assert summary.span_us == (max(r.end_fs for r in rows) - min(r.start_fs for r in rows)) / FS_PER_US
    assert sum(stage.tasks for stage in summary.stages) == summary.tasks == 20
    busy = sum(stage.busy_us for stage in summary.stages)
    assert busy == pytest.approx(summary.span_us * (2 * summary.utilisation["aic"] + 4 * summary.utilisation["aiv"]))
    for name, phases in summary.threads.items():
        if name.startswith("scheduler"):
            assert sum(phases.values()) == pytest.approx(summary.run_us, rel=0.2)


def test_runtime_constants_of_a_graph_are_checked_as_fields():
    graph = read_graph(random_graph(0, 2) | {"runtime": {"swich_ns": 5}}, "g")
    with pytest.raises(
        InputError, match=r"unknown topology field 'pto_runtime\.swich_ns'; did you mean 'pto_runtime\.switch_ns'"
    ):
        replay(graph)


def test_task_graphs_need_a_machine_of_the_family():
    with pytest.raises(InputError, match="machine tiny is of family 'sip'"):
        replay(read_graph(random_graph(0, 2) | {"runtime": {}}, "g"), "tiny")
