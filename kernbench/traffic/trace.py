"""The trace of flows: each is a slice from its start to its completion, on the track of the part that issues it.

Data, arrows and counters are those of the trace of a program (`trace.program_trace`). A flow that is issued ahead has its
slice from the time that was asked for, not from its row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.oplog.transfers import find_transfers
from kernbench.trace.counters import count_over_time
from kernbench.trace.filters import COUNTERS, read_filters
from kernbench.trace.parts import PartTracks
from kernbench.trace.perfetto import write_trace_file
from kernbench.trace.program_trace import trace_transfers
from kernbench.trace.tables import NOWHERE, Chunk, Trace, TrackTable, make_counters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars

    from kernbench.engine import Session
    from kernbench.trace.filters import TraceFilter
    from kernbench.traffic.run import FlowResult

MEMORY = "memory"  # the kind of flows, as of all transfers


class FinishedFlows(NamedTuple):
    """Flows that have all arrived."""

    session: Session
    row: np.ndarray  # int64[flow] of the op table
    result: FlowResult


def write_trace(run: FinishedFlows, path: Path, filters: Sequence[str] = ()) -> None:
    """Write the trace of finished flows. Errors: InputError for a filter that cannot be, RunError if the disk refuses."""
    write_trace_file(trace_flows(run, read_filters(filters)), path)


def trace_flows(run: FinishedFlows, chosen: TraceFilter) -> Trace:
    """The trace of finished flows. Errors: InputError for a filter that names a part which the machine lacks."""
    import polars

    session, program = run.session, run.session.program
    chosen.check(program.machine)
    tracks, times = TrackTable(), session.times
    parts = PartTracks(program.machine, tracks)
    names = [thread.name.partition("/")[0] for thread in program.threads]
    component = polars.Series(names).gather(program.op_thread[run.row])
    wanted = chosen.overlaps(run.result.flows.start_fs, run.result.end_fs) & (MEMORY in chosen.kinds)
    wanted &= chosen.matches(names)[program.op_thread[run.row]]
    order = np.flatnonzero(wanted)[np.argsort(run.result.flows.start_fs[wanted], kind="stable")]
    own, component = _list_slices(run.result, order, component[order], parts), component[order]
    more, flows = trace_transfers(program, own, component, find_transfers(program, times, run.row[order]), parts)
    counters = make_counters()
    if COUNTERS in chosen.kinds:
        counters = count_over_time(program, times, session.now_fs, chosen, parts, tracks)
    return Trace(tracks, [Chunk(polars.concat([own, more], how="diagonal"), flows)], counters)


def _list_slices(
    result: FlowResult, order: np.ndarray, component: polars.Series, parts: PartTracks
) -> polars.DataFrame:
    """The slices of int64[n] flows; `component` has the part that issues each."""
    import polars

    table = result.table()[order]
    return polars.DataFrame(
        {
            "track": np.array([parts.find(name) for name in component], np.int64),
            "start_fs": result.flows.start_fs[order],
            "end_fs": result.end_fs[order],
            "name": np.where(result.flows.read[order], "read", "write"),
            "category": polars.repeat(MEMORY, len(order), eager=True),
            "within": np.full(len(order), NOWHERE),
            "flow": table["id"],
            "to": table["dst"],
            "bytes": table["bytes"],
            "hops": table["hops"].cast(polars.Int64),
        }
    )
