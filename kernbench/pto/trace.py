"""The trace of a run of a task graph: threads of the runtime, cores, and how full rings, pools and queues were.

The runtime's threads are tracks of the process "runtime", whose slices are phases; a core is a track of the process of its
cluster, whose slices are blocks by the name of their task. A flow leads from the submission of a task to its first block.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.pto.record import ORCHESTRATOR, BlockRow, Occupancy, Phase, PhaseRow
from kernbench.pto.summary import thread_name
from kernbench.trace.parts import PartTracks
from kernbench.trace.perfetto import write_trace_file
from kernbench.trace.tables import (
    COUNTER,
    NOWHERE,
    PROCESS,
    SLICES,
    Chunk,
    Trace,
    TrackTable,
    make_counters,
    make_flows,
)

if TYPE_CHECKING:
    from pathlib import Path

    import polars

    from kernbench.pto.launch import Outcome

RUNTIME = "runtime"  # the process of the runtime's threads and counters
PHASE, BLOCK = "phase", "block"  # categories
_UNITS = {"heap_bytes": "bytes"}  # of counters; those of others are entries


def write_trace(outcome: Outcome, path: Path) -> None:
    """Write the trace of a finished run for Perfetto. Errors: RunError if the disk refuses."""
    write_trace_file(trace_graph(outcome), path)


def trace_graph(outcome: Outcome) -> Trace:
    """The tables of the trace of a finished run."""
    tracks, record = TrackTable(), outcome.record
    tracks.find(RUNTIME, PROCESS)
    slices = _list_slices(outcome, tracks)
    counters = _count(record.occupancy, tracks)
    return Trace(tracks, [Chunk(slices, _find_flows(outcome))], counters)


def _list_slices(outcome: Outcome, tracks: TrackTable) -> polars.DataFrame:
    """The phases of threads, then the blocks of cores."""
    import polars

    record, parts = outcome.record, PartTracks(outcome.device.machine, tracks)
    runtime, names = tracks.find(RUNTIME, PROCESS), {row.task: row.name for row in record.tasks}
    cores = outcome.device.cores

    def phase(row: PhaseRow) -> tuple[Any, ...]:
        track = tracks.find(thread_name(row.thread), SLICES, runtime)
        name = Phase(row.phase).name.lower().replace("_", " ")
        return track, row.start_fs, row.end_fs, name, PHASE, NOWHERE, None, None, None

    def block(row: BlockRow) -> tuple[Any, ...]:
        track, waited = parts.find(cores[row.core].place.name), row.start_fs - row.dispatch_fs
        return track, row.start_fs, row.end_fs, names[row.task], BLOCK, NOWHERE, row.task, row.block, waited

    rows = [phase(row) for row in record.phases] + [block(row) for row in record.blocks]
    schema: dict[str, Any] = dict.fromkeys(("track", "start_fs", "end_fs"), polars.Int64)
    schema |= {"name": polars.String, "category": polars.String, "within": polars.Int64}
    schema |= dict.fromkeys(("task", "block", "queued_fs"), polars.Int64)
    return polars.DataFrame(rows, schema=schema, orient="row")


def _find_flows(outcome: Outcome) -> polars.DataFrame:
    """From the phase in which the submission of a task began to its first block, where that is later."""
    record = outcome.record
    submits = [
        (row.start_fs, row.end_fs, at)
        for at, row in enumerate(record.phases)
        if row.thread == ORCHESTRATOR and row.phase == Phase.SUBMIT
    ]
    first: dict[int, int] = {}
    for at, row in enumerate(record.blocks):
        if row.task not in first or row.start_fs < record.blocks[first[row.task]].start_fs:
            first[row.task] = at
    pairs: list[tuple[int, int]] = []
    for row in record.tasks:
        before = bisect_right(submits, row.submitted_fs, key=itemgetter(0))
        if before == 0 or row.task not in first:
            continue
        _, end_fs, at = submits[before - 1]
        if row.submitted_fs < min(end_fs, record.blocks[first[row.task]].start_fs):
            pairs.append((at, len(record.phases) + first[row.task]))
    found = np.array(pairs, np.int64).reshape(-1, 2)
    return make_flows(found[:, 0], found[:, 1])


def _count(occupancy: Sequence[Occupancy], tracks: TrackTable) -> polars.DataFrame:
    runtime = tracks.find(RUNTIME, PROCESS)
    table = np.array(occupancy, np.int64).reshape(-1, len(Occupancy._fields))
    columns: dict[str, list[np.ndarray]] = {"track": [], "time_fs": [], "value": []}
    for at, name in enumerate(Occupancy._fields[1:], 1):
        changed = np.diff(table[:, at], prepend=-1) != 0
        unit = _UNITS.get(name, "entries")
        track = tracks.find(name.replace("_", " "), COUNTER, runtime, unit)
        columns["track"].append(np.full(int(changed.sum()), track))
        columns["time_fs"].append(table[changed, 0])
        columns["value"].append(table[changed, at].astype(float))
    return make_counters({name: np.concatenate(values) for name, values in columns.items()})
