"""The rows of a sweep's points among all that its directory keeps.

Where each row is takes nine bytes a point; the rows themselves are read when they are asked for, so that tables of any
length are made in little memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kernbench.sweep.design.points import Points
from kernbench.sweep.results.store import RANK, SLICE, Store, read_part
from kernbench.sweep.row import COLUMNS, OK

if TYPE_CHECKING:
    from pathlib import Path

    import polars

NONE = -1


class StoredRows:
    """The rows of some points, by position. Of several rows of a point the most finished counts, then the first.

    rank: int8[point], how finished its row is (`store.RANK`), or NONE. Errors: InputError for a part that cannot be read.
    """

    def __init__(self, store: Store, points: Points) -> None:
        self._store, self._points = store, points
        self._find()

    @property
    def found(self) -> np.ndarray:
        """bool[point], whether it has a row."""
        return self.rank != NONE

    @property
    def failed(self) -> int:
        """The number of rows without a result."""
        return int((self.found & (self.rank != RANK[OK])).sum())

    def take(self, which: np.ndarray) -> polars.DataFrame:
        """The rows of some points that have one, in the order given."""
        while True:
            try:
                return self._read(which)
            except FileNotFoundError:  # another process has merged parts since: find them there
                self._find()

    def _find(self) -> None:
        while True:
            try:
                self._scan()
            except FileNotFoundError:
                continue
            return

    def _scan(self) -> None:
        count = len(self._points)
        self.rank = np.full(count, NONE, np.int8)
        self._part, self._row = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self._paths: list[Path] = []
        find = self._points.finder()
        for path, first, rows in self._store.scan(["key", "status"]):
            if not self._paths or self._paths[-1] != path:
                self._paths.append(path)
            rank = rows["status"].replace_strict(RANK).to_numpy().astype(np.int8)
            order = np.lexsort((-np.arange(len(rank)), rank))  # of what is written to one place the last stays
            places = find(rows["key"].to_numpy())[order]
            better = (places != NONE) & (rank[order] > self.rank[places])
            at, row = places[better], order[better]
            self.rank[at], self._row[at] = rank[row], first + row
            self._part[at] = len(self._paths) - 1

    def _read(self, which: np.ndarray) -> polars.DataFrame:
        import polars

        parts, rows = self._part[which], self._row[which]
        frames, places = [polars.DataFrame(schema=dict(COLUMNS))], [np.zeros(0, np.int64)]
        used: list[int] = np.unique(parts).tolist()
        for part in used:
            here = np.flatnonzero(parts == part)
            first = int(rows[here].min())
            found = read_part(self._paths[part], first=first, count=int(rows[here].max()) - first + 1)
            frames.append(found[rows[here] - first])
            places.append(here)
        order = np.argsort(np.concatenate(places))
        return polars.concat(frames)[order]


def slices(places: np.ndarray) -> Iterator[np.ndarray]:
    """Places, `SLICE` at a time."""
    for first in range(0, len(places), SLICE):
        yield places[first : first + SLICE]
