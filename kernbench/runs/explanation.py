"""Explanation of a run's time: critical path, what-if table, utilisation, queueing and roofline.

The path is that of the latency: from the first launch leaving the host to the last completion back at it; of a run without
launches, of all of it. Utilisation counts what kernels did, over the time of the kernels, as the bottleneck of a run does;
of a run without launches what anything did, over all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.energy.run_energy import RunEnergy, is_priced
from kernbench.notebook import html_table
from kernbench.oplog.causes import Times
from kernbench.oplog.critical import Piece, find_critical_path
from kernbench.oplog.queueing import Queueing, find_queueing
from kernbench.oplog.utilisation import Parts, list_parts
from kernbench.runs.advice import list_advice
from kernbench.runs.error_bars import ErrorBars, find_error_bars
from kernbench.runs.metrics import busy_of_run
from kernbench.runs.path_shares import (
    LaunchTime,
    LineTime,
    OperatorTime,
    time_by_launch,
    time_by_line,
    time_by_operation,
    time_by_operator,
)
from kernbench.runs.roofline import Roofline, find_roofline
from kernbench.runs.what_if import WhatIf, find_what_if
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import polars

    from kernbench.engine import Session
    from kernbench.engine.network_waits import NetworkWaits
    from kernbench.host.device.launch import Launch
    from kernbench.limits.run_options import OnRuns, OnStage
    from kernbench.program.program import Program


MOST_EVENTS = 1 << 18  # of a run whose what-if table is part of the explanation: some thirty such runs take two seconds


@dataclass(frozen=True, slots=True)
class Usage:
    """How busy the parts of one class were, as fractions of a window."""

    kind: str
    parts: int
    used: int  # that were busy at all
    mean: float  # over all of them
    most: float
    busiest: str


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Why a run took as long as it did."""

    makespan_ns: float
    path: tuple[Piece, ...]  # in order of time
    lines: tuple[LineTime, ...]  # of kernels on the path, the longest first
    launches: tuple[LaunchTime, ...]  # by kernel and line of the host
    queueing: tuple[Queueing, ...]
    roofline: Roofline | None
    what_if: WhatIf | None  # None: the run is long, or cannot be repeated without its host
    parts: Parts
    busy_fs: np.ndarray  # float64[part]
    span_fs: int  # of `busy_fs`
    network: NetworkWaits | None  # None: not counted, or the machine has no credits
    error_bars: ErrorBars | None = None  # as of `what_if`
    operators: tuple[OperatorTime, ...] = ()  # of a network
    remarks: tuple[str, ...] = ()  # sentences of advice that only who has explained the run can give
    savings: tuple[tuple[str, int], ...] = ()  # aJ that half of each price would save, the most first
    energy_aj: int = 0  # of the run

    def __repr__(self) -> str:
        spent = ", ".join(f"{ns / (self.path_ns or 1):.0%} {kind}" for kind, ns in list(self.spent_ns.items())[:3])
        return f"<Explanation of {self.path_ns:,.1f} ns: {spent}; .spent_ns, .usage, .what_if, .advice, .path_table()>"

    def _repr_html_(self) -> str:
        rows = [[kind, f"{ns:,.1f}", f"{ns / (self.path_ns or 1):.1%}"] for kind, ns in self.spent_ns.items()]
        title = f"critical path of {self.path_ns:,.1f} ns, by class of part"
        table = html_table(title, ["spent on", "ns", "of it"], rows, *self.advice)
        more = "" if self.error_bars is None else self.error_bars.to_html()
        return table + ("" if self.what_if is None else self.what_if.to_html()) + more

    @property
    def path_ns(self) -> float:
        """How long the critical path is: the latency, or the makespan of a run without launches."""
        return sum(piece.end_fs - piece.start_fs for piece in self.path) / FS_PER_NS

    @property
    def spent_ns(self) -> dict[str, float]:
        """The critical path by class of part, the longest first."""
        spent: dict[str, int] = {}
        for piece in self.path:
            for kind, fs in piece.spent_fs.items():
                spent[kind] = spent.get(kind, 0) + fs
        return {kind: fs / FS_PER_NS for kind, fs in sorted(spent.items(), key=lambda item: (-item[1], item[0]))}

    @property
    def usage(self) -> tuple[Usage, ...]:
        """Utilisation by class, the busiest first; classes that did nothing are left out."""
        share = self._utilisation()
        kinds = np.array(self.parts.kind)
        found: list[Usage] = []
        for kind in dict.fromkeys(self.parts.kind):
            here = np.flatnonzero(kinds == kind)
            if share[here].any():
                top = int(here[np.argmax(share[here])])
                used, mean = int(np.count_nonzero(share[here])), float(share[here].mean())
                found.append(Usage(kind, len(here), used, mean, float(share[top]), self.parts.name[top]))
        return tuple(sorted(found, key=lambda one: (-one.most, one.kind)))

    @property
    def advice(self) -> list[str]:
        """Sentences on what holds the run up, where that is certain."""
        return [*list_advice(self.usage, self.roofline, self.what_if), *self.remarks]

    def path_table(self) -> polars.DataFrame:
        """The critical path: start_ns, end_ns, part, op_name, kind, spent_ns; a row for each class of each piece."""
        return make_path_table(self.path)

    def utilisation_table(self) -> polars.DataFrame:
        """Every link, memory channel and engine: part, kind, busy_ns, utilisation."""
        import polars

        return polars.DataFrame(
            {
                "part": self.parts.name,
                "kind": self.parts.kind,
                "busy_ns": self.busy_fs / FS_PER_NS,
                "utilisation": self._utilisation(),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values: sums by class, no single pieces and parts."""
        return {
            "makespan_ns": self.makespan_ns,
            "critical_path_ns": self.path_ns,
            "critical_path": self.spent_ns,
            "operations": {name: fs / FS_PER_NS for name, fs in time_by_operation(self.path).items()},
            "lines": [one.to_dict() for one in self.lines],
            "launches": [one.to_dict() for one in self.launches],
            "operators": [one.to_dict() for one in self.operators],
            "what_if": None if self.what_if is None else self.what_if.to_dict(),
            "error_bars": None if self.error_bars is None else self.error_bars.to_dict(),
            "window_ns": self.span_fs / FS_PER_NS,
            "utilisation": [{name: getattr(one, name) for name in one.__slots__} for one in self.usage],
            "queueing": [_in_ns(one._asdict()) for one in self.queueing],
            "roofline": None if self.roofline is None else self.roofline.to_dict(),
            "advice": self.advice,
            "savings": [{"field": field, "saves_aj": aj, "share": aj / self.energy_aj} for field, aj in self.savings],
            "energy_aj": self.energy_aj,
            "network": None if self.network is None else self.network.to_dict(),
        }

    def _utilisation(self) -> np.ndarray:
        """float64[part]"""
        return self.busy_fs / (self.parts.slots * float(max(self.span_fs, 1)))


def is_long(events: int) -> bool:
    """Whether a run has so many events that its what-if table is made only where it is asked for."""
    return events > MOST_EVENTS


def explain_run(
    session: Session,
    launches: Sequence[Launch],
    *,
    operators: Sequence[Mapping[str, Any]] = (),
    what_if: bool = False,
    on_stage: OnStage = lambda _: None,
    on_runs: OnRuns = lambda _done, _total: None,
) -> Explanation:
    """Explain a finished run; with `what_if` that table and error bars are part of it however long the run is.

    `operators` are those of a network's answer.
    """
    wanted = what_if or not is_long(session.events)
    times = session.times
    since_fs = min((launch.left_fs(times.issue_fs) for launch in launches), default=0)
    busy_fs, span_fs = busy_of_run(session, launches)
    path, parts = find_path(session, launches, times), list_parts(session.machine)
    return Explanation(
        makespan_ns=session.now_fs / FS_PER_NS,
        path=path,
        lines=time_by_line(session.program, path),
        launches=time_by_launch(session.program, path, launches, times),
        operators=time_by_operator(path, operators),
        queueing=tuple(find_queueing(session.program, times, since_fs)),
        roofline=find_roofline(session.program, launches, span_fs, parts, busy_fs),
        what_if=find_what_if(session, launches, on_stage=on_stage, on_runs=on_runs) if wanted else None,
        error_bars=find_error_bars(session, launches, on_stage, on_runs) if wanted else None,
        parts=parts,
        busy_fs=busy_fs,
        span_fs=span_fs,
        network=session.network_waits,
        **energy_of(session.program, session.now_fs),
    )


def energy_of(program: Program, makespan_fs: int) -> dict[str, Any]:
    """The fields of an explanation on the energy of a run."""
    if not is_priced(program.machine):
        return {}
    energy = RunEnergy(program, makespan_fs)
    return {"savings": tuple(energy.list_savings()), "energy_aj": energy.total_aj}


def make_path_table(path: Sequence[Piece]) -> polars.DataFrame:
    """The table of `Explanation.path_table`."""
    import polars

    rows = [
        (piece.start_fs / FS_PER_NS, piece.end_fs / FS_PER_NS, piece.part, piece.name, kind, fs / FS_PER_NS)
        for piece in path
        for kind, fs in piece.spent_fs.items()
    ]
    names = {"start_ns": float, "end_ns": float, "part": str, "op_name": str, "kind": str, "spent_ns": float}
    return polars.DataFrame(rows, schema=names, orient="row")


def find_path(session: Session, launches: Sequence[Launch], times: Times) -> tuple[Piece, ...]:
    """The critical path of the latency of a finished run, or without launches of all of it."""
    row, since_fs = None, 0
    if launches:
        last = max(launches, key=lambda launch: launch.back_fs(times.end_fs))
        row = last.completed[0].find_row(last.completed[1])
        since_fs = min(launch.left_fs(times.issue_fs) for launch in launches)
    return tuple(find_critical_path(session.program, times, session.station_busy_fs, row, since_fs))


def _in_ns(values: Mapping[str, Any]) -> dict[str, Any]:
    """Fields in fs as fields in ns."""
    plain = {name: value for name, value in values.items() if not name.endswith("_fs")}
    times = {f"{name[:-3]}_ns": value / FS_PER_NS for name, value in values.items() if name.endswith("_fs")}
    return {**plain, **times}
