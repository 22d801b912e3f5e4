"""Grids: which bench or traffic, on which topology, with which parameters over what, asked which question.

The shape of a grid file is the one that sweep files have elsewhere (`parameters: {M: {values: [64, 128]}}`), checked
strictly: an unknown word is refused with the nearest known one and its place, since a misspelt parameter otherwise costs
a night.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernbench import library
from kernbench.errors import InputError, suggest
from kernbench.expression import Condition, Expression
from kernbench.limits.run_limits import NO_LIMITS, RunLimits
from kernbench.schema.guards import is_list, is_mapping
from kernbench.schema.model import check
from kernbench.schema.yaml import Mark, Marked, load, mark_tree
from kernbench.sweep.grid.axis import Span, Value
from kernbench.sweep.grid.axis_schema import AxisSpec
from kernbench.sweep.grid.grid_schema import DRAWN, GridSpec
from kernbench.sweep.row import BENCH_COLUMNS, TRAFFIC_COLUMNS

BATCH = 8  # points that a search asks for at once, whatever the number of workers, so that it is the same for all
NO_OPS = "limits the operations of kernels, and traffic has none; time_limit limits a point"
MARKED = ("bench", "pattern", "topology", "mode", "method", "samples")


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter with its values and its place in the file.

    With a `span`, values are drawn from it and there are none before. With `when`, the parameter is set only where that
    holds, and has its default elsewhere.
    """

    name: str
    values: tuple[Value, ...]
    mark: Mark
    span: Span | None = None
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition that decides which points stay: those for which it `holds`, or, to exclude, those for which not."""

    condition: Condition
    keeps: bool
    mark: Mark


@dataclass(frozen=True, slots=True)
class Derived:
    """A column worked out from others."""

    name: str
    expression: Expression
    mark: Mark


@dataclass(frozen=True, slots=True)
class Objective:
    """A column of which the sweep wants the least, or the most."""

    column: str
    least: bool = True
    mark: Mark = field(default=Mark("grid"), compare=False)

    def __str__(self) -> str:
        return f"{'min' if self.least else 'max'} {self.column}"


@dataclass(frozen=True, slots=True)
class Grid:
    """A checked grid, of a bench or of a pattern. `groups` are its axes in order; the axes of one group vary together."""

    name: str
    description: str
    bench: str | None
    topology: str
    mode: str
    groups: tuple[tuple[Axis, ...], ...]
    rules: tuple[Rule, ...]
    marks: Mapping[str, Mark]  # of what stands in `MARKED`
    file: str  # that it is written in; "grid" without one
    method: str = "grid"
    samples: int = 0  # to draw, for methods in `DRAWN`
    seed: int = 0
    batch: int = BATCH
    derived: tuple[Derived, ...] = ()
    objectives: tuple[Objective, ...] = ()
    limits: RunLimits = NO_LIMITS  # of each point
    baseline: tuple[Axis, ...] = ()  # parameters with the one value each that points are compared with
    pattern: str | None = None  # of the traffic, if there is no bench
    error_bars: bool = False  # whether the table has them
    asked: bool = False  # for by a bench or by values, so that it has no file of its name

    @property
    def axes(self) -> list[Axis]:
        """All axes, in the order of the groups."""
        return [axis for group in self.groups for axis in group]

    @property
    def workload(self) -> str:
        """What runs, in words: a bench, or traffic."""
        return self.bench if self.bench is not None else f"{self.pattern} traffic"

    @property
    def columns(self) -> tuple[str, ...]:
        """The result columns of its table."""
        return BENCH_COLUMNS if self.bench is not None else TRAFFIC_COLUMNS


def load_grid(grid: str | Path | Mapping[str, Any]) -> Grid:
    """The grid of a file (by path, or by name in `sweeps/`) or of a mapping of the same shape.

    Errors: one InputError of all that is wrong, a line each, with file:line:col.
    """
    return read_grid(*load_tree(grid))


def load_tree(grid: str | Path | Mapping[str, Any]) -> tuple[Marked, str]:
    """A grid as it is written, with its places, and its name if it does not give one. Errors: InputError."""
    if isinstance(grid, Mapping):
        return mark_tree(grid, Mark("grid")), "grid"
    path = library.find("sweeps", grid)
    return load(path), path.stem


def read_grid(tree: Marked, stem: str) -> Grid:
    """The grid of a tree; `stem` is its name if it does not give one. Errors: as `load_grid`."""
    spec = _check(tree)
    fields: dict[str, Marked] = tree.value
    marks = {name: fields[name].mark if name in fields else tree.mark for name in MARKED}
    problems = [*_workload_problems(spec, fields, tree), *_method_problems(spec, fields)]
    axes = dict(_axes(fields["parameters"], spec.method in DRAWN, problems)) if "parameters" in fields else {}
    rules = [
        *_rules(fields.get("constraints"), True, problems),
        *_rules(fields.get("where"), True, problems),
        *_rules(fields.get("exclude"), False, problems),
    ]
    derived = tuple(_derived(spec, fields, problems))
    groups = _group(axes, spec.zip, fields.get("zip", tree).mark, problems)
    if problems:
        raise InputError("\n".join(problems))
    return Grid(
        name=spec.name or stem,
        description=spec.description,
        bench=spec.bench,
        pattern=spec.pattern,
        topology=spec.topology,
        mode=spec.mode,
        groups=groups,
        rules=tuple(rules),
        marks=marks,
        file=tree.mark.file,
        method=spec.method,
        samples=spec.samples or 0,
        seed=spec.seed or 0,
        batch=spec.batch or BATCH,
        limits=RunLimits(spec.time_limit, spec.op_limit),
        derived=derived,
        error_bars=spec.error_bars,
        objectives=tuple(_objectives(spec, fields)),
        baseline=tuple(Axis(name, (spec.baseline[name],), mark) for name, mark in _marks(fields, "baseline")),
    )


def _check(tree: Marked) -> GridSpec:
    """The checked grid file. Errors: InputError, of the parameters too, which have schemas of their own."""
    try:
        return check(GridSpec, tree)
    except InputError as error:
        problems = [str(error)]
    parameters = tree.value.get("parameters") if is_mapping(tree.value) else None
    if parameters and is_mapping(parameters.value):
        method = tree.value["method"].value if "method" in tree.value else "grid"
        deque(_axes(parameters, method in DRAWN, problems), maxlen=0)
    raise InputError("\n".join(problems))


def _workload_problems(spec: GridSpec, fields: Mapping[str, Marked], tree: Marked) -> Iterator[str]:
    if spec.bench is None and spec.pattern is None:
        yield f"{tree.mark}: a grid needs a bench, or a pattern of traffic, such as uniform; give one of them"
    elif spec.bench is not None and spec.pattern is not None:
        yield f"{fields['pattern'].key}: pattern: the grid has a bench already; leave one of them out"
    if spec.pattern is not None and spec.op_limit is not None:
        yield f"{fields['op_limit'].key}: op_limit: {NO_OPS}"


def _method_problems(spec: GridSpec, fields: Mapping[str, Marked]) -> Iterator[str]:
    drawn = spec.method in DRAWN
    if drawn and spec.samples is None:
        yield f"{fields['method'].mark}: method {spec.method} takes samples: say how many"
    for name, goes in (("samples", drawn), ("seed", drawn), ("batch", spec.method == "optimise")):
        if name in fields and not goes:
            methods = "optimise" if name == "batch" else ", ".join(DRAWN)
            yield f"{fields[name].key}: {name}: goes with method {methods}, not with {spec.method}"
    if spec.method == "optimise" and not spec.objectives:
        yield f"{fields['method'].mark}: method optimise takes objectives: say of what it shall find the least or most"


def _axes(parameters: Marked, drawn: bool, problems: list[str]) -> Iterator[tuple[str, Axis]]:
    for name, given in parameters.value.items():
        try:
            if not is_mapping(given.value):
                form = "values" if is_list(given.value) else "value"
                given = Marked({form: given}, given.mark, given.key)
            spec = check(AxisSpec, given)
            values = spec.expand(drawn=drawn)
            when = Condition(spec.when) if spec.when else None
            mark = given.key or given.mark
            span = values if isinstance(values, Span) else None
            yield name, Axis(name, () if isinstance(values, Span) else values, mark, span, when)
        except ValueError as error:
            problems.append(f"{given.key}: {name}: {error}")
        except InputError as error:
            problems.append(str(error))


def _rules(given: Marked | None, keeps: bool, problems: list[str]) -> Iterator[Rule]:
    if given is None:
        return
    for text in given.value if is_list(given.value) else [given]:
        try:
            yield Rule(Condition(text.value), keeps, text.mark)
        except ValueError as error:
            problems.append(f"{text.mark}: {error}")


def _derived(spec: GridSpec, fields: Mapping[str, Marked], problems: list[str]) -> Iterator[Derived]:
    for name, formula in fields["derived"].value.items() if "derived" in fields else ():
        try:
            yield Derived(name, Expression(spec.derived[name]), formula.key or formula.mark)
        except ValueError as error:
            problems.append(f"{formula.mark}: {error}")


def _objectives(spec: GridSpec, fields: Mapping[str, Marked]) -> Iterator[Objective]:
    for column, sense in spec.objectives.items():
        node = fields["objectives"]
        mark = (node.value[column].key or node.mark) if is_mapping(node.value) else node.mark
        yield Objective(column, sense == "min", mark)


def _marks(fields: Mapping[str, Marked], name: str) -> Iterator[tuple[str, Mark]]:
    for key, node in fields[name].value.items() if name in fields else ():
        yield key, node.key or node.mark


def _group(
    axes: dict[str, Axis], zips: list[list[str]], mark: Mark, problems: list[str]
) -> tuple[tuple[Axis, ...], ...]:
    """The axes in the order of the file; those zipped together stand where the first of them stands."""
    if problems:
        return ()
    together: dict[str, list[str]] = {}
    for names in zips:
        problems += [
            f"{mark}: zip: {name!r} is not among the parameters{suggest(name, axes)}"
            for name in names
            if name not in axes
        ]
        problems += [
            f"{mark}: zip: {name!r} stands in it twice"
            for name in dict.fromkeys(names)
            if name in together or names.count(name) > 1
        ]
        together |= dict.fromkeys(names, names)
        problems += _unequal([axes[name] for name in names if name in axes], mark)
    if problems:
        return ()
    grouped = dict.fromkeys(tuple(sorted(together.get(name, [name]), key=list(axes).index)) for name in axes)
    return tuple(tuple(axes[name] for name in names) for names in grouped)


def _unequal(axes: list[Axis], mark: Mark) -> Iterator[str]:
    spans = [axis.name for axis in axes if axis.span]
    if spans and len(axes) > 1:
        yield f"{mark}: zip: {spans[0]} is drawn from a span; list its values to vary it together with others"
    elif len({len(axis.values) for axis in axes}) > 1:
        counts = ", ".join(f"{axis.name} has {len(axis.values)}" for axis in axes)
        yield f"{mark}: zip: what varies together has equally many values, but {counts}"
