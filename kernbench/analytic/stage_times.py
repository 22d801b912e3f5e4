"""Times of stages: of a transfer before, at and after each station of its route, and of a job at its server.

The first flit of a transfer reaches a station after the services, wires and overheads of all stations before it. After the
last flit has left, the services and wires of the stations behind are still to come. These are lower bounds for one flit on
either side; `transfers` bounds the whole transfer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernels_jit.bounds import queueing_bounds

if TYPE_CHECKING:
    from kernbench.analytic.model import ProgramModel
    from kernbench.analytic.node_times import NodeTimes

_MOST_FS = float(1 << 61)  # of one atom


@dataclass(frozen=True, slots=True)
class StageTimes:
    """A leg for each step of each way that transfers have, then one for each work, which a job is as a whole."""

    node_times: NodeTimes
    first: np.ndarray  # int64[kind] of moves: the leg of its first step
    ways: queueing_bounds.Ways

    @property
    def of_node_times(self) -> int:
        """The leg of the first work."""
        return len(self.ways.wire_fs)

    def times(self, atoms_fs: np.ndarray) -> tuple[queueing_bounds.Legs, np.ndarray]:
        """The times of all legs, and int64[point, work] of all node_times. `atoms_fs`: float64[point, atom].

        Errors: as `NodeTimes.fs`.
        """
        transfers_fs = self.node_times.transfers_fs(atoms_fs)
        work_fs = self.node_times.fs(atoms_fs, transfers_fs)
        return queueing_bounds.find_legs(self.ways, _whole(atoms_fs), _whole(transfers_fs.T), work_fs), work_fs


def _whole(times_fs: np.ndarray) -> np.ndarray:
    return np.rint(np.minimum(times_fs, _MOST_FS)).astype(np.int64, order="C")


def list_stage_times(model: ProgramModel, node_times: NodeTimes) -> StageTimes:
    """The legs of all transfers of a model."""
    machine, moves = model.machine, model.moves
    routes, wires = machine.routing.tables(), machine.stations.propagation_fs
    known: dict[tuple[bytes, ...], int] = {}
    steps, wire_fs, start = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [0]
    first: list[int] = []
    ends = np.stack([routes.lead_fs[moves.route], routes.tail_fs[moves.route], node_times.transfer_of], axis=1)
    for kind, (route, own) in enumerate(zip(moves.route.tolist(), moves.classes.class_of.tolist(), strict=True)):
        of = moves.classes.step[moves.classes.start[own] : moves.classes.start[own + 1]]
        here = wires[routes.station[routes.start[route] : routes.start[route] + len(of)]]
        key = ends[kind].tobytes(), of.tobytes(), here.tobytes()
        if key not in known:
            known[key] = start[-1]
            steps.append(of)
            wire_fs.append(here)
            start.append(start[-1] + len(of))
        first.append(known[key])
    ends = np.array([np.frombuffer(key[0], np.int64) for key in known], np.int64).reshape(-1, 3)
    terms = moves.classes.terms[np.concatenate(steps)].transpose(1, 2, 0)[:3]
    columns = *ends.T, *terms, np.concatenate(wire_fs)
    ways = queueing_bounds.Ways(np.array(start), *map(np.ascontiguousarray, columns))
    return StageTimes(node_times, np.array(first, np.int64), ways)
