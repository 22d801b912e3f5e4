"""How long after rows that begin together others are reached, at many points at once.

It is the longest path of `find_after`, and says the same to the femtosecond; what differs is what it is good at. One point is
best served by one pass over all rows. For many points the graph is first cut down to what lies between the two ends, and all
nodes that have the same time at every point become one: 256 PEs that do the same do it once. Then each node left is worked
out for thousands of points in one step.

A wait at a barrier comes after the counter, and after the row before it in its own thread, through which the counter comes
too. The second edge says nothing, but would tell the threads apart, so it is left out where a way over others says as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.analytic.sheet import check_clock
from kernbench.program.ops import LONGEST_FS, NONE
from kernels_jit import bounds

if TYPE_CHECKING:
    from kernbench.analytic.frame import Frame
    from kernbench.analytic.moves import Moves

_NEVER = 1 << 60


class Works(NamedTuple):
    """What nodes take by themselves, each once: so many of an atom, and a transfer or an injection."""

    of: np.ndarray  # int64[node] which
    atom: np.ndarray  # int64[work]
    amount: np.ndarray  # int64[work]
    kind: np.ndarray  # int64[work] of transfer, or of an injection after all kinds, or NONE

    def fs(self, moves: Moves, atoms_fs: np.ndarray) -> np.ndarray:
        """int64[work, point] where atoms take these times. `atoms_fs`: float64[point, atom]. Errors: as `check_clock`."""
        times = moves.choices @ atoms_fs.T
        none = np.zeros((0, len(atoms_fs)))
        longest = np.maximum.reduceat(times, moves.choice_start[:-1]) if len(times) else none
        found = self.amount[:, None] * atoms_fs.T[self.atom]
        for work, kind in enumerate(self.kind.tolist()):
            if kind >= len(moves.route):
                found[work] += moves.first[kind - len(moves.route)] @ atoms_fs.T
            elif kind != NONE:
                parts = moves.segment[moves.segment_start[kind] : moves.segment_start[kind + 1]]
                found[work] += moves.fixed_fs[kind] + longest[parts].sum(axis=0)
        check_clock(found.max(initial=0))
        return np.rint(found).astype(np.int64)


def list_works(frame: Frame) -> Works:
    """The distinct works of a frame's nodes."""
    durations, moves, costs = frame.durations, frame.moves, frame.costs
    segments = (tuple(sorted(moves.segment[a:b].tolist())) for a, b in pairwise(moves.segment_start.tolist()))
    keys = [*zip(moves.fixed_fs.tolist(), segments, strict=True), *(form.tobytes() for form in moves.first)]
    first: dict[object, int] = {}
    alike = np.array([*(first.setdefault(key, at) for at, key in enumerate(keys)), NONE], np.int64)
    columns = [durations.atom[costs.duration], durations.amount[costs.duration], alike[costs.kind]]  # NONE is the last
    found, of = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return Works(of.reshape(-1), *found.T)


class _Node(NamedTuple):
    """A node of the cut graph."""

    starts: bool  # it begins at 0, or later
    work: int
    before: frozenset[tuple[int, int]]  # nodes and gains


class Reach:
    """The way from rows that begin together to other nodes of a frame's order; `len` is how many nodes it has."""

    def __init__(self, frame: Frame, works: Works, starts: Sequence[int], targets: Iterable[int]) -> None:
        self._starts = frozenset(starts)
        self._reached = _find_reached(frame, starts)
        needed = self._find_needed(frame, targets)
        self._nodes: list[_Node] = []
        self._of: dict[int, int] = {}
        self._ways: dict[int, dict[int, int]] = {}
        self._cuts: dict[frozenset[tuple[int, int]], frozenset[tuple[int, int]]] = {}
        alike: dict[_Node, int] = {}
        start, before, gain = (array.tolist() for array in frame.order[1:4])
        for node in frame.order.node[needed[frame.order.node]].tolist():
            edges = range(start[node], start[node + 1])
            given = frozenset((self._of[before[e]], gain[e]) for e in edges if before[e] in self._of)
            made = _Node(node in self._starts, int(works.of[node]), self._cut(given))
            self._of[node] = number = alike.setdefault(made, len(alike))
            if number == len(self._nodes):
                self._nodes.append(made)

    def __len__(self) -> int:
        return len(self._nodes)

    def find(self, nodes: Iterable[int]) -> list[int]:
        """Which rows of `times` are those of nodes of the frame's order, each once; none for what is not reached."""
        return sorted({self._of[node] for node in nodes if node in self._of})

    def times(self, work_fs: np.ndarray) -> np.ndarray:
        """int64[node of the cut graph, point] when each ends, LONGEST_FS at the most. `work_fs`: int64[work, point]."""
        end = np.empty((len(self._nodes), work_fs.shape[1]), np.int64)
        for here, node in zip(end, self._nodes, strict=True):
            here[:] = 0 if node.starts else -_NEVER
            for before, gain in node.before:
                np.maximum(here, end[before] + gain if gain else end[before], out=here)
            here += work_fs[node.work]
            np.minimum(here, LONGEST_FS, out=here)
        return end

    def _find_needed(self, frame: Frame, targets: Iterable[int]) -> np.ndarray:
        """bool[node] what leads to the targets."""
        needed = np.zeros(len(self._reached), bool)
        ahead = [node for node in targets if self._reached[node]]
        start, before = frame.order.before_start.tolist(), frame.order.before.tolist()
        while ahead:
            node = ahead.pop()
            if not needed[node]:
                needed[node] = True
                ahead += [other for other in before[start[node] : start[node + 1]] if self._reached[other]]
        return needed

    def _cut(self, edges: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
        """The edges to a node, each node before it once, without those that another way makes needless."""
        if len(edges) < 2:
            return edges
        found = self._cuts.get(edges)
        if found is None:
            found = self._cuts[edges] = self._find_cut(edges)
        return found

    def _find_cut(self, edges: Iterable[tuple[int, int]]) -> frozenset[tuple[int, int]]:
        longest: dict[int, int] = {}
        for node, gain in edges:
            longest[node] = max(gain, longest.get(node, gain))
        if len(longest) > 1:
            for node, gain in list(longest.items()):
                others = (far + self._way(other)[node] for other, far in longest.items() if node in self._way(other))
                if any(way >= gain for way in others):
                    del longest[node]
        return frozenset(longest.items())

    def _way(self, node: int) -> dict[int, int]:
        """Nodes at most two edges before a node, and how long after them it is at the least."""
        found = self._ways.get(node)
        if found is None:
            found = self._ways[node] = {}
            for near, gain in self._nodes[node].before:
                found[near] = max(gain, found.get(near, gain))
                for far, more in self._nodes[near].before:
                    found[far] = max(gain + more, found.get(far, gain + more))
        return found


def _find_reached(frame: Frame, starts: Sequence[int]) -> np.ndarray:
    """bool[node] what comes after any of some rows."""
    floor = np.full(len(frame.order.floor), -_NEVER)
    floor[list(starts)] = 0
    end, _ = bounds.find_longest(*frame.order[:4], floor, np.zeros_like(floor))
    return end > -_NEVER // 2
