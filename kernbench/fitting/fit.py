"""A fit of a machine to measurements: what is read, what moves, what came out, and how far off it is.

The error that counts is that of rows which the fit has not seen: the rows are cut into FOLDS parts, and each part is predicted
by a fit of the others. Rows of the same work are in the same part.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernbench import library
from kernbench.atomic_output import write_file
from kernbench.characters import check_characters
from kernbench.errors import InputError
from kernbench.fitting.cases import Cases
from kernbench.fitting.estimate import AT_END, Estimate, Estimator
from kernbench.fitting.figures import LeftOut, choose_figures
from kernbench.fitting.machine_file import NewFigure, write_topology
from kernbench.fitting.measurements import Measurements, read_measurements
from kernbench.library import show_path
from kernbench.limits.run_limits import read_limits
from kernbench.limits.time_limit import limit_time
from kernbench.machine.load import load_spec
from kernbench.machine.overrides import read_overrides
from kernbench.notebook import html_table
from kernbench.text import plural

FOLDS = 5
DIGITS = 6  # of a fitted value in the machine file
ODD = 30.0  # how many times further off than the others a row is whose unit must be another one

OnStage = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class FittedFigure:
    """A figure that the measurements determine: its interval of 95 % is `value` ± `share` of it."""

    field: str
    unit: str
    before: float
    value: float
    share: float
    low: float  # the range in which it could move
    high: float

    @property
    def at_end(self) -> bool:
        """Whether the measurements would have it beyond its range."""
        near = 2 * AT_END * (self.high - self.low)
        return self.value - self.low < near or self.high - self.value < near

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval of 95 %, inside the range."""
        return max(self.value * (1 - self.share), self.low), min(self.value * (1 + self.share), self.high)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "field": self.field,
            "unit": self.unit,
            "before": self.before,
            "value": self.value,
            "uncertainty": self.share,
            "range": [self.low, self.high],
            "at_end": self.at_end,
        }


@dataclass(frozen=True, slots=True)
class Errors:
    """Mean and worst relative error of simulated times, as shares of the measured ones."""

    mean: float
    worst: float

    @classmethod
    def of(cls, log_times: np.ndarray, log_measured: np.ndarray) -> Errors:
        """The errors of some rows, by logarithms of times."""
        off = np.abs(np.expm1(log_times - log_measured))
        return cls(float(off.mean()), float(off.max()))

    def to_dict(self) -> dict[str, float]:
        """Plain values."""
        return {"mean": self.mean, "worst": self.worst}


