"""Error bars of a run: how much its latency depends on figures of the machine that are not certain, simulated.

The rule: each uncertain figure goes to either end of its range, one at a time, and the program of the run is run again. What
the latency loses and gains is combined as for independent errors, by the root of the sum of squares. Two more runs have all
figures at their fast ends and at their slow ends at once. The program is kept, as for a what-if table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.engine.batch import Runs
from kernbench.notebook import html_table
from kernbench.runs.metrics import latency_fs
from kernbench.runs.repetitions import Repetitions, used_fields
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.engine.session import Session
    from kernbench.host.device.launch import Launch
    from kernbench.limits.run_options import OnRuns, OnStage
    from kernbench.machine.sheets.uncertainty import UncertainFigure


@dataclass(frozen=True, slots=True)
class Effect:
    """The latency with one figure at either end of its range."""

    figure: UncertainFigure
    at_low_ns: float
    at_high_ns: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            **self.figure.to_dict(),
            "stated": self.figure.ranged,
            "latency_at_low_ns": self.at_low_ns,
            "latency_at_high_ns": self.at_high_ns,
        }


@dataclass(frozen=True, slots=True, repr=False)
class ErrorBars:
    """Between what times a latency may be, for all that is not certain of the machine.

    - `low_ns`, `high_ns`: the error bar, by the root of the sum of squares of single effects.
    - `fastest_ns`, `slowest_ns`: with all figures at their fast or slow ends at once.
    - `effects`: of single figures, the largest first; those without an effect are left out.
    - `not_varied`: uncertain figures that decide more than times, so the program would not be the same.
    """

    latency_ns: float
    low_ns: float
    high_ns: float
    fastest_ns: float
    slowest_ns: float
    effects: tuple[Effect, ...]
    not_varied: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<ErrorBars {self.low_ns:,.1f} … {self.high_ns:,.1f} ns of {self.latency_ns:,.1f} ns; .effects>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """A table for notebooks: each figure with its range, and the latencies at its ends."""
        rows = [
            [one.figure.field, one.figure.shown_range, f"{one.at_low_ns:,.1f}", f"{one.at_high_ns:,.1f}"]
            for one in self.effects
        ]
        title = f"{self.latency_ns:,.1f} ns, {self.low_ns:,.1f} to {self.high_ns:,.1f} for what is uncertain"
        return html_table(title, ["figure", "range", "ns at low", "ns at high"], rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "latency_ns": self.latency_ns,
            "latency_low_ns": self.low_ns,
            "latency_high_ns": self.high_ns,
            "fastest_ns": self.fastest_ns,
            "slowest_ns": self.slowest_ns,
            "figures": [one.to_dict() for one in self.effects],
            "not_varied": list(self.not_varied),
        }


def find_error_bars(
    session: Session,
    launches: Sequence[Launch],
    on_stage: OnStage = lambda _: None,
    on_runs: OnRuns = lambda _done, _total: None,
) -> ErrorBars | None:
    """The error bars of a finished run; None if the program does not repeat the run without the host.

    `on_stage` and `on_runs` are called as by `find_what_if`.
    """
    machine, program = session.machine, session.program.settled()
    if machine.file is None:
        return None
    from kernbench.machine.sheets.uncertainty import combine, uncertain_of  # it loads the checker of sheets

    uncertain = uncertain_of(machine)
    varied = [one for name, one in uncertain.items() if name in used_fields(program)]
    other = tuple(name for name in uncertain if name not in machine.origins().fields)
    base_fs = int(latency_fs(Runs.of(session), launches)[0])
    base_ns = base_fs / FS_PER_NS
    if not varied or not base_fs:
        return ErrorBars(base_ns, base_ns, base_ns, base_ns, base_ns, (), other)
    on_stage("error bars: repeating the run")
    repetitions, total = Repetitions(program, launches), 2 * len(varied) + 3
    values = {one.field: np.full(total - 2, one.value) for one in varied}
    for at, one in enumerate(varied):
        values[one.field][[2 * at + 1, 2 * at + 2]] = one.low, one.high
    found = repetitions.run(values, lambda done: on_runs(done, total))
    if found[0][0] != base_fs or len({left for _, left in found}) > 1:
        return None
    times_ns = [fs / FS_PER_NS for fs, _ in found[1:]]
    effects = [Effect(one, *times_ns[2 * at : 2 * at + 2]) for at, one in enumerate(varied)]
    extremes = repetitions.run(_all_at_once(effects), lambda done: on_runs(total - 2 + done, total))
    fastest_ns, slowest_ns = (fs / FS_PER_NS for fs, _ in extremes)
    low_ns, high_ns = combine(base_ns, [(one.at_low_ns, one.at_high_ns) for one in effects])
    seen = [one for one in effects if (one.at_low_ns, one.at_high_ns) != (base_ns, base_ns)]
    seen.sort(key=lambda one: (-abs(one.at_high_ns - one.at_low_ns), one.figure.field))
    return ErrorBars(base_ns, low_ns, high_ns, fastest_ns, slowest_ns, tuple(seen), other)


def _all_at_once(effects: Sequence[Effect]) -> Mapping[str, np.ndarray]:
    """float64[2] of each figure: its fast end, then its slow end."""
    found: dict[str, np.ndarray] = {}
    for one in effects:
        ends = [one.figure.low, one.figure.high]
        found[one.figure.field] = np.array(ends if one.at_low_ns <= one.at_high_ns else ends[::-1])
    return found
