"""Replay: order, lanes, blocks and spans."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest

from kernbench.errors import InputError
from kernbench.pto.graph import SHAPES, read_graph
from kernbench.pto.replay import replay
from kernbench.pto.scheduler import LANES
from kernbench.pto.summary import FS_PER_US, summarise
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
            assert len(rows[at]) == len(task.block_ns) * len(LANES[SHAPES[task.core]])
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
