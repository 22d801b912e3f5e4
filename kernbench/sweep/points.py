"""The points of a sweep, made when they are asked for.

A hundred thousand points are kept as a table of choices and their keys; a `Point` exists while somebody looks at it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from kernbench.sweep.axis import Value
from kernbench.sweep.design import Design
from kernbench.sweep.point import TOPOLOGY, Point

if TYPE_CHECKING:
    import polars

KEY_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Setting:
    """What all points of a sweep have in common, and the values that their parameters have unless an axis sets them."""

    bench: str
    topology: str
    mode: str
    inputs: str  # what a key depends on besides the parameters
    parameters: Mapping[str, Value]  # of the bench
    fields: Mapping[str, Value]  # of the topology, by their names in a grid


class Points(Sequence[Point]):
    """Points of a design, in its order: a sequence of `Point`, and columns of all of them at once.

    keys: text of KEY_DIGITS bytes, numpy S32[point]; design_keys: the same of every row of the design. baseline: the key of
    the point each is compared with, or None.
    """

    def __init__(self, setting: Setting, design: Design, design_keys: np.ndarray, index: np.ndarray) -> None:
        self.setting = setting
        self.design = design
        self.design_keys = design_keys
        self.keys = design_keys[index]
        self.baseline = None if design.baseline is None else design_keys[design.baseline[index]]
        self._index = index  # int64[point], the row of the design
        self._values = [
            [*values, setting.fields.get(name, setting.parameters.get(name))]
            for name, values in zip(design.names, design.values, strict=True)
        ]  # by axis; the last, which UNSET reads, is the default

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
    def choices(self) -> np.ndarray:
        """int32[point, axis] which value of each axis, or UNSET."""
        return self.design.choices[self._index]

    def take(self, which: np.ndarray) -> Points:
        """Some of them, by position or by a mask."""
        return Points(self.setting, self.design, self.design_keys, self._index[which])

    def count_machines(self) -> int:
        """How many different machines they run on."""
        columns = [i for i, name in enumerate(self.design.names) if name.startswith(TOPOLOGY)]
        return len(np.unique(self.choices[:, columns], axis=0)) if columns else min(len(self), 1)

    def first_with_each_value(self) -> dict[str, list[tuple[Value, Point]]]:
        """By axis, each value that a point sets, with the first such point."""
        found: dict[str, list[tuple[Value, Point]]] = {}
        for axis, name in enumerate(self.design.names):
            chosen, firsts = np.unique(self.design.choices[self._index, axis], return_index=True)
            pairs = zip(chosen.tolist(), firsts.tolist(), strict=True)
            found[name] = [(self._values[axis][choice], self._point(first)) for choice, first in pairs if choice >= 0]
        return found

    def frame(self, names: Sequence[str]) -> polars.DataFrame:
        """The columns of parameters by name, then `key`.

        A column is of integers, numbers or truths if all its values are, else of text.
        """
        import polars

        columns = [self._column(name) for name in names]
        return polars.DataFrame([*columns, polars.Series("key", self.keys).cast(polars.String)])

    def _column(self, name: str) -> polars.Series:
        import polars

        if name not in self.design.names:
            value = self.setting.parameters[name]
            return polars.repeat(value, len(self), dtype=_column_type({type(value)}), eager=True).alias(name)
        axis = self.design.names.index(name)
        values, choices = self._values[axis], self.design.choices[self._index, axis]
        used = {type(values[choice]) for choice in np.unique(choices).tolist()}
        kind = _column_type(used)
        palette = [str(value) for value in values] if kind == polars.String else values
        if kind != polars.String:  # what no point has may be of another type
            palette = [value if type(value) in used else None for value in values]
        places = np.where(choices < 0, len(values) - 1, choices)
        return polars.Series(name, palette, dtype=kind, strict=False).gather(places).alias(name)

    def _point(self, at: int) -> Point:
        design, row = self.design, int(self._index[at])
        parameters, overrides = dict(self.setting.parameters), {}
        for name, values, choice in zip(design.names, self._values, design.choices[row].tolist(), strict=True):
            if name in parameters:
                parameters[name] = values[choice]
            elif choice >= 0:
                overrides[name.removeprefix(TOPOLOGY)] = values[choice]
        setting = self.setting
        return Point(row, self.keys[at].decode(), setting.bench, setting.topology, setting.mode, parameters, overrides)


def make_points(setting: Setting, design: Design) -> Points:
    """The points of a design under their keys; of points with one key (8 and "8" are one M) the first."""
    keys = _keys(setting, design)
    _, firsts = np.unique(keys, return_index=True)
    return Points(setting, design, keys, np.sort(firsts))


def _keys(setting: Setting, design: Design) -> np.ndarray:
    """Hashes of the inputs and of all parameters by name, so that the order of axes does not matter."""
    common = hashlib.sha256(setting.inputs.encode())
    texts: dict[str, list[str]] = {name: [_text(name, value)] for name, value in setting.parameters.items()}
    for name, values in zip(design.names, design.values, strict=True):
        texts[name] = [*(_text(name, value) for value in values), *texts.get(name, [""])]
    order = sorted(texts)
    column = {name: i for i, name in enumerate(design.names)}
    slots = [(texts[name], column.get(name)) for name in order]
    keys = np.empty(len(design.choices), dtype=f"S{KEY_DIGITS}")
    for row, choice in enumerate(map(np.ndarray.tolist, design.choices)):
        digest = common.copy()
        digest.update("".join([text[-1 if at is None else choice[at]] for text, at in slots]).encode())
        keys[row] = digest.hexdigest()[:KEY_DIGITS].encode()
    return keys


def _text(name: str, value: Value) -> str:
    return json.dumps([name, value]) + "\n"


def _column_type(kinds: set[type]) -> Any:
    import polars

    types = {bool: polars.Boolean, int: polars.Int64, float: polars.Float64}
    if len(kinds) == 1:
        return types.get(next(iter(kinds)), polars.String)
    return polars.Float64 if kinds == {int, float} else polars.String
