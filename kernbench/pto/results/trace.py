"""The trace of a run of a task graph: threads of the runtime, cores, and how full rings, pools and queues were.

The runtime's threads are tracks of the process "runtime", whose slices are phases; a core is a track of the process of its
cluster, whose slices are blocks by the name of their task. A flow leads from the submission of a task to its first block, if
both are chosen. The part of a thread is the processor that it runs on; what rings, pools and queues hold is of no part.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.pto.results.record import ORCHESTRATOR, BlockRow, Occupancy, Phase, PhaseRow
from kernbench.pto.results.runtime_rows import find_processor
from kernbench.pto.results.summary import thread_name
from kernbench.trace.filters import COUNTERS, TraceFilter, read_filters
from kernbench.trace.parts import PartTracks
from kernbench.trace.perfetto import write_trace_file
from kernbench.trace.program_trace import NO_ROWS, RUN, START
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
KINDS = (PHASE, BLOCK, COUNTERS)  # that filters may name
EVERYTHING = TraceFilter(kinds=KINDS)
_UNITS = {"heap_bytes": "bytes"}  # of counters; those of others are entries


class _Chosen(NamedTuple):
    """What a trace holds of the record: bool[phase] and bool[block]."""

    phases: np.ndarray
    blocks: np.ndarray


def write_trace(outcome: Outcome, path: Path, filters: Sequence[str] = ()) -> None:
    """Write the trace of a finished run for Perfetto. Errors: InputError for a filter, RunError if the disk refuses."""
    write_trace_file(trace_graph(outcome, read_filters(filters, KINDS)), path)


def trace_graph(outcome: Outcome, wanted: TraceFilter = EVERYTHING) -> Trace:
    """The tables of the trace of a finished run. Errors: InputError for a filter that names a part which the machine lacks."""
    wanted.check(outcome.device.machine)
    tracks = TrackTable()
    tracks.find(RUNTIME, PROCESS)
    chosen = _choose(outcome, wanted)
    chunks = [_mark_start(tracks), Chunk(_list_slices(outcome, chosen, tracks), _find_flows(outcome, chosen))]
    counters = make_counters()
    if COUNTERS in wanted.kinds and not wanted.parts:
        counters = _count(outcome.record.occupancy, wanted, tracks)
    return Trace(tracks, chunks, counters)


def _choose(outcome: Outcome, wanted: TraceFilter) -> _Chosen:
    record, cores = outcome.record, outcome.device.cores
    threads = [find_processor(outcome, row.thread) for row in record.phases]
    places = [cores[row.core].place.name for row in record.blocks]
    phases, blocks = wanted.matches(threads), wanted.matches(places)
    phases &= (PHASE in wanted.kinds) & _overlaps(record.phases, wanted)
    blocks &= (BLOCK in wanted.kinds) & _overlaps(record.blocks, wanted)
    return _Chosen(phases, blocks)


def _overlaps(rows: Sequence[PhaseRow] | Sequence[BlockRow], wanted: TraceFilter) -> np.ndarray:
    """bool[row]"""
    times = np.array([(row.start_fs, row.end_fs) for row in rows], np.int64).reshape(-1, 2)
    return wanted.overlaps(times[:, 0], times[:, 1])


def _mark_start(tracks: TrackTable) -> Chunk:
    """The start of the run, which is there whatever is chosen: Perfetto counts from its first event."""
    import polars

    track = tracks.find(START, SLICES, tracks.find(RUNTIME, PROCESS))
    row = {"track": track, "start_fs": 0, "end_fs": 0, "name": START, "category": RUN, "within": NOWHERE}
    return Chunk(polars.DataFrame([row]), make_flows(NO_ROWS, NO_ROWS), 0)


def _list_slices(outcome: Outcome, chosen: _Chosen, tracks: TrackTable) -> polars.DataFrame:
    """The phases of threads, then the blocks of cores."""
    import polars

    record, parts = outcome.record, PartTracks(outcome.device.machine, tracks)
    runtime, names = tracks.find(RUNTIME, PROCESS), {row.task: row.name for row in record.tasks}
    cores = outcome.device.cores

    def phase(row: PhaseRow) -> tuple[Any, ...]:
        track = tracks.find(thread_name(row.thread), SLICES, runtime)
        return track, row.start_fs, row.end_fs, row.phase.label, PHASE, NOWHERE, None, None, None

    def block(row: BlockRow) -> tuple[Any, ...]:
        track, waited = parts.find(cores[row.core].place.name), row.start_fs - row.dispatch_fs
        return track, row.start_fs, row.end_fs, names[row.task], BLOCK, NOWHERE, row.task, row.block, waited

    rows = [phase(record.phases[at]) for at in np.flatnonzero(chosen.phases)]
    rows += [block(record.blocks[at]) for at in np.flatnonzero(chosen.blocks)]
    schema: dict[str, Any] = dict.fromkeys(("track", "start_fs", "end_fs"), polars.Int64)
    schema |= {"name": polars.String, "category": polars.String, "within": polars.Int64}
    schema |= dict.fromkeys(("task", "block", "queued_fs"), polars.Int64)
    return polars.DataFrame(rows, schema=schema, orient="row")


def _find_flows(outcome: Outcome, chosen: _Chosen) -> polars.DataFrame:
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
            pairs.append((at, first[row.task]))
    phase, block = np.array(pairs, np.int64).reshape(-1, 2).T
    both = chosen.phases[phase] & chosen.blocks[block]
    sources, targets = np.cumsum(chosen.phases) - 1, np.count_nonzero(chosen.phases) + np.cumsum(chosen.blocks) - 1
    return make_flows(sources[phase[both]], targets[block[both]])


def _count(occupancy: Sequence[Occupancy], wanted: TraceFilter, tracks: TrackTable) -> polars.DataFrame:
    """The table `counters`: each change within the time that is wanted, and what there is as it begins."""
    runtime = tracks.find(RUNTIME, PROCESS)
    table = np.array(occupancy, np.int64).reshape(-1, len(Occupancy._fields))
    columns: dict[str, list[np.ndarray]] = {"track": [], "time_fs": [], "value": []}
    for at, name in enumerate(Occupancy._fields[1:], 1):
        changed = np.diff(table[:, at], prepend=-1) != 0
        unit = _UNITS.get(name, "entries")
        track = tracks.find(name.replace("_", " "), COUNTER, runtime, unit)
        time_fs, value = table[changed, 0], table[changed, at].astype(float)
        first, after = (int(np.searchsorted(time_fs, limit_fs)) for limit_fs in (wanted.start_fs, wanted.end_fs))
        if first and (first == len(time_fs) or time_fs[first] > wanted.start_fs):
            first -= 1
        columns["track"].append(np.full(max(after - first, 0), track))
        columns["time_fs"].append(np.maximum(time_fs[first:after], wanted.start_fs))
        columns["value"].append(value[first:after])
    return make_counters({name: np.concatenate(values) for name, values in columns.items()})
