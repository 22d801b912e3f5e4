"""Traces of graphs of tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.pto.bench import find_bench, run_bench
from kernbench.pto.results.record import ORCHESTRATOR
from kernbench.pto.results.run_files import find_graph_path, write_graph_trace
from kernbench.pto.results.runtime_rows import find_processor
from kernbench.pto.results.summary import thread_name
from tests.trace.decoded import Decoded, Slice, decode

pytestmark = pytest.mark.slow


def test_a_trace_has_the_op_log_the_path_and_how_full_everything_was(tmp_path: Path) -> None:
    outcome = run_bench(find_bench("vector_example"), "ascend_tiny", verify=False).outcome
    write_graph_trace(outcome, tmp_path / "graph.pftrace")
    found, record = decode(tmp_path / "graph.pftrace"), outcome.record
    names = {row.task: row.name for row in record.tasks}
    of_log = [(found.path(one), one.name, one.start_fs, one.end_fs) for one in found.slices if "row" in one.arguments]
    assert {
        (outcome.device.cores[row.core].place.name, names[row.task], row.start_fs, row.end_fs) for row in record.blocks
    } <= set(of_log)
    phases = [one for one in found.slices if one.category == "control"]
    assert sorted((found.path(one), one.name, one.start_fs, one.end_fs) for one in phases) == sorted(
        (
            f"threads.{find_processor(outcome, row.thread)}.{thread_name(row.thread)}",
            row.phase.label,
            row.start_fs,
            row.end_fs,
        )
        for row in record.phases
    )
    path = [(one.start_fs, one.end_fs) for one in found.slices if one.category == "path"]
    assert path == [(piece.start_fs, piece.end_fs) for piece in find_graph_path(outcome)]
    values = {found.tracks[uuid][1]: known for uuid, known in found.counters.items()}
    assert max(value for _, value in values["tasks"]) == max(row.tasks for row in record.occupancy)
    assert {"utilisation", "heap bytes", "ready"} <= {track[1] for track in found.tracks.values() if len(track) > 1}


def test_arrows_lead_from_dispatches_to_blocks_and_from_these_to_completions(tmp_path: Path) -> None:
    outcome = run_bench(find_bench("blocked_gemm"), "ascend_910b2", verify=False).outcome
    write_graph_trace(outcome, tmp_path / "graph.pftrace")
    found, record = decode(tmp_path / "graph.pftrace"), outcome.record
    arrows = _find_arrows(found)
    dispatched = sorted((one.start_fs, two.start_fs, found.path(two)) for one, two in arrows if one.name == "dispatch")
    cores = outcome.device.cores
    assert dispatched == sorted(
        (row.dispatch.start_fs, row.start_fs, cores[row.core].place.name) for row in record.blocks
    )
    seen = [(one, two) for one, two in arrows if two.name == "complete"]
    assert seen
    time = outcome.device.settings.time
    for block, complete in seen:
        assert found.path(block).startswith("cluster")
        assert complete.start_fs >= block.end_fs + time.cond
    assert any(one.name == "submit" and two.name == "scan" for one, two in arrows)


def _find_arrows(found: Decoded) -> list[tuple[Slice, Slice]]:
    """The ends of the arrows between slices of the op log that are no transfers."""
    ends: dict[int, list[Slice]] = {}
    for one in found.slices:
        for flow in one.flows:
            ends.setdefault(flow, []).append(one)
    pairs = [(one, two) for one, two in ends.values()]
    return [(one, two) for one, two in pairs if "transfer" not in (one.category, two.category)]


@pytest.mark.parametrize("backend", ["tensormap_and_ringbuffer", "host_build_graph"])
def test_a_filter_keeps_what_it_says_and_no_more(backend: str, tmp_path: Path) -> None:
    outcome = run_bench(find_bench("vector_example"), "ascend_tiny", backend=backend, verify=False).outcome
    record, cores = outcome.record, outcome.device.cores
    start_ns = record.blocks[0].start_fs // 1_000_000
    start_fs, end_fs = start_ns * 1_000_000, (start_ns + 8000) * 1_000_000

    def keep(*filters: str) -> Decoded:
        write_graph_trace(outcome, tmp_path / "some.pftrace", filters)
        found = decode(tmp_path / "some.pftrace")
        assert found.slices[0].start_fs == 0
        return found

    def times(found: Decoded, category: str, path: str = "") -> list[tuple[int, int]]:
        return sorted(
            (one.start_fs, one.end_fs)
            for one in found.slices
            if one.category == category and found.path(one).endswith(path)
        )

    found = keep(f"time={start_ns}..{start_ns + 8000}")
    inside = [(row.start_fs, row.end_fs) for row in record.phases if row.start_fs < end_fs and row.end_fs > start_fs]
    assert times(found, "control") == sorted(inside)
    assert inside
    values = {found.tracks[uuid][1]: known for uuid, known in found.counters.items()}["tasks"]
    assert values[0] == (start_ns, next(row.tasks for row in reversed(record.occupancy) if row.fs <= start_fs))
    assert all(start_ns <= time_ns < start_ns + 8000 for time_ns, _ in values)

    part = find_processor(outcome, ORCHESTRATOR)
    found = keep(f"part={part}", "kind=control,kernel,counters")
    assert times(found, "control") == sorted(
        (row.start_fs, row.end_fs) for row in record.phases if find_processor(outcome, row.thread) == part
    )
    assert times(found, "kernel") == []
    assert not any(found.tracks[uuid][1] == "tasks" for uuid in found.counters)

    place = cores[record.blocks[0].core].place.name
    found = keep(f"part={place}", f"part=aicpu{cores[record.blocks[0].core].scheduler.number}")
    assert times(found, "kernel", place) == sorted(
        (row.start_fs, row.end_fs) for row in record.blocks if cores[row.core].place.name == place
    )
    assert {two.name for one, two in _find_arrows(found) if one.name == "dispatch"} == {
        one.name for one in found.slices if found.path(one) == place
    }
    found = keep("kind=control")
    assert not times(found, "kernel")
    assert {one.category for ends in _find_arrows(found) for one in ends} == {"control"}
