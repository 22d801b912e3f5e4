"""Parameter space: the values of names in conditions and formulas, and the points that the conditions allow.

A condition may read the parameters of the grid, those of the bench, the topology's fields, derived columns, and results.
One that reads no result decides before anything runs; one that does says of a finished row whether it is feasible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, find_nearest, suggest
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.grid.grid import Axis, Derived, Grid, Rule
from kernbench.sweep.point import TOPOLOGY
from kernbench.sweep.row import BOUND, COLUMNS, FEASIBLE, VERSUS

if TYPE_CHECKING:
    import numpy as np


def late_names(grid: Grid) -> set[str]:
    """The names that have a value only after a run: results, and what is derived from them."""
    late = set(grid.columns)
    for derived in grid.derived:
        if derived.expression.names & late:
            late.add(derived.name)
    return late


class ParameterSpace:
    """The names of a grid; `defaults` are the values of parameters and topology fields that no axis sets.

    Errors: one InputError of all names that mean nothing, a line each, with file:line:col.
    """

    def __init__(self, grid: Grid, defaults: Mapping[str, Value]) -> None:
        self.grid = grid
        self.defaults = defaults
        self.parameters = frozenset(defaults) | {axis.name for axis in grid.axes}
        self._conditional = [axis for axis in grid.axes if axis.when]
        problems = [*self._unknown(), *self._misnamed()]
        if problems:
            raise InputError("\n".join(problems))
        late = late_names(grid)
        self._read_first = {name for axis in self._conditional if axis.when for name in axis.when.names} & set(defaults)
        self._early_rules = [rule for rule in grid.rules if not rule.condition.names & late]
        self._early_derived = [
            derived for derived in grid.derived if derived.name not in late and self._is_needed(derived)
        ]
        read = [rule.condition for rule in self._early_rules] + [derived.expression for derived in self._early_derived]
        names = {name for expression in read for name in expression.names}
        self._read = names & set(defaults)
        self.read_axes = tuple(axis for axis in grid.axes if axis.name in names)  # by what decides which points stay

    @property
    def is_conditional(self) -> bool:
        """Whether some parameters are set in some points only."""
        return bool(self._conditional)

    def find_allowed(self, columns: Mapping[str, Sequence[Value]], count: int) -> np.ndarray:
        """bool[point] whether each of `count` points is allowed, by the values of `read_axes`; if no parameter is conditional.

        Errors: as `is_allowed`.
        """
        import numpy as np

        if not self._early_rules:
            return np.ones(count, bool)
        points = zip(*columns.values(), strict=True) if columns else repeat((), count)
        return np.fromiter((self.is_allowed(dict(zip(columns, point, strict=True))) for point in points), bool, count)

    def resolve(self, chosen: Mapping[str, Value]) -> dict[str, Value]:
        """Of what is chosen for each axis, that which is set: without the parameters whose condition does not hold."""
        if not self._conditional:
            return dict(chosen)
        resolved = {axis.name: chosen[axis.name] for axis in self.grid.axes if not axis.when and axis.name in chosen}
        defaults = {name: self.defaults[name] for name in self._read_first}
        for axis in self._conditional:
            if axis.name in chosen and _holds(axis.when, {**defaults, **resolved}, axis):
                resolved[axis.name] = chosen[axis.name]
        return {name: resolved[name] for name in chosen if name in resolved}

    def is_allowed(self, resolved: Mapping[str, Value]) -> bool:
        """Whether a point is one of the grid's, by the rules that need no result. Errors: InputError with the rule."""
        if not self._early_rules:
            return True
        names: dict[str, Any] = {name: self.defaults[name] for name in self._read}
        names.update(resolved)
        for derived in self._early_derived:
            try:
                names[derived.name] = derived.expression.figure(names)
            except ValueError as error:
                raise InputError(f"{derived.mark}: {error}") from None
        return all(_holds(rule.condition, names, rule) is rule.keeps for rule in self._early_rules)

    def _unknown(self) -> Iterator[str]:
        readable = self.parameters | set(self.grid.columns)
        for derived in self.grid.derived:
            yield from _strangers(derived.expression.names, readable, derived)
            readable |= {derived.name}
        for rule in self.grid.rules:
            yield from _strangers(rule.condition.names, readable, rule)
        for axis in self._conditional:
            yield from _strangers(axis.when.names if axis.when else (), self.parameters, axis)

    def _misnamed(self) -> Iterator[str]:
        for derived in self.grid.derived:
            taken = self.parameters | set(COLUMNS) | {FEASIBLE} | {other.name + BOUND for other in self.grid.derived}
            if derived.name in taken or derived.name + BOUND in self.parameters or derived.name.endswith(VERSUS):
                yield f"{derived.mark}: {derived.name!r} is a column already; give the derived one another name"

    def _is_needed(self, derived: Derived) -> bool:
        """Whether a rule reads it, at once or through other derived columns."""
        wanted = {name for rule in self._early_rules for name in rule.condition.names}
        for other in reversed(self.grid.derived):
            if other.name in wanted:
                wanted |= other.expression.names
        return derived.name in wanted


def _holds(condition: Any, names: Mapping[str, Any], where: Axis | Rule) -> bool:
    try:
        return condition.holds(names)
    except ValueError as error:
        raise InputError(f"{where.mark}: {error}") from None


def _strangers(names: Iterable[str], known: Iterable[str], where: Axis | Rule | Derived) -> Iterator[str]:
    readable = set(known)
    own = [name for name in readable if not name.startswith(TOPOLOGY) and name not in COLUMNS]
    for name in sorted(set(names) - readable):
        near = find_nearest(name, readable)
        hint = f"; did you mean {near!r}?" if near else suggest(name, own)
        yield f"{where.mark}: {name!r} is not a parameter here{hint}"
