"""The run of a task graph as `kernbench run` keeps one: figures, explanation, and the files that the viewer shows it from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.oplog.queueing import find_queueing
from kernbench.oplog.utilisation import find_bottlenecks, list_parts
from kernbench.pto.critical_path import find_graph_path
from kernbench.pto.record import Phase
from kernbench.pto.runtime_rows import RuntimeRows
from kernbench.pto.summary import summarise
from kernbench.runs.explanation import Explanation
from kernbench.runs.files import RunToKeep, times_of, write_run
from kernbench.runs.metrics import busy_of_run, run_metrics
from kernbench.runs.what_if import Alternative, WhatIf
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.pto.launch import Outcome
    from kernbench.pto.what_if import WhatIf as GraphWhatIf

NS_PER_US = 1000
_IDLE = (Phase.BLOCKED, Phase.START_UP)


def write_graph_run(
    outcome: Outcome,
    told: Mapping[str, Any],
    explanation: Explanation,
    out: Path,
    write_more: Callable[[Path], object],
) -> dict[str, str]:
    """Write the files of a run, and those of `write_more`, into a directory; returns where they are, by what they are.

    `told` is what the run was, in JSON's types: bench, topology, parameters, overrides, mode and so on. Errors: RunError if the
    disk refuses.
    """
    summary = {**told, **_measure(outcome, explanation), "explain": explanation.to_dict()}
    return write_run(
        RunToKeep(outcome.session, summary, explanation.path, explanation, RuntimeRows(outcome).make()), out, write_more
    )


def _measure(outcome: Outcome, explanation: Explanation) -> dict[str, Any]:
    """The figures of a run, by the names of `RunResult`; those of GEMM work and of PEs are of no meaning here."""
    summary, metrics = summarise(outcome), run_metrics(outcome.session, ())
    window_fs = np.array([explanation.window_fs])
    (limit,) = find_bottlenecks(
        explanation.parts, np.arange(len(explanation.busy_fs)), explanation.busy_fs[None], window_fs
    )
    return {
        "latency_ns": outcome.end_fs / FS_PER_NS,
        "pe_exec_ns": NS_PER_US * summary.span_us,
        "makespan_ns": outcome.end_fs / FS_PER_NS,
        "events": metrics["events"],
        "flit_hops": metrics["flit_hops"],
        "wall_s": outcome.wall_s,
        "bottleneck": limit and limit.kind,
        "bottleneck_part": limit and limit.part,
        "bottleneck_utilisation": limit.utilisation if limit else 0.0,
    }


def explain_graph(outcome: Outcome, what_ifs: Sequence[GraphWhatIf] | None = None) -> Explanation:
    """Why a run took as long as it did, with its what-ifs if they were simulated; it has no lines of kernels."""
    session, times = outcome.session, times_of(outcome.session)
    return Explanation(
        makespan_ns=outcome.end_fs / FS_PER_NS,
        path=find_graph_path(outcome, times, RuntimeRows(outcome)),
        lines=(),
        launches=(),
        queueing=tuple(find_queueing(session.program, times, 0)),
        roofline=None,
        what_if=None if what_ifs is None else _join_what_ifs(outcome, what_ifs),
        parts=list_parts(session.machine),
        busy_fs=_find_busy(outcome),
        window_fs=outcome.end_fs,
        network=None,
    )


def _find_busy(outcome: Outcome) -> np.ndarray:
    """int64[part] how long each part was busy: engines, links and channels in the program, threads and cores by the record."""
    busy_fs, _ = busy_of_run(outcome.session, ())
    rows = RuntimeRows(outcome)
    server = {name: at for at, name in enumerate(outcome.device.machine.server_name)}
    for row in outcome.record.phases:
        if row.phase not in _IDLE:
            busy_fs[server[rows.part_of_thread(row.thread)]] += row.end_fs - row.start_fs
    for row in rows.blocks:
        busy_fs[outcome.device.cores[row.core].place.server] += row.end_fs - row.start_fs
    return busy_fs


def _join_what_ifs(outcome: Outcome, what_ifs: Sequence[GraphWhatIf]) -> WhatIf:
    """The what-ifs of the run as a table of alternatives, each with a name for its fields."""
    latency_ns = outcome.end_fs / FS_PER_NS
    found = [
        Alternative(one.fields, NS_PER_US * one.run_us, NS_PER_US * one.run_us / latency_ns - 1, one.name)
        for one in what_ifs
    ]
    return WhatIf(2, latency_ns, tuple(found))
