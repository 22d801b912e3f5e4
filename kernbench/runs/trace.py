"""The trace of a run as a file of Perfetto."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernbench.runs.explanation import find_path
from kernbench.trace.filters import KINDS, read_filters
from kernbench.trace.perfetto import write_trace_file
from kernbench.trace.program_trace import RunToTrace, Span, trace_run

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.engine import Session
    from kernbench.host.device.launch import Launch


def write_trace(session: Session, launches: Sequence[Launch], path: Path, filters: Sequence[str] = ()) -> None:
    """Write the trace of a finished run. Errors: as `write_run_trace`."""
    times = session.times
    spans = [
        Span(str(launch.message.kernel_ref), launch.left_fs(times.issue_fs), launch.back_fs(times.end_fs))
        for launch in launches
    ]
    critical = find_path(session, launches, times)
    write_run_trace(RunToTrace(session.program, times, session.now_fs, critical, spans), path, filters)


def write_run_trace(run: RunToTrace, path: Path, filters: Sequence[str] = (), kinds: Sequence[str] = KINDS) -> None:
    """Write a trace; filters may name `kinds`. Errors: InputError for a filter that cannot be, RunError if the disk refuses."""
    write_trace_file(trace_run(run, read_filters(filters, kinds)), path)
