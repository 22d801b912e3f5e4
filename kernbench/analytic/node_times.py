"""Time of each distinct node of the precedence graph, evaluated for all points."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kernbench.analytic.bound_model import check_clock
from kernbench.arrays import expand_ranges, unique_rows
from kernbench.program.ops import NONE

if TYPE_CHECKING:
    from kernbench.analytic.model import ProgramModel
    from kernbench.analytic.transfers import Moves


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """A number of an atom, and a transfer, an injection or neither."""

    moves: Moves
    of: np.ndarray  # int64[node] which
    nothing: int  # the work that takes no time
    atom: np.ndarray  # int64[work]
    amount: np.ndarray  # int64[work]
    transfer: np.ndarray  # int64[work] into `kinds`; NONE
    kinds: np.ndarray  # int64[transfer] of moves, or of an injection after all kinds
    transfer_of: np.ndarray  # int64[kind] of moves: which transfer takes as long

    def transfers_fs(self, atoms_fs: np.ndarray) -> np.ndarray:
        """float64[transfer, point] where atoms take these times. `atoms_fs`: float64[point, atom]."""
        moves, count = self.moves, len(self.moves.route)
        found = np.empty((len(self.kinds), len(atoms_fs)))
        injected, moved = np.flatnonzero(self.kinds >= count), np.flatnonzero(self.kinds < count)
        found[injected] = moves.first[self.kinds[injected] - count] @ atoms_fs.T
        kinds = self.kinds[moved]
        found[moved] = moves.fixed_fs[kinds, None]
        start, end = moves.segment_start[kinds], moves.segment_start[kinds + 1]
        passing = end > start  # messages of no bytes do not
        if passing.any():
            longest = np.maximum.reduceat(moves.choices @ atoms_fs.T, moves.choice_start[:-1])
            part, of = expand_ranges(start[passing], end[passing])
            first = np.searchsorted(of, np.arange(int(passing.sum())))
            found[moved[passing]] += np.add.reduceat(longest[moves.segment[part]], first)
        return found

    def fs(self, atoms_fs: np.ndarray, transfers_fs: np.ndarray) -> np.ndarray:
        """int64[point, work]; `transfers_fs` as of `transfers_fs`. Errors: as `check_clock`."""
        found = self.amount[:, None] * atoms_fs.T[self.atom]
        moved = self.transfer != NONE
        found[moved] += transfers_fs[self.transfer[moved]]
        check_clock(found.max(initial=0))
        return np.rint(found.T).astype(np.int64, order="C")


def list_node_times(model: ProgramModel) -> NodeTimes:
    """The distinct node_times of a model's nodes."""
    durations, moves, costs = model.durations, model.moves, model.costs
    segments = (tuple(sorted(moves.segment[a:b].tolist())) for a, b in pairwise(moves.segment_start.tolist()))
    keys = [*zip(moves.fixed_fs.tolist(), segments, strict=True), *(form.tobytes() for form in moves.first)]
    first: dict[object, int] = {}
    same = np.array([*(first.setdefault(key, at) for at, key in enumerate(keys)), NONE], np.int64)
    nothing = np.array([[0, 0, NONE]])
    columns = [durations.atom[costs.duration], durations.amount[costs.duration], same[costs.kind]]  # NONE is the last
    found = unique_rows(np.concatenate([np.stack(columns, axis=1), nothing]))
    of, atom, amount = found.which, found.rows[:, 0], found.rows[:, 1]
    kind: np.ndarray = found.rows[:, 2]
    kinds = np.unique(np.concatenate([kind[kind != NONE], same[: len(moves.route)]]))
    transfer = np.where(kind == NONE, NONE, np.searchsorted(kinds, kind))
    transfer_of = np.searchsorted(kinds, same[: len(moves.route)])
    return NodeTimes(moves, of[:-1], int(of[-1]), atom, amount, transfer, kinds, transfer_of)
