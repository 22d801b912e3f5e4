"""How long after rows that begin together others are reached, at many points at once.

It is the longest path of `find_after`, and says the same to the femtosecond; what differs is what it is good at. One point is
best served by one pass over all rows. For many points the graph is first cut down to what lies between the two ends, and all
nodes that have the same time at every point become one (`kernels_jit.alike`): 256 PEs that do the same do it once.

A wait at a barrier comes after the counter, and after the row before it in its own thread, through which the counter comes
too. The second edge says nothing, but would tell the threads apart, so it is left out where a way over others says as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.analytic.rows import find_kinds, spread
from kernbench.analytic.sheet import check_clock
from kernbench.program.ops import NONE
from kernels_jit import alike

if TYPE_CHECKING:
    from kernbench.analytic.frame import Frame
    from kernbench.analytic.moves import Moves


class Works(NamedTuple):
    """What nodes take by themselves, each once: so many of an atom, and a transfer or an injection."""

    of: np.ndarray  # int64[node] which
    atom: np.ndarray  # int64[work]
    amount: np.ndarray  # int64[work]
    kind: np.ndarray  # int64[work] of transfer, or of an injection after all kinds, or NONE

    def fs(self, moves: Moves, atoms_fs: np.ndarray) -> np.ndarray:
        """int64[work, point] where atoms take these times. `atoms_fs`: float64[point, atom]. Errors: as `check_clock`."""
        kinds = len(moves.route)
        found = self.amount[:, None] * atoms_fs.T[self.atom]
        injected = np.flatnonzero(self.kind >= kinds)
        found[injected] += moves.first[self.kind[injected] - kinds] @ atoms_fs.T
        moved = np.flatnonzero((self.kind != NONE) & (self.kind < kinds))
        kind = self.kind[moved]
        found[moved] += moves.fixed_fs[kind, None]
        start, end = moves.segment_start[kind], moves.segment_start[kind + 1]
        passing = end > start  # messages of no bytes do not
        if passing.any():
            longest = np.maximum.reduceat(moves.choices @ atoms_fs.T, moves.choice_start[:-1])
            part, of = spread(start[passing], end[passing])
            first = np.searchsorted(of, np.arange(passing.sum()))
            found[moved[passing]] += np.add.reduceat(longest[moves.segment[part]], first)
        check_clock(found.max(initial=0))
        return np.rint(found).astype(np.int64)


def list_works(frame: Frame) -> Works:
    """The distinct works of a frame's nodes."""
    durations, moves, costs = frame.durations, frame.moves, frame.costs
    segments = (tuple(sorted(moves.segment[a:b].tolist())) for a, b in pairwise(moves.segment_start.tolist()))
    keys = [*zip(moves.fixed_fs.tolist(), segments, strict=True), *(form.tobytes() for form in moves.first)]
    first: dict[object, int] = {}
    same = np.array([*(first.setdefault(key, at) for at, key in enumerate(keys)), NONE], np.int64)
    columns = [durations.atom[costs.duration], durations.amount[costs.duration], same[costs.kind]]  # NONE is the last
    found, of, _ = find_kinds(np.stack(columns, axis=1))
    return Works(of, *np.ascontiguousarray(found.T))


class Reach:
    """The way from rows that begin together to other nodes of a frame's order; `len` is how many nodes it has."""

    def __init__(self, frame: Frame, works: Works, starts: Sequence[int], targets: Sequence[int]) -> None:
        order, begin = frame.order, np.array(starts, np.int64)
        nodes = alike.find_between(*order[:3], begin, np.array(targets, np.int64))
        merged = alike.merge_alike(nodes, *order[1:4], works.of, begin)
        self._of, self._classes = merged[0], merged[1:]

    def __len__(self) -> int:
        return len(self._classes[0])

    def find(self, nodes: Sequence[int]) -> np.ndarray:
        """int64[] which rows of `times` are those of nodes of the frame's order, each once; none for what is not reached."""
        found = np.unique(self._of[np.array(nodes, np.int64)])
        return found[found != NONE]

    def times(self, work_fs: np.ndarray) -> np.ndarray:
        """int64[node of the cut graph, point] when each ends, LONGEST_FS at the most. `work_fs`: int64[work, point]."""
        return alike.find_ends(*self._classes, work_fs)
