"""One point of a sweep: everything a run needs and everything its result depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernbench.errors import shorten
from kernbench.limits.run_limits import NO_LIMITS, RunLimits
from kernbench.machine.overrides import TOPOLOGY as TOPOLOGY
from kernbench.sweep.grid.axis import Value


@dataclass(frozen=True, slots=True)
class Point:
    """A point; `key` is a hash of all that its result depends on, `index` its place in the grid's order.

    `limits` are no part of the key: a result does not depend on them.
    """

    index: int
    key: str
    bench: str | None  # of the front-end; None: the traffic of the pattern that `parameters` name
    topology: str
    mode: str
    parameters: Mapping[str, Value]  # of the bench or the traffic, all of them
    overrides: Mapping[str, Value]  # of the topology, by dotted path
    limits: RunLimits = NO_LIMITS
    front_end: str = "bench"  # what runs it: a name in `frontends.registry`

    @property
    def described(self) -> str:
        """What runs there, as the beginning of a sentence."""
        kind, name = ("pattern", self.parameters["pattern"]) if self.bench is None else ("bench", self.bench)
        return f"{kind} {shorten(name)!r}"

    @property
    def columns(self) -> dict[str, Value]:
        """The table's parameter columns, under the names that the grid file uses."""
        return {**self.parameters, **{TOPOLOGY + path: value for path, value in self.overrides.items()}}
