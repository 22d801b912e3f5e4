"""Inputs of a sweep and their digests: those of the workload, the topology's files, KernBench itself.

Results depend on these besides the point. Each is reduced to a digest. A point's key is a hash of those, of its parameters and
of the mode: change any and the point is another point, change none and its result is found again, wherever and whenever it was
made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, suggest
from kernbench.frontends.frontend import Workload
from kernbench.library import code_digest, is_path
from kernbench.modes import SWEEP_MODES, Mode, check_mode
from kernbench.sweep.design.design import Design
from kernbench.sweep.design.points import Points, SweepContext, make_points
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.grid.grid import Axis, Grid
from kernbench.sweep.point import TOPOLOGY
from kernbench.sweep.programs import find_workload
from kernbench.sweep.row import COLUMNS, STAMP, fits_column
from kernbench.user_modules import note_code

if TYPE_CHECKING:
    from kernbench.machine.load import TopologyLoader
    from kernbench.schema.model import Model
    from kernbench.schema.yaml import Mark

STAMP_DIGITS = 16
MOST_CHECKED = 64  # values of an axis that are checked one by one


@dataclass(frozen=True, slots=True)
class Inputs:
    """The checked inputs of a grid. `digests` are of what `changed` in a sweep may name."""

    workload: Workload
    digests: Mapping[str, str]
    stamp: Mapping[str, str]  # the columns `row.STAMP` of every row
    fields: Mapping[str, Value]  # of the topology as it stands, by their names in a grid
    topology: TopologyLoader

    @property
    def defaults(self) -> dict[str, Value]:
        """The value of everything that a condition may read and an axis may set."""
        return {**self.fields, **self.workload.parameters}

    def points(self, grid: Grid, design: Design) -> Points:
        """The points of a design, each once, with the values of parameters as the workload has them."""

        def typed(name: str, values: tuple[Value, ...]) -> tuple[Value, ...]:
            if name.startswith(TOPOLOGY):
                return values
            return tuple(self.workload.read(name, value) for value in values)

        values = tuple(typed(name, values) for name, values in zip(design.names, design.values, strict=True))
        named = json.dumps([*self.digests.values(), self.workload.name, grid.mode])
        own = self.workload.parameters, self.fields, grid.limits, self.workload.front_end
        context = SweepContext(self.workload.source, grid.topology, grid.mode, named, *own)
        return make_points(context, replace(design, values=values))


def read_inputs(grid: Grid) -> Inputs:
    """Find and check what a grid names, before anything runs.

    Errors: one InputError of all that is wrong with them and with the workload's parameters, a line each, with file:line:col.
    """
    problems: list[str] = []
    own = "bench" if grid.bench is not None else "pattern"
    workload: Workload | None = _find(grid.marks[own], lambda: find_workload(grid), problems)
    if workload is not None:
        problems += [*_workload_problems(grid, workload), *_parameter_problems(grid, workload)]
    topology = _find(grid.marks["topology"], lambda: _load_topology(grid.topology), problems)
    try:
        check_mode(grid.mode, SWEEP_MODES)
    except InputError as error:
        problems.append(f"{grid.marks['mode']}: {error}")
    if grid.mode == Mode.AUTO and grid.method == "optimise":
        problems.append(f"{grid.marks['mode']}: mode auto looks at all points, method optimise at few; choose one")
    if workload is not None and topology is not None:
        problems += _question_problems(grid, workload.parameters)
        if refusal := workload.refuse(grid.topology, _family_of(topology)):
            problems.append(f"{grid.marks['topology']}: {refusal}")
    if workload is None or topology is None or problems:
        raise InputError("\n".join(problems))
    digests = {
        **workload.digests,
        f"topology {grid.topology}": _topology_digest(grid, topology),
        "KernBench": code_digest(),
    }
    shown = [digest[:STAMP_DIGITS] for digest in digests.values()]
    shown[-1] = f"{kernbench_version()}+{shown[-1]}"
    stamped = STAMP[-len(shown) :]  # a pattern has no file
    fields = dict(_scalar_fields(topology.load({}).spec))
    return Inputs(workload, digests, dict(zip(stamped, shown, strict=True)), fields, topology)


def _workload_problems(grid: Grid, workload: Workload) -> Iterator[str]:
    """What is wrong with a workload in a grid, whatever the machine."""
    for name in sorted(set(workload.parameters) & set(COLUMNS)):
        yield f"{grid.marks['bench']}: the bench's parameter {name!r} has the name of a result column; rename it"
    for sentence in workload.problems():
        yield f"{grid.marks['bench']}: {sentence}"
    if refusal := workload.refuse_mode(grid.mode):
        yield f"{grid.marks['mode']}: {refusal}"


def _family_of(topology: TopologyLoader) -> str:
    return str(getattr(topology.load({}).spec, "family", ""))


def note_inputs(grid: Grid, inputs: Inputs) -> dict[str, str]:
    """The digests of the user's Python files that points may run, by their paths."""
    beside = [Path(one.file) for one in inputs.topology.load({}).dropins.values()]
    sheets = [file for file in _sheet_files(grid) if file.suffix == ".py"]
    return note_code([*inputs.workload.files, *beside, *sheets])


