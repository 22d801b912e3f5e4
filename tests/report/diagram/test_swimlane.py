"""The swimlane: a lane for each thread and core, small for long runs, the same bytes for the same run."""

from __future__ import annotations

from kernbench.pto.replay import replay
from kernbench.pto.tasks.graph import read_graph
from kernbench.report.diagram.swimlane import WIDTH, draw_swimlane
from tests.pto.graphs import random_graph


def test_every_thread_and_every_core_that_worked_has_a_lane():
    outcome = replay(read_graph(random_graph(3, 25), "g"))
    svg = draw_swimlane(outcome, "a <title>")
    assert "a &lt;title&gt;" in svg
    for name in ("orchestrator", "scheduler0", "k0", "k2", "dispatch"):
        assert f">{name}</text>" in svg
    worked = {outcome.device.cores[row.core].place.name for row in outcome.record.blocks}
    assert all(f">{name}</text>" in svg for name in worked)
    assert svg == draw_swimlane(replay(read_graph(random_graph(3, 25), "g")), "a <title>")


def test_the_picture_of_a_long_run_stays_small():
    outcome = replay(read_graph(random_graph(1, 1500), "g"), "ascend_tiny")
    bars = draw_swimlane(outcome, "t").count("<rect")
    assert bars < len(outcome.record.phases) + len(outcome.record.blocks)
    assert bars < 8 * WIDTH
