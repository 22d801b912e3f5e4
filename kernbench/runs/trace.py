"""The trace of a run as a file of Perfetto."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kernbench.runs.explanation import find_path
from kernbench.trace.filters import KINDS, read_filters
from kernbench.trace.perfetto import write_trace_file
from kernbench.trace.program_trace import RunToTrace, Span, trace_run

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.engine import Session
    from kernbench.host.device.launch import Launch


LAUNCHES, LAYERS, OPERATORS = "launches", "layers", "operators"  # tracks


def write_trace(
    session: Session,
    launches: Sequence[Launch],
    path: Path,
    filters: Sequence[str] = (),
    network: Mapping[str, Any] | None = None,
) -> None:
    """Write the trace of a finished run; `network` is the answer of one. Errors: as `write_run_trace`."""
    times = session.times
    spans = [
        Span(str(launch.message.kernel_ref), launch.left_fs(times.issue_fs), launch.back_fs(times.end_fs))
        for launch in launches
    ]
    critical = find_path(session, launches, times)
    tracks = {**list_layers(network["operators"] if network else ()), LAUNCHES: spans}
    write_run_trace(RunToTrace(session.program, times, session.now_fs, critical, tracks), path, filters)


def list_layers(operators: Sequence[Mapping[str, Any]]) -> dict[str, list[Span]]:
    """The layers of a network and the operators in them as spans, by track; nothing without operators."""
    if not operators:
        return {}
    layers = [(name, list(own)) for name, own in groupby(operators, lambda row: row["section"])]
    return {
        LAYERS: [Span(name, own[0]["start_fs"], own[-1]["end_fs"]) for name, own in layers],
        OPERATORS: [Span(row["operator"], row["start_fs"], row["end_fs"]) for row in operators],
    }


def write_run_trace(run: RunToTrace, path: Path, filters: Sequence[str] = (), kinds: Sequence[str] = KINDS) -> None:
    """Write a trace; filters may name `kinds`. Errors: InputError for a filter that cannot be, RunError if the disk refuses."""
    write_trace_file(trace_run(run, read_filters(filters, kinds)), path)
