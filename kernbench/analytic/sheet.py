"""A program's bounds as formulas in the fields of its topology: written once, evaluated at any number of points.

The lower bound is the largest of a few forms: what each server and each station must do, and the longest paths through the
program at several points. A path that is longest somewhere is a bound everywhere, so which points are chosen decides
how tight the bound is, never whether it holds. Forms that no point can make the largest, because another has no less of
anything, are dropped; 256 PEs that do the same leave one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.analytic.basis import Basis
from kernbench.analytic.moves import list_moves, write_moves
from kernbench.analytic.order import find_order
from kernbench.analytic.origins import find_origins, no_origins
from kernbench.analytic.paths import list_costs, write_path
from kernbench.analytic.rows import list_rows
from kernbench.analytic.work import Durations, Forms, sum_up, weigh_servers, weigh_stations
from kernbench.errors import InputError, suggest
from kernbench.program.ops import NONE
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import polars as pl

    from kernbench.program.program import Program

_CHUNK = 1 << 15  # points at a time
_FAR = 16.0  # how far from the machine as it is paths are looked for
_ANYWHERE = 16  # how many points between


class Sheet:
    """The bounds of one program. `figures`: the fields of the topology that they depend on, as the machine has them.

    A program of a machine that is no topology's, or `vary=False`, has none. Errors: as `find_order` and `list_rows`.
    """

    def __init__(self, program: Program, *, vary: bool = True) -> None:
        machine = self._machine = program.machine
        rows = list_rows(program)
        origins = find_origins(machine) if vary else no_origins(machine)
        self._known = {origin.field for origin in (*origins.known, *origins.figures.values())}
        basis = self._basis = Basis(machine, origins)
        durations = _list_durations(program, basis)
        moves = list_moves(machine, rows, basis)
        order = find_order(program, rows)
        self.figures = {field: float(machine.figures[field]) for field in basis.fields}
        self.upper = sum_up(machine, rows, durations, moves, len(basis))
        costs = list_costs(rows, moves, order)
        servers = weigh_servers(machine, rows, durations, moves, len(basis))
        found = [weigh_stations(machine, rows, moves, len(basis)), servers.alone()]
        for atoms_fs in basis.fs(*_list_probes(self.figures)):
            move_forms = write_moves(moves, atoms_fs)
            path, at = write_path(order, costs, durations, np.concatenate([move_forms, moves.first]), atoms_fs)
            found += [servers.held(move_forms), Forms("path", np.array([at]), path[None])]
        self.lower, kept = _outermost(np.concatenate([forms.forms for forms in found]))
        names = [(forms.kind, int(at)) for forms in found for at in forms.at]
        self._names = [names[i] for i in kept]

    def evaluate(self, points: Mapping[str, Any] | pl.DataFrame) -> pl.DataFrame:
        """Bounds at points: columns lower_ns, upper_ns and binding, what sets the lower bound.

        `points`: values of some of `figures`, in the units of the topology (GB/s, ns, TFLOPS, GHz), one a point or one for
        all. Errors: InputError for a name that is not among `figures`, or a value that no machine can have.
        """
        import polars as pl

        values, count = self._values(points)
        bounds = np.empty((2, count))
        binding = np.empty(count, np.int64)
        for first in range(0, count, _CHUNK):
            here = slice(first, min(first + _CHUNK, count))
            atoms_fs = self._basis.fs({field: value[here] for field, value in values.items()}, here.stop - first)
            lower = atoms_fs @ self.lower.T
            binding[here] = lower.argmax(axis=1)
            bounds[0, here] = lower[np.arange(len(lower)), binding[here]]
            bounds[1, here] = atoms_fs @ self.upper
        return pl.DataFrame(
            {
                "lower_ns": bounds[0] / FS_PER_NS,
                "upper_ns": bounds[1] / FS_PER_NS,
                "binding": pl.Series([self.name(at) for at in range(len(self.lower))], dtype=pl.String).gather(binding),
            }
        )

    def name(self, form: int) -> str:
        """What binds where this row of `lower` is the largest."""
        kind, at = self._names[form]
        if kind == "path" and at == NONE:
            return "critical path"
        if kind != "station":
            server = f"{self._machine.server_kind[at]} {self._machine.server_name[at]}"
            return server if kind == "server" else f"critical path, most of it on {server}"
        return f"{'link' if at < self._machine.edge_count else 'channel'} {self._machine.station_name[at]}"

    def _values(self, points: Mapping[str, Any] | pl.DataFrame) -> tuple[dict[str, np.ndarray], int]:
        """float64[point] of every field the atoms depend on, and how many points."""
        given = points if isinstance(points, Mapping) else points.to_dict()
        columns = {field: np.asarray(values, np.float64) for field, values in given.items()}
        for field, values in columns.items():
            if field not in self._known:
                raise InputError(f"points vary {field!r}, which bounds do not follow{suggest(field, self._known)}")
            if values.ndim > 1:
                raise InputError(f"points give {field!r} in {values.ndim} dimensions; give one value a point")
            wrong = ~np.isfinite(values) | (values < 0 if field.endswith("_ns") else values <= 0)
            if wrong.any():
                least = "at least 0" if field.endswith("_ns") else "more than 0"
                raise InputError(f"points give {field!r} the value {values[wrong].flat[0]:g}; it must be {least}")
        counts = {field: len(values) for field, values in columns.items() if values.ndim}
        if len(set(counts.values())) > 1:
            said = ", ".join(f"{count} of {field!r}" for field, count in counts.items())
            raise InputError(f"points give {said}; give as many of each, or one for all points")
        count = next(iter(counts.values()), 1)
        values = {field: np.broadcast_to(columns.get(field, base), count) for field, base in self.figures.items()}
        return values, count


def _list_durations(program: Program, basis: Basis) -> Durations:
    fixed = program.duration_fs().tolist()
    terms = [basis.duration(terms, fs) for terms, fs in zip(program.durations, fixed, strict=True)]
    return Durations(*np.array(terms, np.int64).T)


def _list_probes(figures: Mapping[str, float]) -> tuple[dict[str, np.ndarray], int]:
    """Where paths are looked for: the machine as it is, each field far from there, and all of them anywhere."""
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


def _outermost(forms: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The forms that are not less than another in everything, and where they were."""
    unique, at = np.unique(forms, axis=0, return_index=True)
    kept: list[int] = []
    for i in np.argsort(-unique.sum(axis=1), kind="stable").tolist():
        if not (unique[kept] >= unique[i]).all(axis=1).any():
            kept.append(i)
    return unique[kept], at[kept].tolist()
