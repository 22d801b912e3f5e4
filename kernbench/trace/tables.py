"""A trace as tables, which `kernbench.trace.perfetto` writes. Slices and flows come in chunks, so that few are in memory.

Tracks form a tree: processes, groups in them, and tracks of slices or of a counter. Slices of one track may overlap. All times
are int64 femtoseconds from the start of the run. A number of a track, a slice or a parent is a row of its table, -1 is none.

| table | columns |
|---|---|
| tracks | name; kind: "process", "group", "slices" or "counter"; parent; unit, of a counter |
| slices, of a chunk | track; start_fs, end_fs: equal for an instant; name; category; within; all others are arguments |
| flows, of a chunk | source, target: an arrow from one of its slices to another, which begins later, or is an instant |
| counters | track; time_fs; value: float64, from this time on |

`within` is an earlier slice of the same track and chunk in which a slice lies. Arguments are of type Int64 or String; those
that are null are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import polars

PROCESS, GROUP, SLICES, COUNTER = "process", "group", "slices", "counter"
NO_PARENT = -1
ENDLESS = 1 << 62  # a time after all others
NOWHERE = -1  # a slice that lies in no other
OF_SLICES = ("track", "start_fs", "end_fs", "name", "category", "within")  # all other columns are arguments


class Chunk(NamedTuple):
    """Some slices of a trace, and the flows between them."""

    slices: polars.DataFrame
    flows: polars.DataFrame
    until_fs: int = ENDLESS  # no slice of a later chunk begins before this


@dataclass(slots=True)
class Trace:
    """One trace."""

    tracks: TrackTable  # those of a chunk are there when the chunk is
    chunks: Iterable[Chunk]  # in the order of time
    counters: polars.DataFrame


@dataclass(slots=True)
class TrackTable:
    """Tracks that are added when they are first asked for, in this order."""

    _rows: list[tuple[str, str, int, str]] = field(
        default_factory=list[tuple[str, str, int, str]]
    )  # name, kind, parent, unit
    _number: dict[tuple[str, str, int], int] = field(default_factory=dict[tuple[str, str, int], int])

    def find(self, name: str, kind: str, parent: int = NO_PARENT, unit: str = "") -> int:
        """The number of a track."""
        key = name, kind, parent
        found = self._number.get(key)
        if found is None:
            found = self._number[key] = len(self._rows)
            self._rows.append((name, kind, parent, unit))
        return found

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, number: int) -> tuple[str, str, int, str]:
        """Name, kind, parent and unit of a track."""
        return self._rows[number]


def make_flows(source: np.ndarray, target: np.ndarray) -> polars.DataFrame:
    """The table `flows` of int64[flow] rows of slices."""
    import polars

    return polars.DataFrame({"source": source.astype(np.int64), "target": target.astype(np.int64)})


def make_counters(columns: Mapping[str, Any] | None = None) -> polars.DataFrame:
    """The table `counters` of its columns; without them an empty one."""
    import polars

    schema = {"track": polars.Int64, "time_fs": polars.Int64, "value": polars.Float64}
    return polars.DataFrame(columns or {name: [] for name in schema}, schema=schema)