def read_units(grid: Grid, inputs: Inputs) -> Grid:
    """The grid with what it gives as texts with units, for numbers, in the units of the parameters and fields.

    What does not fit a field of the topology is left as it is, for `check_fields` to refuse.
    """

    def read(axis: Axis, value: Value) -> Value:
        if not axis.name.startswith(TOPOLOGY):
            return inputs.workload.read(axis.name, value)
        path = axis.name.removeprefix(TOPOLOGY)
        if not isinstance(value, str) or _field_problem(inputs.topology, {path: value}):
            return value
        figure = attrgetter(path)(inputs.topology.load({path: value}).spec)
        return int(figure) if figure == int(figure) else figure  # 4 ns and 4 are one point

    def plain(axis: Axis) -> Axis:
        if not _is_number(inputs.defaults.get(axis.name, "")):
            return axis
        return replace(axis, values=tuple(read(axis, value) for value in axis.values))

    groups = tuple(tuple(map(plain, group)) for group in grid.groups)
    return replace(grid, groups=groups, baseline=tuple(map(plain, grid.baseline)))


def check_fields(grid: Grid, topology: TopologyLoader, points: Points) -> None:
    """Check the topology fields that points set: every value of every axis, in the first point that has it.

    A combination that does not fit together elsewhere fails when its point runs. Errors: InputError, a line for
    each axis that does not fit, with file:line:col.
    """
    axes = {axis.name.removeprefix(TOPOLOGY): axis for axis in grid.axes if axis.name.startswith(TOPOLOGY)}
    problems: dict[str, str] = {}
    for name, firsts in points.first_with_each_value().items():
        path = name.removeprefix(TOPOLOGY)
        for _, place in _telling(firsts) if path in axes else ():
            fitting = {other: set_ for other, set_ in points[place].overrides.items() if other not in problems}
            together = None if path in problems else _field_problem(topology, fitting)
            if together:
                problems |= _blame(topology, fitting) or {path: together}
    if problems:
        raise InputError("\n".join(f"{axes[path].mark}: {problems[path]}" for path in axes if path in problems))


def _telling(firsts: list[tuple[Value, int]]) -> list[tuple[Value, int]]:
    """Of many values the ends: what is between two that fit mostly fits."""
    if len(firsts) <= MOST_CHECKED or any(isinstance(value, str) for value, _ in firsts):
        return firsts
    return [min(firsts, key=itemgetter(0)), max(firsts, key=itemgetter(0))]


