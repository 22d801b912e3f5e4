"""The points of a sweep, made when they are asked for.

A hundred thousand points are kept as a table of choices and their keys; a `Point` exists while somebody looks at it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.limits.run_limits import NO_LIMITS, RunLimits
from kernbench.sweep.design.design import Design
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.point import TOPOLOGY, Point

if TYPE_CHECKING:
    import polars

KEY_DIGITS = 32
BLOCK = 1 << 14  # points whose keys are made together


@dataclass(frozen=True, slots=True)
class SweepContext:
    """The context that all points of a sweep share: bench, topology, mode, and the default of each parameter."""

    bench: str | None  # None: traffic of a pattern
    topology: str
    mode: str
    inputs: str  # what a key depends on besides the parameters
    parameters: Mapping[str, Value]  # of the bench or the traffic
    fields: Mapping[str, Value]  # of the topology, by their names in a grid
    limits: RunLimits = NO_LIMITS
    front_end: str = "bench"


class Points(Sequence[Point]):
    """Points of a design, in its order: a sequence of `Point`, and columns of all of them at once.

    design_keys: text of KEY_DIGITS bytes, numpy S32[row of the design].
    """

    __slots__ = ("_index", "_series", "_values", "context", "design", "design_keys")  # a sweep may have a million

    def __init__(self, context: SweepContext, design: Design, design_keys: np.ndarray, index: np.ndarray) -> None:
        self.context = context
        self.design = design
        self.design_keys = design_keys
        self._index = index  # int32[point], the row of the design
        self._values = [
            [*values, context.fields.get(name, context.parameters.get(name))]
            for name, values in zip(design.names, design.values, strict=True)
        ]  # by axis; the last, which UNSET reads, is the default
        self._series: dict[int, polars.Series] = {}

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[Point]:
        return (self._point(i) for i in range(len(self)))

    @overload
    def __getitem__(self, which: int) -> Point: ...
    @overload
    def __getitem__(self, which: slice) -> Points: ...
    def __getitem__(self, which: int | slice) -> Point | Points:
        if isinstance(which, slice):
            return self.take(np.arange(len(self))[which])
        return self._point(range(len(self))[which])

    @property
    def keys(self) -> np.ndarray:
        """S32[point]"""
        return self.design_keys[self._index]

    @property
    def baseline(self) -> np.ndarray | None:
        """S32[point] the key of the point that each is compared with, or None."""
        if self.design.baseline is None:
            return None
        return self.design_keys[self.design.baseline[self._index]]

    @property
    def choices(self) -> np.ndarray:
        """int32[point, axis] which value of each axis, or UNSET."""
        return self.design.choices[self._index]

    def take(self, which: np.ndarray) -> Points:
        """Some of them, by position or by a mask."""
        found = copy(self)
        found._index, found._series = self._index[which], {}
        return found

    def finder(self) -> Callable[[np.ndarray], np.ndarray]:
        """A function that finds points by their keys: array of texts → int64 positions, -1 if there is no such point."""
        keys = self.keys
        order = np.argsort(keys)
        ordered = keys[order]

        def find(texts: np.ndarray) -> np.ndarray:
            if not len(ordered):
                return np.full(len(texts), -1)
            wanted = texts.astype(ordered.dtype)
            at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
            return np.where(ordered[at] == wanted, order[at], -1)

        return find

    def count_machines(self) -> int:
        """The number of distinct machines of the points."""
        columns = [i for i, name in enumerate(self.design.names) if name.startswith(TOPOLOGY)]
        return len(unique_rows(self.choices[:, columns]).first)

    def first_with_each_value(self) -> dict[str, list[tuple[Value, int]]]:
        """By axis, each value that a point sets, with the position of the first such point."""
        found: dict[str, list[tuple[Value, int]]] = {}
        for axis, name in enumerate(self.design.names):
            chosen, firsts = np.unique(self.design.choices[self._index, axis], return_index=True)
            pairs = zip(chosen.tolist(), firsts.tolist(), strict=True)
            found[name] = [(self._values[axis][choice], first) for choice, first in pairs if choice >= 0]
        return found

    def frame(self, names: Sequence[str], which: np.ndarray) -> polars.DataFrame:
        """The columns of parameters by name, for the points at some positions.

        A column is of integers, numbers or truths if its values are so in all points, else of text.
        """
        import polars

        return polars.DataFrame([self._column(name, which) for name in names])

    def _column(self, name: str, which: np.ndarray) -> polars.Series:
        import polars

        if name not in self.design.names:
            value = self.context.parameters[name]
            return polars.repeat(value, len(which), dtype=_column_type({type(value)}), eager=True).alias(name)
        axis = self.design.names.index(name)
        choices = self.design.choices[self._index[which], axis]
        places = np.where(choices < 0, len(self._values[axis]) - 1, choices)
        return self._value_series(axis).gather(places).alias(name)

    def _value_series(self, axis: int) -> polars.Series:
        """The values of an axis, the default last, as what they are in a column."""
        import polars

        if axis not in self._series:
            values = self._values[axis]
            choices: list[int] = np.unique(self.design.choices[self._index, axis]).tolist()
            used = {type(values[choice]) for choice in choices}
            kind = _column_type(used)
            shown = [str(value) for value in values] if kind == polars.String else values
            if kind != polars.String:  # what no point has may be of another type
                shown = [value if type(value) in used else None for value in values]
            self._series[axis] = polars.Series(shown, dtype=kind, strict=False)
        return self._series[axis]

    def _point(self, at: int) -> Point:
        design, row = self.design, int(self._index[at])
        parameters = dict(self.context.parameters)
        overrides: dict[str, Value] = {}
        for name, values, choice in zip(design.names, self._values, design.choices[row].tolist(), strict=True):
            if name in parameters:
                parameters[name] = values[choice]
            elif choice >= 0:
                overrides[name.removeprefix(TOPOLOGY)] = values[choice]
        context = self.context
        key, named = self.design_keys[row].decode(), (context.bench, context.topology, context.mode)
        return Point(row, key, *named, parameters, overrides, context.limits, context.front_end)


def make_points(context: SweepContext, design: Design) -> Points:
    """The points of a design under their keys; of points with one key (8 and "8" are one M) the first."""
    keys = _keys(context, design)
    _, firsts = np.unique(keys, return_index=True)
    return Points(context, design, keys, np.sort(firsts).astype(np.int32))


def _keys(context: SweepContext, design: Design) -> np.ndarray:
    """Hashes of the inputs and of all parameters by name, so that the order of axes does not matter."""
    common = hashlib.sha256(context.inputs.encode())
    texts = {name: _texts(name, [value]) for name, value in context.parameters.items()}
    for name, values in zip(design.names, design.values, strict=True):
        texts[name] = [*_texts(name, values), *texts.get(name, [""])]  # the last, which UNSET reads, is the default
    keys = np.empty(len(design.choices), dtype=f"S{KEY_DIGITS}")
    for first in range(0, len(keys), BLOCK):
        rows = design.choices[first : first + BLOCK]
        for row, pieces in enumerate(zip(*_pieces(texts, design.names, rows), strict=True), first):
            digest = common.copy()
            digest.update("".join(pieces).encode())
            keys[row] = digest.hexdigest()[:KEY_DIGITS].encode()
    return keys


def _pieces(texts: Mapping[str, list[str]], names: Sequence[str], rows: np.ndarray) -> list[Iterable[str]]:
    """The pieces of which the text of each row is joined, by parameter name; a piece that all rows share stands once."""
    found: list[Iterable[str]] = []
    same = ""
    for name in sorted(texts):
        chosen = rows[:, names.index(name)] if name in names else np.full(1, -1)
        if chosen.min() == chosen.max():
            same += texts[name][int(chosen[0])]
            continue
        found += [repeat(same, len(rows)), map(texts[name].__getitem__, chosen.tolist())]
        same = ""
    return [*found, repeat(same, len(rows))]


def _texts(name: str, values: Sequence[Value]) -> list[str]:
    """JSON of the name with each value, a line each."""
    start = json.dumps([name])[:-1]
    return [f"{start}, {_json(value)}]\n" for value in values]


def _json(value: Value) -> str:
    return (
        repr(value) if type(value) is float and math.isfinite(value) else json.dumps(value)
    )  # repr: a tenth of the time


def _column_type(kinds: set[type]) -> Any:
    import polars

    types = {bool: polars.Boolean, int: polars.Int64, float: polars.Float64}
    if len(kinds) == 1:
        return types.get(next(iter(kinds)), polars.String)
    return polars.Float64 if kinds == {int, float} else polars.String
