"""Times that follow from one parameter of a part: the formula, and the parameter's name beside it.

`overhead_fs = time_of("overhead_ns")` is a property of a part like any other. Beyond its value it says which field decides it
and how, so that a machine compiled once can be changed in that field alone. A port that is written as a plain property has no
such origin: machines that differ in its fields are compiled each.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from kernbench.units import FS_PER_NS


class Origin(NamedTuple):
    """A field, and how a time follows from it.

    With `factor`: femtoseconds for one thing at `factor` times the field's rate. Without: the field is the time, in ns.
    """

    field: str
    factor: int | None = None

    def fs(self, value: np.ndarray, amount: int = 1) -> np.ndarray:
        """float64[point]: the time of an amount where the field has these values, rounded as the machine's compiler does."""
        if self.factor is None:
            return amount * np.rint(value * FS_PER_NS)
        return amount * FS_PER_NS / (value * self.factor)

    def inside(self, part: str) -> Origin:
        """The same with the field's path in a topology, where the part has this name."""
        return Origin(f"{part}.{self.field}", self.factor)


class Derived(property):
    """A property of a part whose value in femtoseconds follows from one of its parameters."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        super().__init__(self._fs)

    def _fs(self, part: Any) -> int | float:
        found = float(self.origin.fs(np.array(getattr(part, self.origin.field))))
        return round(found) if self.origin.factor is None else found


def time_of(field: str) -> Any:
    """A time port: the parameter is the time in ns; whole femtoseconds."""
    return Derived(Origin(field))


def unit_of(field: str, factor: int = 1) -> Any:
    """The time of one thing: the parameter is a rate, and a rate of 1 does `factor` of them in a ns."""
    return Derived(Origin(field, factor))


@lru_cache(maxsize=128)
def list_derived(part: type) -> dict[str, Origin]:
    """The origins of a class's derived properties by name, base classes first; without those that a subclass overrides."""
    names = dict.fromkeys(name for base in reversed(part.__mro__) for name in vars(base))
    found = {name: next(vars(base)[name] for base in part.__mro__ if name in vars(base)) for name in names}
    return {name: value.origin for name, value in found.items() if isinstance(value, Derived)}