def _blame(topology: TopologyLoader, overrides: Mapping[str, Value]) -> dict[str, str]:
    """The problem of each override that does not fit alone."""
    alone = {path: _field_problem(topology, {path: value}) for path, value in overrides.items()}
    return {path: problem for path, problem in alone.items() if problem}


def kernbench_version() -> str:
    """The installed version; "0" for a checkout that was never installed."""
    try:
        return version("kernbench")
    except PackageNotFoundError:
        return "0"


def _topology_digest(grid: Grid, topology: TopologyLoader) -> str:
    """The digest of the topology; where points choose the sheets of parts, of all that they may choose from."""
    digest = hashlib.sha256(topology.load({}).digest.encode())
    for file in _sheet_files(grid):
        digest.update(f"{file.name} ".encode() + file.read_bytes())
    return digest.hexdigest()


def _sheet_files(grid: Grid) -> list[Path]:
    """The sheets, and the files beside them, that points of a grid may choose from; none where they choose no sheets."""
    from kernbench.machine.load import model_files

    chosen = [str(value) for axis in grid.axes if axis.name.startswith(f"{TOPOLOGY}parts.") for value in axis.values]
    by_path = [file for value in chosen if is_path(value) for file in (Path(value), Path(value).with_suffix(".py"))]
    return [*model_files(), *sorted({file for file in by_path if file.is_file()})] if chosen else []


def _parameter_problems(grid: Grid, workload: Workload) -> Iterator[str]:
    for axis in (*grid.axes, *grid.baseline):
        if axis.name.startswith(TOPOLOGY):
            continue
        try:
            for value in axis.values:
                typed = workload.read(axis.name, value)
                if not fits_column(typed):
                    raise InputError(f"parameter {axis.name!r}: got {typed}, expected an integer of at most 64 bits")
        except InputError as error:
            hint = f" (fields of the topology begin with {TOPOLOGY!r})" if "." in axis.name else ""
            yield f"{axis.mark}: {error}{hint}"


def _question_problems(grid: Grid, parameters: Mapping[str, Value]) -> Iterator[str]:
    """Problems of the objectives and of the baseline."""
    axes = {axis.name: axis for axis in grid.axes}
    figures = {name for name in grid.columns if COLUMNS[name] in (int, float)}
    figures -= {"wall_s"}  # on which no two runs agree
    figures |= {derived.name for derived in grid.derived}
    figures |= {name for name, value in parameters.items() if name not in axes and _is_number(value)}
    figures |= {
        name
        for name, axis in axes.items()
        if axis.span or all(map(_is_number, axis.values)) or _is_number(parameters.get(name, ""))
    }
    for objective in grid.objectives:
        if objective.column not in figures:
            hint = suggest(objective.column, figures)
            yield f"{objective.mark}: objectives: {objective.column!r} is no column of numbers{hint}"
    for axis in grid.baseline:
        if axis.name not in axes:
            yield f"{axis.mark}: baseline: {axis.name!r} is not among the parameters{suggest(axis.name, axes)}"


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _load_topology(name: str) -> TopologyLoader:
    """The topology, found good as it stands. Errors: InputError."""
    from kernbench.machine.load import TopologyLoader

    topology = TopologyLoader(name)
    topology.load({})
    return topology


def _scalar_fields(spec: Model) -> Iterator[tuple[str, Value]]:
    """The fields of a topology that are one number, text or truth, by their names in a grid."""
    from kernbench.schema.model import leaf_paths

    for path in leaf_paths(type(spec)):
        value = attrgetter(path)(spec)
        if isinstance(value, bool | int | float | str):
            yield TOPOLOGY + path, value


def _field_problem(topology: TopologyLoader, overrides: Mapping[str, Value]) -> str | None:
    try:
        topology.load(overrides)
    except InputError as error:
        return str(error)
    return None


def _find(mark: Mark, find: Callable[[], Any], problems: list[str]) -> Any:
    try:
        return find()
    except InputError as error:
        problems.append(f"{mark}: {error}")
        return None