@dataclass(frozen=True, slots=True, repr=False)
class FitResult:
    """A machine fitted to measurements.

    - `figures`: what was fitted, each with its interval; `undetermined`: what the measurements do not determine, and why.
    - `before`, `after`: the errors of the given and of the fitted machine; `held_out`: at rows that a fit had not seen,
      None with too few rows.
    - `times_ns`: float64[row] simulated on the fitted machine.
    """

    topology: Path
    overrides: Mapping[str, object]
    measured: Measurements
    figures: tuple[FittedFigure, ...]
    undetermined: tuple[LeftOut, ...]  # that could move, and that the measurements do not determine
    left_out: tuple[LeftOut, ...]  # chosen figures that could not move
    before: Errors
    after: Errors
    held_out: Errors | None
    times_ns: np.ndarray
    runs: int

    def __repr__(self) -> str:
        told = (
            ", ".join(f"{one.field} {one.before:.6g} → {one.value:.6g}" for one in self.figures)
            or "nothing is determined"
        )
        return f"<FitResult {self._told}: {told}; .figures, .undetermined, .held_out, .write(file)>"

    def _repr_html_(self) -> str:
        rows = [
            [one.field, f"{one.before:.6g}", f"{one.value:.6g}", f"± {one.share:.1%}", one.unit] for one in self.figures
        ]
        notes = [f"{one.field}: {one.why}" for one in self.undetermined]
        return html_table(self._told, ["figure", "before", "fitted", "95 %", "unit"], rows, *notes, *self.remarks)

    @property
    def _told(self) -> str:
        rows = plural(len(self.measured.rows), "point")
        off = f"{self.before.mean:.1%} → {self.after.mean:.1%} off"
        return f"{self.topology.stem} to {rows} of {self.measured.file.name}, {off}"

    @property
    def values(self) -> dict[str, float]:
        """The fitted values by field, as `overrides` takes them."""
        return {one.field: one.value for one in self.figures}

    def write(self, file: str | Path) -> None:
        """Write the fitted machine to a topology file. Errors: RunError if the disk refuses, InputError for another name."""
        path = check_machine_file(file)
        text = self.machine_text()

        def write(partial: Path) -> None:
            partial.write_text(text, encoding="utf-8")
            load_spec(partial)

        write_file(path, write)

    @property
    def remarks(self) -> list[str]:
        """Sentences on what should be looked at."""
        found = [
            f"{one.field} is at the end of its range, {one.low:.6g} to {one.high:.6g} {one.unit}: the measurements would have "
            "it beyond, so the range is wrong, or the machine lacks something that costs time"
            for one in self.figures
            if one.at_end
        ]
        if self.held_out is None:
            found.append("no error of rows held out: there are too few for a fit without some of them")
        return found

    def machine_text(self) -> str:
        """The topology file of the fitted machine."""
        rows = plural(len(self.measured.rows), "point")
        new = {
            one.field: NewFigure(
                one.value,
                one.unit,
                tuple(_rounded(end) for end in one.interval),  # pyright: ignore[reportArgumentType]
                f"fitted to {self.measured.file.name}, {rows}, ± {one.share:.1%}",
            )
            for one in self.figures
        }
        error = "" if self.held_out is None else f", {self.held_out.mean:.1%} at rows held out"
        head = (
            f"Fitted to {self.measured.file.name} from {self.topology.name}: {rows}, mean error {self.after.mean:.1%}{error}.\n"
            "Ranges are intervals of 95 %."
        )
        return write_topology(self.topology, self.overrides, new, head)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        rows = [
            {"line": row.line, "measured_ns": row.time_ns, "simulated_ns": float(time)}
            for row, time in zip(self.measured.rows, self.times_ns, strict=True)
        ]
        return {
            "topology": self.topology.stem,
            "data": show_path(self.measured.file),
            "points": len(rows),
            "metric": self.measured.metric,
            "figures": [one.to_dict() for one in self.figures],
            "undetermined": [one._asdict() for one in self.undetermined],
            "left_out": [one._asdict() for one in self.left_out],
            "error_before": self.before.to_dict(),
            "error": self.after.to_dict(),
            "error_held_out": None if self.held_out is None else self.held_out.to_dict(),
            "remarks": self.remarks,
            "runs": self.runs,
            "rows": rows,
        }


def check_machine_file(file: str | Path) -> Path:
    """A path that a machine can be written to. Errors: InputError for one that no topology could have."""
    path = Path(check_characters(str(file), "the file of the machine"))
    if path.suffix != ".yaml":
        raise InputError(
            f"a machine is a YAML file, and {show_path(path)} is none by its name; give one that ends in .yaml"
        )
    return path


def fit_machine(
    topology: str | Path,
    data: str | Path,
    *,
    fields: Sequence[str] = (),
    overrides: Mapping[str, object] | None = None,
    workers: int | None = None,
    time_limit: float | str | None = None,
    on_stage: OnStage = lambda _: None,
) -> FitResult:
    """Fit figures of a machine to measured times, so that its simulated times come as near as they can.

    `data` is a CSV file: a column of times (`time_us`, `latency_ns`, `pe_exec_us` …), and `bench` with parameters, or `src`,
    `dst` and `bytes` of flows; docs/fit.md has all columns. `fields` names the figures that move, each alone or with its range
    ("noc.gbs=100..400"); by default "chosen", for all whose source is chosen. `overrides` are fields of the
    topology that are certain. `workers` is a number of threads (default: one a core); `time_limit` is of the whole fit.
    `on_stage(text)` is called with what is done next.

    Errors: InputError for data that cannot be, with file and line, and for figures that cannot move; LimitError.
    """
    limits = read_limits(time_limit)
    if workers is not None and workers < 1:
        raise InputError(f"workers are 1 or more, not {workers}")
    with limit_time(limits.time_s, lambda: f"the fit of {topology} to {data}"):
        return _fit(str(topology), Path(data), fields, read_overrides(overrides), workers or _count_cores(), on_stage)


