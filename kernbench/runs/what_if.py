"""What-if table of a run: its latency if a field of the topology were twice as fast, simulated.

The program of the run is kept and run on machines that differ in times alone, all with one structure. So what a bench, a kernel
or an algorithm chose by the machine's rates stays chosen. Where several fields bind together, none gains alone what they gain
together: such groups of fields are simulated too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, inf
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.engine.batch import Runs
from kernbench.errors import InputError, shorten
from kernbench.notebook import html_table
from kernbench.program.ops import Op
from kernbench.runs.metrics import latency_fs
from kernbench.runs.repetitions import Repetitions, used_fields
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.engine.session import Session
    from kernbench.host.device.launch import Launch
    from kernbench.limits.run_options import OnRuns, OnStage
    from kernbench.machine.machine import Machine
    from kernbench.parts.derived import Origin
    from kernbench.program.program import Program

GROUPED = 4  # fields of which all groups are tried: those that gain most or whose parts are busiest
GAIN = 0.005  # of the latency: what a group gains beyond its members, if it is listed


@dataclass(frozen=True, slots=True)
class Alternative:
    """The run on a machine with other values of some fields of its topology."""

    fields: Mapping[str, tuple[float, float]]  # as it is, as it would be
    latency_ns: float
    change: float  # of the latency, as a fraction: -0.15 is 15 % less
    name: str = ""  # of all that the fields are about, if it has one

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        fields = {name: {"from": old, "to": new} for name, (old, new) in self.fields.items()}
        named = {"name": self.name} if self.name else {}
        return {**named, "fields": fields, "latency_ns": self.latency_ns, "change": self.change}


@dataclass(frozen=True, slots=True, repr=False)
class WhatIf:
    """The alternatives of a run: each field alone, and groups of fields that gain more than their members do."""

    factor: float  # by which rates are multiplied and times divided
    latency_ns: float
    alternatives: tuple[Alternative, ...]  # the fastest first

    def __repr__(self) -> str:
        best = self.best
        told = "nothing makes it shorter" if best is None else f"{' and '.join(best.fields)} {best.change:+.1%}"
        return f"<WhatIf {self.factor:g} times as fast, of {self.latency_ns:,.1f} ns: {told}; .alternatives>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """A table for notebooks: the fields of each alternative, and its latency."""
        rows = [
            [" and ".join(one.fields), f"{one.latency_ns:,.1f}", f"{one.change:+.1%}"]
            for one in self.alternatives
            if one.change
        ]
        title = f"what if it were {self.factor:g} times as fast"
        return html_table(title, ["field", "latency ns", "change"] if rows else [], rows)

    @property
    def best(self) -> Alternative | None:
        """The alternative with the lowest latency; None if nothing makes the run shorter."""
        first = next(iter(self.alternatives), None)
        return first if first is not None and first.change < 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"factor": self.factor, "alternatives": [one.to_dict() for one in self.alternatives]}


def find_what_if(
    session: Session,
    launches: Sequence[Launch],
    factor: float = 2,
    fields: Sequence[str] | None = None,
    on_stage: OnStage = lambda _: None,
    on_runs: OnRuns = lambda _done, _total: None,
) -> WhatIf | None:
    """The what-if table of a finished run.

    Without `fields`, of every field that a time of the run follows from. None if the program does not repeat the run without
    the host, which waited for results in between. `on_stage(text)` is called with what is done next,
    `on_runs(done, total)` during the runs.

    Errors: InputError for a factor that is no finite number above 0 or is too small, or a field that no time follows from.
    """
    if isinstance(factor, bool) or not isinstance(factor, Real) or not 0 < factor < inf:
        got = f"{factor:g}" if isinstance(factor, float) else shorten(repr(factor))
        raise InputError(
            f"a what-if got factor {got}; give a finite number greater than 0, such as 2 for twice as fast, "
            'and the fields apart, as in what_if(2, ["noc.gbs"])'
        )
    fields = [fields] if isinstance(fields, str) else fields
    machine, program = session.machine, session.program.settled()
    origins, used = machine.origins().by_field, used_fields(program)
    if fields is None:
        fields = sorted(field for field in used if machine.figures[field] > 0)
    elif unknown := [field for field in fields if field not in origins]:
        known = ", ".join(sorted(origins))
        raise InputError(f"no time of machine {machine.name} follows from {unknown[0]!r}; known: {known}")
    base_fs = int(latency_fs(Runs.of(session), launches)[0])
    if not fields or not base_fs:
        return WhatIf(factor, base_fs / FS_PER_NS, ())
    faster = {field: _faster(origins[field], machine.figures[field], factor) for field in fields}
    runs = _Repetitions(program, launches, faster, on_stage, on_runs)
    if runs.base_fs != base_fs:
        return None
    try:
        gain = runs.find_gains([(field,) for field in fields])
        busy = busy_shares(session, used)
        share = {alone: max(gained / base_fs, busy.get(alone[0], 0)) for alone, gained in gain.items()}
        ranked = [field for (field,) in sorted(share, key=lambda alone: (-share[alone], alone))][:GROUPED]
        gain |= runs.find_gains([group for size in range(2, len(ranked) + 1) for group in combinations(ranked, size)])
    except OverflowError as error:
        raise InputError(f"a what-if got factor {factor:g}, and then {error}; give a factor nearer to 1") from None
    alternatives = [
        Alternative(
            {field: (machine.figures[field], faster[field]) for field in group},
            (base_fs - gained) / FS_PER_NS,
            -gained / base_fs,
        )
        for group, gained in gain.items()
        if len(group) == 1 or gained - _gain_apart(group, gain) > GAIN * base_fs
    ]
    alternatives.sort(key=lambda one: (one.latency_ns, tuple(one.fields)))
    return WhatIf(factor, base_fs / FS_PER_NS, tuple(alternatives))


def _gain_apart(group: tuple[str, ...], gain: Mapping[tuple[str, ...], int]) -> int:
    """The most that two parts of a group gain, each without the other."""
    parts = [part for size in range(1, len(group)) for part in combinations(group, size)]
    return max(gain.get(part, 0) + gain.get(tuple(one for one in group if one not in part), 0) for part in parts)


class _Repetitions:
    """Runs of one program, in each of which some fields are faster."""

    def __init__(
        self,
        program: Program,
        launches: Sequence[Launch],
        faster: Mapping[str, float],
        on_stage: OnStage,
        on_runs: OnRuns,
    ) -> None:
        self._machine, self._faster = program.machine, faster
        self._on_runs, self._done = on_runs, 0
        self._total = 1 + len(faster) + sum(comb(min(len(faster), GROUPED), size) for size in range(2, GROUPED + 1))
        on_stage("what if: repeating the run")
        self._repetitions = Repetitions(program, launches)
        ((self.base_fs, self._left),) = self._run([()])  # as it is: latency, and what waits for ever

    def find_gains(self, changed: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
        """How much shorter the latency is (fs), by the fields that are faster; without runs that do not come to their end.

        Errors: OverflowError for a time beyond what can be counted.
        """
        found = zip(changed, self._run(changed) if changed else (), strict=True)
        return {fields: self.base_fs - fs for fields, (fs, left) in found if left == self._left}

    def _run(self, changed: Sequence[tuple[str, ...]]) -> list[tuple[int, int]]:
        """The latency (fs) of each run, and how much waits for ever at its end, as queues that nobody reads."""
        values = {
            field: np.array([new if field in fields else self._machine.figures[field] for fields in changed])
            for field, new in self._faster.items()
        }
        found = self._repetitions.run(
            values, lambda done: self._on_runs(min(self._done + done, self._total), self._total)
        )
        self._done += len(found)
        return found


def _faster(origin: Origin, value: float, factor: float) -> float:
    """The value of a field where its part is faster: a higher rate, or a shorter time."""
    return value / factor if origin.factor is None else value * factor


def busy_shares(session: Session, fields: frozenset[str]) -> dict[str, float]:
    """The utilisation of the busiest part by field, of links, memory channels and engines whose rate it is."""
    machine, program, span_fs = session.machine, session.program, max(session.now_fs, 1)
    origins = machine.origins()
    shares = dict.fromkeys(fields, 0.0)
    for at, origin in enumerate(origins.known):
        if origin.field in shares:
            busy_fs = session.station_busy_fs[origins.service == at].max(initial=0)
            shares[origin.field] = max(shares[origin.field], int(busy_fs) / span_fs)
    entries = np.flatnonzero(program.op.values[:, 0] == Op.EXEC)
    (server, duration), count = program.op.values[entries, 1:3].T, program.op.counts()[entries]
    for field in fields:
        of_duration = np.array([_time_from(field, machine, terms) for terms in program.durations])
        if of_duration.any():
            busy = np.bincount(server, of_duration[duration] * count, len(machine.server_slots)) / machine.server_slots
            shares[field] = max(shares[field], float(busy.max(initial=0)) / span_fs)
    return shares


def _time_from(field: str, machine: Machine, terms: Sequence[tuple[str, float]]) -> float:
    """How much of a duration (fs) follows from a field."""
    figures = machine.origins().figures
    return sum(machine.figures[name] * n for name, n in terms if name in figures and figures[name].field == field)
