"""Lanes: slices of one track that overlap go to lanes, so that in each lane they follow each other."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from kernbench.trace.tables import NOWHERE

_Busy = list[tuple[int, int]]  # a heap of (end, lane)


class Lanes:
    """The lanes of slices that come in chunks, of which each begins where the one before ends or later."""

    def __init__(self) -> None:
        self._busy: dict[int, _Busy] = {}  # by track, of the last slices that were seen

    def assign(self, track: np.ndarray, start_fs: np.ndarray, end_fs: np.ndarray, within: np.ndarray) -> np.ndarray:
        """int32[slice] the lane of each slice among those of its track: the first that is free at its start.

        Arguments are int64[slice], as in the table `slices`. Slices without length take no room: they are in the first lane.
        What lies within a slice is in its lane.
        """
        lane = np.zeros(len(track), np.int32)
        nested = within != NOWHERE
        spans = np.flatnonzero((end_fs > start_fs) & ~nested)
        order = spans[np.lexsort((spans, start_fs[spans], track[spans]))]
        first = np.flatnonzero(np.diff(track[order], prepend=-1))
        end = np.append(first[1:], len(order))
        crowded = set(_groups_with(np.flatnonzero(start_fs[order[1:]] < end_fs[order[:-1]]), first, end))
        for group, (begin, of) in enumerate(zip(first.tolist(), track[order[first]].tolist(), strict=True)):
            busy = self._busy.get(of, [])
            if group in crowded or any(until > start_fs[order[begin]] for until, _ in busy):
                here = order[begin : end[group]]
                lane[here] = _fill(start_fs[here].tolist(), end_fs[here].tolist(), busy)
                self._busy[of] = busy
            else:
                self._busy[of] = [(int(end_fs[order[end[group] - 1]]), 0)]
        lane[nested] = lane[within[nested]]
        return lane


def _groups_with(overlapping: np.ndarray, first: np.ndarray, end: np.ndarray) -> list[int]:
    """The groups among [first, end) that hold a slice that begins before the one before it in the group has ended."""
    group = np.searchsorted(first, overlapping, "right") - 1
    within = overlapping + 1 < end[group]
    return np.unique(group[within]).tolist()


def _fill(starts: list[int], ends: list[int], busy: _Busy) -> list[int]:
    """The lanes of slices in the order of their starts. `busy` has the lanes that are in use before, and after."""
    used = {lane for _, lane in busy}
    free = [lane for lane in range(max(used, default=-1)) if lane not in used]
    heapify(free)
    lanes: list[int] = []
    for start, end in zip(starts, ends, strict=True):
        while busy and busy[0][0] <= start:
            heappush(free, heappop(busy)[1])
        lane = heappop(free) if free else len(busy)
        lanes.append(lane)
        heappush(busy, (end, lane))
    return lanes
