"""The trace of a run of a device program: its op log as slices, its transfers as flows, its counters and its critical path.

Each row of the op log is a slice on the track of its part. A transfer has a slice "data" within its row, while its data are on
the way, an instant on the track of its other end, and a flow from the one to the other in the direction of the data. Where a
cause is noted, a flow leads from it to what waited for it in another thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.oplog.log import LogRows
from kernbench.oplog.transfers import Transfers, find_transfers
from kernbench.program.ops import NONE
from kernbench.trace.counters import Level, count_over_time, list_levels
from kernbench.trace.filters import COUNTERS, PATH, TraceFilter
from kernbench.trace.parts import RUN, PartTracks, list_track_paths
from kernbench.trace.tables import (
    ENDLESS,
    NOWHERE,
    PROCESS,
    SLICES,
    Chunk,
    Trace,
    TrackTable,
    make_counters,
    make_flows,
)
from kernbench.units import format_ns

if TYPE_CHECKING:
    import polars

    from kernbench.oplog.causes import Times
    from kernbench.oplog.critical import Piece
    from kernbench.program.program import Program

CRITICAL_PATH, START = "critical path", "start"  # its tracks; Perfetto counts from its first event
DATA, TRANSFER = "data", "transfer"  # the slice of a transfer's data, and the category of what belongs to transfers
EVERYTHING = TraceFilter()
ROWS = 1 << 15  # of the op log that are in memory as slices at once
NO_ROWS = np.zeros(0, np.int64)


class Span(NamedTuple):
    """A time of the run with a name, such as a launch."""

    name: str
    start_fs: int
    end_fs: int


class RunToTrace(NamedTuple):
    """What a trace is made of: a finished run, and what is known of it beside."""

    program: Program
    times: Times
    end_fs: int
    path: Sequence[Piece] = ()  # its critical path
    spans: Mapping[str, Sequence[Span]] = {}  # of the whole run, by the name of their track, such as its launches
    levels: Sequence[Level] = ()


def trace_run(run: RunToTrace, chosen: TraceFilter = EVERYTHING) -> Trace:
    """The trace of a run. Errors: InputError for a filter that names a part which the machine lacks."""
    import polars

    machine = run.program.machine
    chosen.check(machine)
    tracks = TrackTable()
    tracks.find(RUN, PROCESS)
    parts = PartTracks(machine, tracks)
    counters = make_counters()
    if COUNTERS in chosen.kinds:
        counters = count_over_time(run.program, run.times, run.end_fs, chosen, parts, tracks)
        if run.levels and not chosen.parts:
            levels = list_levels(run.levels, chosen, tracks, tracks.find(RUN, PROCESS))
            counters = polars.concat([counters, levels])
    return Trace(tracks, _trace_chunks(run, chosen, parts, tracks), counters)


def _trace_chunks(run: RunToTrace, chosen: TraceFilter, parts: PartTracks, tracks: TrackTable) -> Iterator[Chunk]:
    """What concerns the whole run, then the op log a part at a time."""
    yield Chunk(_trace_whole_run(run, chosen, tracks), make_flows(NO_ROWS, NO_ROWS), 0)
    log, arrows = LogRows.of(run.program, run.times.start_fs, run.times.end_fs), _list_arrows(run.program)
    for first in range(0, max(len(log.row), 1), ROWS):  # an empty log is one chunk, which ends what is open
        after = log.row[first + ROWS : first + ROWS + 1]
        until_fs = int(run.times.start_fs[after[0]]) if len(after) else ENDLESS
        yield Chunk(*_trace_rows(run, log, arrows, first, chosen, parts), until_fs)


def _trace_rows(
    run: RunToTrace, rows: LogRows, arrows: np.ndarray, first: int, chosen: TraceFilter, parts: PartTracks
) -> tuple[polars.DataFrame, polars.DataFrame]:
    """The slices of some rows of the op log and of their transfers, their flows, and those of `arrows` among them."""
    import polars

    program, times = run.program, run.times
    row = rows.row[first : first + ROWS]
    log = rows.table(row, times.issue_fs, times.start_fs, times.end_fs)
    wanted = chosen.overlaps(log["start_fs"].to_numpy(), log["end_fs"].to_numpy())
    wanted &= log["op_kind"].is_in(chosen.kinds).to_numpy()
    if chosen.parts:
        names = log["component"].unique()
        wanted &= log["component"].is_in(names.filter(chosen.matches(names.to_list())).implode()).to_numpy()
    log = log.with_row_index("row", first).filter(wanted)
    row = row[wanted]
    own = log.select(
        track=_find_tracks(list_track_paths(log["component"], log["op_kind"]), parts),
        start_fs="start_fs",
        end_fs="end_fs",
        name="op_name",
        category="op_kind",
        within=polars.lit(NOWHERE, polars.Int64),
        row=polars.col("row").cast(polars.Int64),
        queued_fs=_unless(polars.col("start_fs") - polars.col("issue_fs"), 0),
        bytes=_unless(polars.col("bytes"), 0),
        thread="thread",
        params=_unless(polars.col("params"), ""),
    )
    found = find_transfers(program, times, row)
    more, flows = trace_transfers(program, own, log["component"], found, parts)
    return polars.concat([own, more], how="diagonal"), polars.concat([flows, _draw_arrows(arrows, row, times)])


def _list_arrows(program: Program) -> np.ndarray:
    """int64[arrow, 2] rows of the op table: a cause that is noted, and what waited for it in another thread."""
    thread = program.op_thread
    found = [(cause.shown, row) for row, cause in program.causes.items() if cause.shown != NONE]
    arrows = np.array(found, np.int64).reshape(-1, 2)
    return arrows[thread[arrows[:, 0]] != thread[arrows[:, 1]]]


def _draw_arrows(arrows: np.ndarray, row: np.ndarray, times: Times) -> polars.DataFrame:
    """The flows of arrows between slices of int64[slice] rows; a flow leads to what begins later."""
    begins = times.start_fs[arrows]
    ends = arrows[(begins[:, 0] < begins[:, 1]) & np.isin(arrows, row).all(axis=1)]
    order = np.argsort(row)
    source, target = order[np.searchsorted(row, ends, sorter=order)].T
    return make_flows(source, target)


def _unless(column: polars.Expr, empty: int | str) -> polars.Expr:
    """A column without a value that says nothing."""
    import polars

    return polars.when(column != empty).then(column)


def _find_tracks(component: polars.Series, parts: PartTracks) -> polars.Series:
    """Int64[row] the track of each part."""
    import polars

    names = component.unique(maintain_order=True)
    numbers = np.array([parts.find(name) for name in names], np.int64)
    return polars.Series(numbers).gather(component.cast(polars.Enum(names)).to_physical())


def trace_transfers(
    program: Program, own: polars.DataFrame, component: polars.Series, found: Transfers, parts: PartTracks
) -> tuple[polars.DataFrame, polars.DataFrame]:
    """The slices "data" of transfers, the instants at their other ends, and the flows between them."""
    import polars

    names = polars.Series(program.machine.node_name, dtype=polars.String)
    start_fs, end_fs = (own[name].to_numpy()[found.at] for name in ("start_fs", "end_fs"))
    apart = (found.leave_fs > start_fs) | (found.arrive_fs < end_fs)  # data that take less than the row
    base, far = own[found.at], found.far
    data = base.select(
        track="track",
        start_fs=polars.Series(found.leave_fs),
        end_fs=polars.Series(found.arrive_fs),
        name=polars.lit(DATA),
        category=polars.lit(TRANSFER),
        within=polars.Series(found.at),
    ).filter(apart)
    instants = base[far.transfer].select(
        track=_find_tracks(names.gather(far.node), parts),
        start_fs=polars.Series(far.time_fs),
        end_fs=polars.Series(far.time_fs),
        name="name",
        category=polars.lit(TRANSFER),
        within=polars.lit(NOWHERE, polars.Int64),
        bytes="bytes",
        part=component.gather(found.at[far.transfer]),
    )
    near = np.where(apart, len(own) + np.cumsum(apart) - 1, found.at)[far.transfer]
    away = len(own) + len(data) + np.arange(len(instants))
    is_read = found.is_read[far.transfer]
    # What takes no time goes nowhere: an arrow would point to any side.
    takes = (found.arrive_fs > found.leave_fs)[far.transfer]
    flows = make_flows(np.where(is_read, away, near)[takes], np.where(is_read, near, away)[takes])
    return polars.concat([data, instants], how="diagonal"), flows


def _trace_whole_run(run: RunToTrace, chosen: TraceFilter, tracks: TrackTable) -> polars.DataFrame:
    """The critical path, the spans, and the start of the run, which is there whatever is chosen."""
    import polars

    process = tracks.find(RUN, PROCESS)
    rows: list[dict[str, object]] = []
    pieces = run.path if PATH in chosen.kinds else ()
    wanted = chosen.matches([piece.part for piece in pieces]).tolist()
    for piece in (piece for piece, here in zip(pieces, wanted, strict=True) if here):
        span = Span(piece.name or "other", piece.start_fs, piece.end_fs)
        spent = ", ".join(f"{kind} {format_ns(fs)}" for kind, fs in piece.spent_fs.items())
        row = _whole(tracks.find(CRITICAL_PATH, SLICES, process), span, PATH)
        rows.append(row | {"part": piece.part or None, "spent": spent})
    spans: Mapping[str, Sequence[Span]] = run.spans if not chosen.parts and "control" in chosen.kinds else {}
    rows += [_whole(tracks.find(name, SLICES, process), span, "launch") for name, own in spans.items() for span in own]
    numbers: dict[str, Any] = dict.fromkeys(("track", "start_fs", "end_fs", "within"), polars.Int64)
    texts: dict[str, Any] = dict.fromkeys(("name", "category", "part", "spent"), polars.String)
    found = polars.DataFrame(rows, schema=numbers | texts)
    found = found.filter(chosen.overlaps(found["start_fs"].to_numpy(), found["end_fs"].to_numpy()))
    start = _whole(tracks.find(START, SLICES, process), Span(START, 0, 0), RUN)
    return polars.concat([polars.DataFrame([start], schema=numbers | texts), found])


def _whole(track: int, span: Span, category: str) -> dict[str, object]:
    times = {"start_fs": span.start_fs, "end_fs": span.end_fs}
    return {"track": track, **times, "name": span.name, "category": category, "within": NOWHERE}
