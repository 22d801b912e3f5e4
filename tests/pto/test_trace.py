"""Traces of graphs of tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.pto.bench import find_bench, run_bench
from kernbench.pto.record import ORCHESTRATOR
from kernbench.pto.summary import thread_name
from kernbench.pto.trace import write_trace
from tests.trace.decoded import decode

pytestmark = pytest.mark.slow


def test_threads_cores_and_occupancy_are_tracks(tmp_path: Path) -> None:
    outcome = run_bench(find_bench("vector_example"), "ascend_tiny", verify=False).outcome
    write_trace(outcome, tmp_path / "graph.pftrace")
    found, record = decode(tmp_path / "graph.pftrace"), outcome.record
    names = {row.task: row.name for row in record.tasks}
    blocks = [one for one in found.slices if one.category == "block"]
    assert sorted(
        (found.path(one), one.name, one.arguments["task"], one.start_fs, one.end_fs) for one in blocks
    ) == sorted(
        (outcome.device.cores[row.core].place.name, names[row.task], row.task, row.start_fs, row.end_fs)
        for row in record.blocks
    )
    phases = [one for one in found.slices if one.category == "phase"]
    assert sorted((found.path(one), one.start_fs, one.end_fs) for one in phases) == sorted(
        (f"runtime.{thread_name(row.thread)}", row.start_fs, row.end_fs) for row in record.phases
    )
    flows = {flow: one for one in phases for flow in one.flows}
    assert len(flows) == len(record.tasks)
    for one in blocks:
        for flow in one.flows:
            assert found.path(flows[flow]) == f"runtime.{thread_name(ORCHESTRATOR)}"
            assert flows[flow].start_fs < one.start_fs
    values = {found.tracks[uuid][1]: known for uuid, known in found.counters.items()}
    assert max(value for _, value in values["tasks"]) == max(row.tasks for row in record.occupancy)
