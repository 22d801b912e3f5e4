"""Grid files: which bench, on which topology, with which parameters over what.

The shape is the one that sweep files have elsewhere (`parameters: {M: {values: [64, 128]}}`), checked strictly: an unknown
word is refused with the nearest known one and its place, since a misspelt parameter otherwise costs a night.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from kernbench import library
from kernbench.errors import InputError
from kernbench.spec.model import Model, check
from kernbench.spec.yaml import Mark, Marked, load, mark_tree
from kernbench.sweep.axis import Value, linspace, logspace, stepped
from kernbench.sweep.expression import Condition

FORMS = ("value", "values", "range", "linspace", "logspace", "min")


def _scalar(value: Any) -> Any:
    if isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"got {value!r}, expected a number, a text, true or false")


def _number(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ValueError(f"got {value!r}, expected a number without a unit")


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _groups(value: Any) -> Any:
    return [value] if isinstance(value, list) and all(isinstance(name, str) for name in value) else value


Scalar = Annotated[Any, AfterValidator(_scalar)]
Number = Annotated[Any, AfterValidator(_number)]
Count = Annotated[int, Field(strict=True)]
Texts = Annotated[list[str], BeforeValidator(_listed)]


class AxisSpec(Model):
    """One parameter, in exactly one of `FORMS`; `min` goes with `max` and `step`."""

    value: Scalar | None = None
    values: Annotated[list[Scalar], Field(min_length=1)] | None = None
    range: tuple[Number, Number, Number] | None = None
    linspace: tuple[Number, Number, Count] | None = None
    logspace: tuple[Number, Number, Count] | None = None
    min: Number | None = None
    max: Number | None = None
    step: Number | None = None

    def expand(self) -> tuple[Value, ...]:
        """The values. Errors: ValueError."""
        forms = [form for form in FORMS if getattr(self, form) is not None]
        if len(forms) != 1 or (forms != ["min"] and (self.max, self.step) != (None, None)):
            raise ValueError("give exactly one of value, values, range, linspace, logspace, or min with max and step")
        if self.values is not None:
            return tuple(self.values)
        if self.range is not None:
            return stepped(*self.range)
        if self.linspace is not None:
            return linspace(*self.linspace)
        if self.logspace is not None:
            return logspace(*self.logspace)
        return (self.value,) if self.value is not None else self._stepped()

    def _stepped(self) -> tuple[Value, ...]:
        whole = isinstance(self.min, int) and isinstance(self.max, int)
        step = 1 if self.step is None and whole else self.step
        if self.min is None or self.max is None or step is None:
            raise ValueError("min goes with max and step; the step may be left out between integers")
        return stepped(self.min, self.max, step)


class GridSpec(Model):
    """A grid file as written."""

    name: str | None = None
    description: str = ""
    method: Literal["grid"] = "grid"
    bench: str
    topology: str = "sip_2x4x4"
    mode: str = "hybrid"
    parameters: dict[str, Any] = Field(default_factory=dict)
    zip: Annotated[list[list[str]], BeforeValidator(_groups)] = Field(default_factory=list)
    where: Texts = Field(default_factory=list)
    exclude: Texts = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter with its values and its place in the file."""

    name: str
    values: tuple[Value, ...]
    mark: Mark


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition that decides which points stay: those for which it `holds`, or, to exclude, those for which not."""

    condition: Condition
    keeps: bool
    mark: Mark


@dataclass(frozen=True, slots=True)
class Grid:
    """A checked grid. `groups` are its axes in order; the axes of one group vary together."""

    name: str
    description: str
    bench: str
    topology: str
    mode: str
    groups: tuple[tuple[Axis, ...], ...]
    rules: tuple[Rule, ...]
    marks: Mapping[str, Mark]  # of bench, topology and mode

    @property
    def axes(self) -> list[Axis]:
        """All axes, in the order of the groups."""
        return [axis for group in self.groups for axis in group]


def load_grid(grid: str | Path | Mapping[str, Any]) -> Grid:
    """The grid of a file (by path, or by name in `sweeps/`) or of a mapping of the same shape.

    Errors: one InputError of all that is wrong, a line each, with file:line:col.
    """
    if isinstance(grid, Mapping):
        return _read(mark_tree(grid, Mark("grid")), "grid")
    path = library.find("sweeps", grid)
    return _read(load(path), path.stem)


def _read(tree: Marked, stem: str) -> Grid:
    spec = check(GridSpec, tree)
    fields: dict[str, Marked] = tree.value
    problems: list[str] = []
    axes = dict(_axes(fields["parameters"], problems)) if "parameters" in fields else {}
    rules = [
        *_rules(fields.get("where"), True, problems),
        *_rules(fields.get("exclude"), False, problems),
    ]
    groups = () if problems else _group(axes, spec.zip, fields.get("zip", tree).mark, problems)
    if problems:
        raise InputError("\n".join(problems))
    marks = {name: fields[name].mark if name in fields else tree.mark for name in ("bench", "topology", "mode")}
    name = spec.name or stem
    return Grid(name, spec.description, spec.bench, spec.topology, spec.mode, groups, tuple(rules), marks)


def _axes(parameters: Marked, problems: list[str]) -> Iterator[tuple[str, Axis]]:
    for name, given in parameters.value.items():
        try:
            if not isinstance(given.value, dict):
                form = "values" if isinstance(given.value, list) else "value"
                given = Marked({form: given}, given.mark, given.key)
            values = check(AxisSpec, given).expand()
            yield name, Axis(name, values, given.key or given.mark)
        except ValueError as error:
            problems.append(f"{given.key}: {name}: {error}")
        except InputError as error:
            problems.append(str(error))


def _rules(given: Marked | None, keeps: bool, problems: list[str]) -> Iterator[Rule]:
    if given is None:
        return
    for text in given.value if isinstance(given.value, list) else [given]:
        try:
            yield Rule(Condition(text.value), keeps, text.mark)
        except ValueError as error:
            problems.append(f"{text.mark}: {error}")


def _group(
    axes: dict[str, Axis], zips: list[list[str]], mark: Mark, problems: list[str]
) -> tuple[tuple[Axis, ...], ...]:
    """The axes in the order of the file; those zipped together stand where the first of them stands."""
    together: dict[str, list[str]] = {}
    for names in zips:
        problems += [f"{mark}: zip: {name!r} is not among the parameters" for name in names if name not in axes]
        problems += [f"{mark}: zip: {name!r} stands in it twice" for name in names if name in together]
        together |= dict.fromkeys(names, names)
        lengths = {name: len(axes[name].values) for name in names if name in axes}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            problems.append(f"{mark}: zip: what varies together has equally many values, but {counts}")
    if problems:
        return ()
    grouped = dict.fromkeys(tuple(sorted(together.get(name, [name]), key=list(axes).index)) for name in axes)
    return tuple(tuple(axes[name] for name in names) for names in grouped)