def _fit(
    topology: str,
    data: Path,
    fields: Sequence[str],
    overrides: Mapping[str, object],
    workers: int,
    on_stage: OnStage,
) -> FitResult:
    on_stage("reading the measurements")
    family = str(getattr(load_spec(topology, overrides), "family"))  # noqa: B009  # of every family
    figures, left_out = choose_figures(topology, overrides, fields)
    measured = read_measurements(data, topology, family, overrides)
    if fields and len(figures) > len(measured.rows):
        raise _too_few(measured, len(figures))
    cases = Cases(measured, topology, overrides, {one.field: one.value for one in figures}, workers, on_stage)
    log_measured = np.log([row.time_ns for row in measured.rows])
    estimator = Estimator(cases, log_measured, on_stage)
    before = estimator.base()
    _check_units(measured, before - log_measured)
    screened = estimator.screen(figures)
    if len(screened.figures) > len(measured.rows):
        raise _too_few(measured, len(screened.figures))
    estimate = estimator.estimate(screened)
    held_out = _hold_out(estimator, estimate, cases.group)
    fitted = tuple(
        FittedFigure(one.field, one.unit, one.value, _rounded(value), half, one.low, one.high)
        for one, value, half in zip(estimate.figures, estimate.values, estimate.half, strict=True)
    )
    return FitResult(
        library.find("topology", topology),
        overrides,
        measured,
        fitted,
        estimate.undetermined,
        tuple(left_out),
        Errors.of(before, log_measured),
        Errors.of(estimate.log_times, log_measured),
        held_out,
        np.exp(estimate.log_times),
        estimator.runs,
    )


def _hold_out(estimator: Estimator, estimate: Estimate, group: np.ndarray) -> Errors | None:
    """The errors at rows that a fit of the same figures has not seen; None if too few rows would be left."""
    cases = int(group.max()) + 1
    folds = min(FOLDS, cases)
    part = np.random.default_rng(0).permutation(cases) % folds
    if not estimate.figures or folds < 2:
        return None
    predicted = np.zeros(len(group))
    for fold in range(folds):
        hidden = part[group] == fold
        if np.count_nonzero(~hidden) <= len(estimate.figures):
            return None
        predicted[hidden] = estimator.predict(estimate, ~hidden)[hidden]
    return Errors.of(predicted, estimator.log_measured)


def _check_units(measured: Measurements, off: np.ndarray) -> None:
    """Check that no row is so far off that its time must be in another unit. Errors: InputError."""
    typical = float(np.median(off))
    odd = int(np.argmax(np.abs(off - typical)))
    if abs(off[odd] - typical) <= np.log(ODD):
        return
    row, times = measured.rows[odd], np.exp(off[odd] - typical)
    shown = f"{times:,.0f} times as long" if times > 1 else f"{1 / times:,.0f} times as short"
    raise InputError(
        f"{measured.where(odd)}: measured {row.time_ns:,.6g} ns, and the simulation takes {shown}, compared with the other "
        "rows; is this time in another unit?"
    )


def _too_few(measured: Measurements, figures: int) -> InputError:
    rows = plural(len(measured.rows), "row")
    return InputError(
        f"{show_path(measured.file)}: {rows} cannot determine {plural(figures, 'figure')}; measure more, or name fewer with "
        "--field"
    )


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
