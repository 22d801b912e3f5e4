"""Traces of graphs of tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.pto.bench import find_bench, run_bench
from kernbench.pto.results.record import ORCHESTRATOR
from kernbench.pto.results.runtime_rows import find_processor
from kernbench.pto.results.summary import thread_name
from kernbench.pto.results.trace import write_trace
from tests.trace.decoded import Decoded, decode

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


@pytest.mark.parametrize("backend", ["tensormap_and_ringbuffer", "host_build_graph"])
def test_a_filter_keeps_what_it_says_and_no_more(backend: str, tmp_path: Path) -> None:
    outcome = run_bench(find_bench("vector_example"), "ascend_tiny", backend=backend, verify=False).outcome
    record, cores = outcome.record, outcome.device.cores
    start_ns = record.blocks[0].start_fs // 1_000_000
    start_fs, end_fs = start_ns * 1_000_000, (start_ns + 8000) * 1_000_000

    def keep(*filters: str) -> Decoded:
        write_trace(outcome, tmp_path / "some.pftrace", filters)
        found = decode(tmp_path / "some.pftrace")
        assert found.slices[0].start_fs == 0
        return found

    def times(found: Decoded, category: str) -> list[tuple[int, int]]:
        return sorted((one.start_fs, one.end_fs) for one in found.slices if one.category == category)

    found = keep(f"time={start_ns}..{start_ns + 8000}")
    rows = {"phase": record.phases, "block": record.blocks}
    for category, known in rows.items():
        inside = [(row.start_fs, row.end_fs) for row in known if row.start_fs < end_fs and row.end_fs > start_fs]
        assert times(found, category) == sorted(inside)
        assert inside
    values = {found.tracks[uuid][1]: known for uuid, known in found.counters.items()}["tasks"]
    assert values[0] == (start_ns, next(row.tasks for row in reversed(record.occupancy) if row.fs <= start_fs))
    assert all(start_ns <= time_ns < start_ns + 8000 for time_ns, _ in values)

    part = find_processor(outcome, ORCHESTRATOR)
    found = keep(f"part={part}")
    assert times(found, "phase") == sorted(
        (row.start_fs, row.end_fs) for row in record.phases if find_processor(outcome, row.thread) == part
    )
    assert times(found, "block") == []
    assert not found.counters

    place = cores[record.blocks[0].core].place.name
    found = keep(f"part={place}", f"part={part}")
    assert times(found, "block") == sorted(
        (row.start_fs, row.end_fs) for row in record.blocks if cores[row.core].place.name == place
    )
    assert any(one.flows for one in found.slices if one.category == "block")
    found = keep("kind=block")
    assert not any(one.flows for one in found.slices)
