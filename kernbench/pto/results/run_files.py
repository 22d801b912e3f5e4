"""The run of a task graph as `kernbench run` keeps one: figures, explanation, trace, and the files that the viewer shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernbench.oplog.critical import find_critical_path
from kernbench.oplog.queueing import find_queueing
from kernbench.pto.results.record import Occupancy
from kernbench.pto.results.runtime_rows import BLOCK_KIND, CONTROL
from kernbench.runs.explanation import Explanation, energy_of
from kernbench.runs.trace import write_run_trace
from kernbench.trace.counters import Level
from kernbench.trace.filters import COUNTERS, PATH
from kernbench.trace.program_trace import RunToTrace
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.oplog.critical import Piece
    from kernbench.pto.launch import Outcome
    from kernbench.pto.results.what_if import Rerun
    from kernbench.runs.what_if import WhatIf

NS_PER_US = 1000
_GROUPS = {  # what-ifs of parts of the runtime: what has time on the path, and how the names of its pieces begin
    "submission": ("the orchestrator has", "orchestrator: "),
    "dispatch": ("the schedulers have", "scheduler: "),
    "hand-over": ("hand-overs have", "hand-over "),
}
TRACE_KINDS = (CONTROL, BLOCK_KIND, PATH, COUNTERS)  # that filters of traces may name
_UNITS = {"heap_bytes": "bytes"}  # of levels; those of others are entries
LEAST_TOLD = 0.1  # of the critical path
MOST_OF_IT = 0.9  # of what a part that is twice as fast saves if nothing else takes its place on the path


def find_graph_path(outcome: Outcome) -> tuple[Piece, ...]:
    """The critical path of a run, over threads of the runtime and cores, in the order of time."""
    session = outcome.whole
    found = find_critical_path(session.program, session.times, session.station_busy_fs, outcome.last_row)
    return tuple(found)


def write_graph_trace(outcome: Outcome, path: Path, filters: Sequence[str] = ()) -> None:
    """Write the trace of a finished run for Perfetto, with how full rings, pools and queues were.

    Errors: InputError for a filter, RunError if the disk refuses.
    """
    session, table = outcome.whole, np.array(outcome.record.occupancy, np.int64).reshape(-1, len(Occupancy._fields))
    levels = [
        Level(name.replace("_", " "), _UNITS.get(name, "entries"), table[:, 0], table[:, at])
        for at, name in enumerate(Occupancy._fields[1:], 1)
    ]
    critical = find_graph_path(outcome)
    run = RunToTrace(session.program, session.times, outcome.end_fs, critical, levels=levels)
    write_run_trace(run, path, filters, TRACE_KINDS)


def explain_graph(outcome: Outcome, what_ifs: WhatIf | None = None, rerun: Rerun | None = None) -> Explanation:
    """Why a run took as long as it did, with its what-ifs if they were simulated; it has no lines of kernels.

    `rerun` runs it again, to say how its critical path and the what-ifs fit together.
    """
    session = outcome.whole
    found = Explanation(
        makespan_ns=outcome.end_fs / FS_PER_NS,
        path=find_graph_path(outcome),
        lines=(),
        launches=(),
        queueing=tuple(find_queueing(session.program, session.times, 0)),
        roofline=None,
        what_if=what_ifs,
        parts=outcome.usage.parts,
        busy_fs=outcome.usage.busy_fs,
        span_fs=outcome.end_fs,
        network=None,
        **energy_of(session.program, outcome.end_fs),
    )
    told = _tell_fit(outcome, found, what_ifs, rerun) if what_ifs and rerun else None
    return replace(found, remarks=(told,)) if told else found


def _tell_fit(outcome: Outcome, explanation: Explanation, what_ifs: WhatIf, rerun: Rerun) -> str | None:
    """How the part of the runtime that has most of the critical path fits to what its being twice as fast saves."""
    spent_ns, whole_ns = _by_group(explanation.path), outcome.end_fs / FS_PER_NS
    group = max(spent_ns, key=spent_ns.__getitem__)
    share, faster = spent_ns[group] / whole_ns, next(one for one in what_ifs.alternatives if one.name == group)
    saves = -faster.change
    if share < LEAST_TOLD:
        return None
    told = (
        f"{_GROUPS[group][0]} {share:.0%} of the critical path, half of which is {share / 2:.0%}; {group} twice as fast saves "
        f"{max(saves, 0.0):.0%}"
    )
    if saves >= MOST_OF_IT * share / 2:
        return told
    again = rerun({field: value for field, (_, value) in faster.fields.items()}, 1.0)
    then_ns = _by_group(find_graph_path(again))
    grown = max((name for name in _GROUPS if name != group), key=lambda name: then_ns[name] - spent_ns[name])
    if then_ns[grown] <= spent_ns[grown]:
        return f"{told}, because it still has {then_ns[group] / (again.end_fs / FS_PER_NS):.0%} of the path then"
    more_us = [f"{each[grown] / NS_PER_US:,.1f}" for each in (spent_ns, then_ns)]
    return f"{told}, because {_GROUPS[grown][0]} {more_us[1]} µs of the path then, not {more_us[0]}"


def _by_group(path: Sequence[Piece]) -> dict[str, float]:
    """Nanoseconds of a path in each part of the runtime, by the names of their what-ifs."""
    found = dict.fromkeys(_GROUPS, 0.0)
    for piece in path:
        for kind, fs in piece.spent_fs.items():
            for name, (_, start) in _GROUPS.items():
                if kind.startswith(start):
                    found[name] += fs / FS_PER_NS
    return found
