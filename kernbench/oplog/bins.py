"""Bins of time, and amounts that are spread over them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernbench.units import FS_PER_NS

BINS = 2048
_AT_ONCE = 1 << 18  # amounts
_DECIMALS = 6


class Bins(NamedTuple):
    """Bins of whole ns that follow each other; the last may be shorter."""

    start_fs: np.ndarray  # int64[bin]
    length_fs: np.ndarray  # int64[bin]

    @classmethod
    def over(cls, start_fs: int, end_fs: int, most: int = BINS) -> Bins:
        """The bins of a time that is not empty, at most so many."""
        width_ns = max(1, -(-(end_fs - start_fs) // (most * FS_PER_NS)))
        start = np.arange(start_fs, end_fs, width_ns * FS_PER_NS)
        return cls(start, np.diff(start, append=end_fs))

    @property
    def end_fs(self) -> int:
        """The end of the last."""
        return int(self.start_fs[-1] + self.length_fs[-1])

    def spread(
        self, start_fs: np.ndarray, end_fs: np.ndarray, amount: np.ndarray, column: np.ndarray, counted: Any
    ) -> np.ndarray:
        """float64[bin, counter] sums of amounts, each spread evenly over its time.

        Times are int64[n], `amount` is float64[n], `column` int64[n], and `counted` a sparse float64[column, counter]: what an
        amount of each column adds to each counter.
        """
        found = np.zeros((len(self.start_fs) + 1, counted.shape[1]))
        rate = np.zeros_like(found)
        for at in range(0, len(column), _AT_ONCE):
            here = slice(at, at + _AT_ONCE)
            changes, rest = self._edges(start_fs[here], end_fs[here], amount[here], column[here], counted.shape[0])
            rate += changes @ counted
            found += rest @ counted
        found[:-1] += self.length_fs[:, None] * np.cumsum(rate, axis=0)[:-1]
        return found[:-1]

    def _edges(
        self, start_fs: np.ndarray, end_fs: np.ndarray, amount: np.ndarray, column: np.ndarray, columns: int
    ) -> tuple[Any, Any]:
        """Sparse float64[bin + 1, column]: changes of rates (1/fs) at bins, and what to add in these bins."""
        from scipy.sparse import csr_array  # pyright: ignore[reportMissingTypeStubs]

        shape = len(self.start_fs) + 1, columns
        long = end_fs > start_fs
        rate = np.where(long, amount / np.maximum(end_fs - start_fs, 1), 0.0)
        first_fs, last_fs, width_fs = int(self.start_fs[0]), self.end_fs, int(self.length_fs[0])
        which: list[np.ndarray] = []
        offset_fs: list[np.ndarray] = []
        for time_fs in (start_fs, end_fs):
            since_fs = np.clip(time_fs, first_fs, last_fs) - first_fs
            which.append(np.where(time_fs >= last_fs, len(self.start_fs), since_fs // width_fs))
            offset_fs.append(np.where(time_fs >= last_fs, 0, since_fs % width_fs))
        place = np.concatenate(which), np.tile(column, 2)
        at_once = np.where(long | (start_fs < first_fs), 0.0, amount)  # of what takes no time
        changes = csr_array((np.concatenate([rate, -rate]), place), shape)
        return changes, csr_array((np.concatenate([at_once - rate * offset_fs[0], rate * offset_fs[1]]), place), shape)


def fit(used: np.ndarray, room: np.ndarray) -> np.ndarray:
    """float64[bin, counter] use that fits the room: what exceeds it goes to later bins, from the last to earlier ones."""
    found, more = used.copy(), np.zeros(used.shape[1])
    for bins in (range(len(found)), reversed(range(len(found)))):
        for at in bins:
            more += found[at]
            np.minimum(more, room[at], out=found[at])
            more -= found[at]
    return found


def rounded(values: np.ndarray) -> np.ndarray:
    """Values without what sums of floating-point numbers leave of 0."""
    return np.round(values, _DECIMALS) + 0.0  # no -0.0
