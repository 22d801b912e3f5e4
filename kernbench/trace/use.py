"""The use of parts over time: what jobs and transfers kept busy in each bin, how many waited, and bytes.

Parts are the servers of a machine, then its stations. A job keeps its server busy from start to end. What a transfer takes of
each link and memory channel is exact, and is spread evenly over the time of its data (see `counters`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

if TYPE_CHECKING:
    from kernbench.oplog.bins import Bins


class Held(NamedTuple):
    """Jobs and transfers that hold a server, in no certain order."""

    server: np.ndarray  # int64[job]
    issue_fs: np.ndarray  # int64[job]; what is later than this until the start is waiting
    start_fs: np.ndarray
    end_fs: np.ndarray


class Moved(NamedTuple):
    """Transfers whose data were on the way, in no certain order."""

    kind: np.ndarray  # int64[transfer]
    leave_fs: np.ndarray
    arrive_fs: np.ndarray


def spread_held(bins: Bins, held: Held, counted: Any) -> np.ndarray:
    """float64[bin, counter]: how long (fs) jobs and transfers held the servers of each counter.

    `counted`: sparse float64[part, counter], 1 where a part counts.
    """
    took_fs = (held.end_fs - held.start_fs).astype(float)
    return bins.spread(held.start_fs, held.end_fs, took_fs, held.server, counted)


def spread_moved(bins: Bins, moved: Moved, amount: Any) -> np.ndarray:
    """float64[bin, counter]: sums over transfers of what one of each kind adds, sparse float64[kind, counter].

    A bin may get more than there is room for (`bins.fit`).
    """
    once = np.ones(len(moved.kind))
    return bins.spread(moved.leave_fs, moved.arrive_fs, once, moved.kind, amount.tocsr())


def spread_waiting(bins: Bins, held: Held, counted: Any) -> np.ndarray:
    """float64[bin, counter]: how many jobs and transfers wait for the servers of each counter, on average."""
    waited = (held.start_fs > held.issue_fs) & (held.issue_fs >= 0)
    server, issue_fs, start_fs = held.server[waited], held.issue_fs[waited], held.start_fs[waited]
    waited_fs = bins.spread(issue_fs, start_fs, (start_fs - issue_fs).astype(float), server, counted)
    return waited_fs / bins.length_fs[:, None]


def set_beside(left: Any, right: Any) -> Any:
    """Two sparse matrices of as many rows as one, the columns of the first before those of the second."""
    from scipy import sparse  # pyright: ignore[reportMissingTypeStubs]

    return cast("Any", sparse).hstack([left, right])
