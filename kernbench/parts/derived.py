"""Times that follow from one parameter of a part: properties that know the parameter and the formula.

`overhead_fs = time_of("overhead_ns")` is a property of a part. Besides its value it has an origin, the field that decides it
and the formula, so a compiled machine can be changed in that field alone. A port that is a plain property has no origin:
machines that differ in the fields behind it are compiled one by one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from kernbench.units import FS_PER_NS


class Origin(NamedTuple):
    """A field and the time that follows from it.

    With `factor` the field is a rate per ns, and the time is that of one thing at `factor` times the rate. Without, the field
    is the time in ns.
    """

    field: str
    factor: int | None = None

    def fs(self, value: np.ndarray, amount: int = 1) -> np.ndarray:
        """float64[point]: the time (fs) of an amount if the field has these values, rounded as in a compiled machine."""
        if self.factor is None:
            return amount * np.rint(value * FS_PER_NS)
        return amount * FS_PER_NS / (value * self.factor)

    def inside(self, part: str) -> Origin:
        """The same origin with the path of the field in a topology, where the part is called `part`."""
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
    """A time port: a parameter in ns, as whole femtoseconds."""
    return Derived(Origin(field))


def unit_of(field: str, factor: int = 1) -> Any:
    """The time of one thing (fs): the parameter is a rate, and a rate of 1 does `factor` of them in a ns."""
    return Derived(Origin(field, factor))


@lru_cache(maxsize=128)
def list_derived(part: type) -> dict[str, Origin]:
    """The origins of a class's derived properties by name, base classes first; overridden ones are left out."""
    names = dict.fromkeys(name for base in reversed(part.__mro__) for name in vars(base))
    found = {name: next(vars(base)[name] for base in part.__mro__ if name in vars(base)) for name in names}
    return {name: value.origin for name, value in found.items() if isinstance(value, Derived)}
