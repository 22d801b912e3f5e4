"""A program's bounds as formulas in the fields of its topology: written once, evaluated at any number of points.

The lower bound is the largest of a few forms: what each server and each station must do, and the longest paths through the
program at several points. A path that is longest somewhere is a bound everywhere, so which points are chosen decides
how tight the bound is, never whether it holds. Forms that no point can make the largest, because another has no less of
anything, are dropped; 256 PEs that do the same leave one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.analytic.critical_path import find_after, write_path
from kernbench.analytic.linear_forms import Forms
from kernbench.analytic.model import ProgramModel, build_model
from kernbench.analytic.resource_load import serial_time, server_load, station_load
from kernbench.analytic.transfers import write_moves
from kernbench.errors import InputError, RunError, suggest
from kernbench.machine.overrides import read_overrides
from kernbench.machine.sheets.field_provenance import no_origins
from kernbench.program.ops import CLOCK, LONGEST_FS, NONE
from kernbench.units import FS_PER_NS, format_ns

if TYPE_CHECKING:
    import polars as pl

    from kernbench.program.program import Program


def read_points(
    points: Mapping[str, Any] | pl.DataFrame, base: Mapping[str, float], known: Collection[str]
) -> tuple[dict[str, np.ndarray], int]:
    """float64[point] of each field of `base`, which says what a field is that `points` leaves out; and how many points.

    Errors: InputError for a field that is not in `known`, for values that no machine can have, or not as many of each.
    """
    given = points if isinstance(points, Mapping) else points.to_dict()
    columns = {field: np.asarray(values, np.float64) for field, values in read_overrides(given).items()}
    for field, values in columns.items():
        if field not in known:
            raise InputError(f"points vary {field!r}, which bounds do not follow{suggest(field, known)}")
        _check_values(field, values)
    counts = {field: len(values) for field, values in columns.items() if values.ndim}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{count} of {field!r}" for field, count in counts.items())
        raise InputError(f"points give {said}; give as many of each, or one for all points")
    count = next(iter(counts.values()), 1)
    return {field: np.broadcast_to(columns.get(field, value), count) for field, value in base.items()}, count


def _check_values(field: str, values: np.ndarray) -> None:
    if values.ndim > 1:
        raise InputError(f"points give {field!r} in {values.ndim} dimensions; give one value a point")
    time = field.endswith("_ns")  # all others are rates
    wrong = ~np.isfinite(values) | (values < 0 if time else values <= 0)
    if wrong.any():
        least = "at least 0" if time else "more than 0"
        raise InputError(f"points give {field!r} the value {values[wrong].flat[0]:g}; it must be {least}")


_CHUNK = 1 << 15  # points at a time
_FAR = 16.0  # how far from the machine as it is paths are looked for
_ANYWHERE = 16  # how many points between


@dataclass(frozen=True, slots=True)
class Bounds:
    """A program ends neither before `lower_fs` nor after `upper_fs`; `binding` is what sets the lower bound."""

    lower_fs: int
    upper_fs: int
    binding: str


class BoundModel:
    """The bounds of one program. `figures`: the fields of the topology that they depend on, as the machine has them.

    `vary=False` varies no field. The program is flushed. Errors: InputError for live kernels; DeadlockError.
    """

    def __init__(self, program: Program, *, vary: bool = True) -> None:
        machine = self._machine = program.machine
        origins = machine.origins() if vary else no_origins(len(machine.stations.fs_per_flit))
        self._known = origins.fields
        model = self._model = build_model(program, origins)
        self.figures = {field: float(machine.figures[field]) for field in model.basis.fields}
        self.upper = serial_time(model)  # float64[atom]
        found = _write_forms(model, *_list_probes(self.figures))
        lower = np.concatenate([forms.forms for forms in found])
        names = [(forms.kind, int(at)) for forms in found for at in forms.at]
        kept = _outermost(lower)
        self.lower = lower[kept]  # float64[form, atom]
        self._names = [names[i] for i in kept]

    def bounds(self) -> Bounds:
        """The bounds on the machine itself. Errors: RunError for a time beyond the clock."""
        atoms_fs = self._atoms_fs()
        lower = self.lower @ atoms_fs
        at = int(np.argmax(lower))
        check_clock(lower[at])
        return Bounds(int(lower[at]), int(self.upper @ atoms_fs), self.name(at))

    def after(self, starts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """int64[row] twice: the least time (fs) from rows that begin together to the issue, and to the end, of each row.

        On the machine itself. Rows are those of the op table; negative where a row may come before.
        """
        return find_after(self._model, np.array(starts), self._atoms_fs())

    def evaluate(self, points: Mapping[str, Any] | pl.DataFrame) -> pl.DataFrame:
        """Bounds at points: columns lower_ns, upper_ns and binding, what sets the lower bound.

        `points`: values of fields in the units of the topology (GB/s, ns, TFLOPS, GHz), one a point or one for all; others
        are as the machine has them. Errors: as `read_points`.
        """
        import polars as pl

        values, count = read_points(points, self.figures, self._known)
        lower_fs, upper_fs, binding = np.empty(count), np.empty(count), np.empty(count, np.int64)
        for first in range(0, count, _CHUNK):
            here = slice(first, min(first + _CHUNK, count))
            atoms_fs = self._model.basis.fs({field: value[here] for field, value in values.items()}, here.stop - first)
            lower = atoms_fs @ self.lower.T
            binding[here] = lower.argmax(axis=1)
            lower_fs[here] = lower[np.arange(len(lower)), binding[here]]
            upper_fs[here] = atoms_fs @ self.upper
        return pl.DataFrame(
            {
                "lower_ns": lower_fs / FS_PER_NS,
                "upper_ns": upper_fs / FS_PER_NS,
                "binding": pl.Series(map(self.name, range(len(self.lower))), dtype=pl.String).gather(binding),
            }
        )

    def name(self, form: int) -> str:
        """The resource or path that binds if this row of `lower` is the largest."""
        kind, at = self._names[form]
        if kind == "path" and at == NONE:
            return "critical path"
        if kind != "station":
            server = f"{self._machine.server_kind[at]} {self._machine.server_name[at]}"
            return server if kind == "server" else f"critical path, most of it on {server}"
        return f"{'link' if at < self._machine.edge_count else 'channel'} {self._machine.station_name[at]}"

    def _atoms_fs(self) -> np.ndarray:
        """float64[atom] on the machine itself."""
        return self._model.basis.fs({field: np.array([base]) for field, base in self.figures.items()}, 1)[0]


def _write_forms(model: ProgramModel, probes: Mapping[str, np.ndarray], count: int) -> list[Forms]:
    """All lower bounds that are looked at."""
    servers = server_load(model)
    found = [station_load(model).distinct(), servers.alone().distinct()]
    for atoms_fs in model.basis.fs(probes, count):
        move_forms = write_moves(model.moves, atoms_fs)
        found += [servers.held(move_forms).distinct(), write_path(model, move_forms, atoms_fs)]
    return found


def _list_probes(figures: Mapping[str, float]) -> tuple[dict[str, np.ndarray], int]:
    """The points at which paths are sought: the machine itself, each field far from its value, and all fields at random."""
    rng = np.random.default_rng(0)
    base = np.array([value or 1.0 for value in figures.values()])  # an overhead of 0 is tried at up to 16 ns
    single = 1 + 2 * len(base)
    factors = np.ones((single + _ANYWHERE * bool(figures), len(base)))
    for at in range(len(base)):
        factors[1 + 2 * at : 3 + 2 * at, at] = _FAR, 1 / _FAR
    factors[single:] = _FAR ** rng.uniform(-1, 1, (len(factors) - single, len(base)))
    values = base * factors
    values[0] = list(figures.values())
    return dict(zip(figures, values.T, strict=True)), len(values)


def _outermost(forms: np.ndarray) -> list[int]:
    """The forms that no other dominates, the first of equal ones."""
    kept: list[int] = []
    for i in np.argsort(-forms.sum(axis=1), kind="stable").tolist():
        if not (forms[kept] >= forms[i]).all(axis=1).any():
            kept.append(i)
    return kept


def check_clock(least_fs: float) -> None:
    """Errors: RunError for a run whose least time is beyond the clock."""
    if least_fs >= LONGEST_FS:
        raise RunError(f"the run takes {format_ns(least_fs)} or more, beyond {CLOCK}; make it shorter")


def bounds(program: Program) -> Bounds:
    """The bounds of a program's time on its own machine, from its start to its last event. Errors: as `BoundModel`."""
    return BoundModel(program, vary=False).bounds()
