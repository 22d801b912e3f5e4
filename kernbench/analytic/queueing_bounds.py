"""Queueing bounds: longest paths with the queues at stations and servers on the way.

The longest path says when each row is reached without waiting. Where many transfers and jobs need one station or server
between the start and a gate, they queue there: none comes before its own path allows, it serves one at a time, and what
follows each on its way to the gate follows the last of them too (`kernels_jit.bounds.queueing_bounds`). So a gate is no
sooner than by any of these queues. What comes after a gate starts from there; each load is part of the queue before the first
gate that it leads to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.analytic.start_to_end_paths import merge
from kernbench.arrays import count_rows, expand_ranges
from kernbench.program.ops import NONE
from kernels_jit.bounds import node_merging, queueing_bounds

if TYPE_CHECKING:
    from kernbench.analytic.model import ProgramModel
    from kernbench.analytic.stage_times import StageTimes
    from kernbench.analytic.start_to_end_paths import StartToEndPaths

MOST_STEPS = 1 << 21  # of all transfers of a program together; with more, paths alone are looked at


class _Load(NamedTuple):
    """The columns of a table of loads, int64[load, 9]."""

    gate: int = 0
    resource: int = 1  # a station, or after all stations a server
    ahead: int = 2  # the class of its row on the way from the start
    behind: int = 3  # and on the way back from the gate
    leg: int = 4
    full: int = 5  # how many flits, but for the last of messages
    last: int = 6
    many: int = 7  # how many rows
    chain: int = 8  # of tokens that are served in an order that is known, or NONE


_LOAD = _Load()


class QueueingBounds:
    """The queues on the way of a paths; `len` is how many classes and loads there are."""

    def __init__(self, model: ProgramModel, legs: StageTimes, paths: StartToEndPaths) -> None:
        part = paths.part
        gate = node_merging.find_gates(part.start, part.before, paths.opens)
        turned = node_merging.reverse_graph(part.start, part.before, part.gain, gate)
        behind, self._behind = merge(turned, paths.work[::-1].copy(), np.minimum(paths.opens[::-1] + 1, 1))
        found = _Found(gate, paths.ahead, behind[::-1])
        loads = np.concatenate(
            [_list_flits(model, legs, paths.place, found), _list_jobs(model, legs, paths.place, found)]
        )
        self._span = paths
        self._queues = _list_queues(model, legs, paths, loads)

    def __len__(self) -> int:
        return len(self._span) + len(self._behind.work) + len(self._queues.leg)

    def times(self, legs: queueing_bounds.Legs, work_fs: np.ndarray) -> np.ndarray:
        """int64[point, gate] the earliest time of each gate that is reached; the arguments are those of `StageTimes.times`."""
        found = queueing_bounds.find_spans(self._span.classes, self._behind, self._queues, legs, work_fs)
        return found[:, self._span.gate]


class _Found(NamedTuple):
    """Of the nodes of a part, int64[node] each."""

    gate: np.ndarray  # the first that it leads to
    ahead: np.ndarray
    behind: np.ndarray


def _list_flits(model: ProgramModel, legs: StageTimes, place: np.ndarray, found: _Found) -> np.ndarray:
    """The loads of transfers at stations, none where there are too many. `place`: int64[node of the order] in the part."""
    rows, moves, machine = model.rows, model.moves, model.machine
    routes = machine.routing.tables()
    if np.diff(routes.start)[moves.route[moves.kind]].sum() > MOST_STEPS:
        return np.zeros((0, len(_LOAD)), np.int64)
    here = (place[rows.moves] != NONE) & (moves.nbytes[moves.kind] > 0)
    row, kind = rows.moves[here], moves.kind[here]
    gate, ahead, behind = (of[place[row]] for of in found)
    columns = [gate, ahead, behind, kind, rows.op[row, 3], model.order.chain[row]]
    same, count = count_rows(np.stack(columns, axis=1))
    gate, ahead, behind, kind, stripe, chain = same.T
    route, flits = moves.route[kind], -(-moves.nbytes[kind] // machine.flit_bytes)
    step, of = expand_ranges(routes.start[route], routes.start[route + 1])
    stripes = routes.stripes[step]
    share, crossing = expand_ranges(np.zeros_like(stripes), np.minimum(stripes, flits[of]))
    step, of = step[crossing], of[crossing]
    stripes, many = routes.stripes[step], count[of]
    number = (flits[of] - share - 1) // stripes + 1  # flits share, share + stripes, ...
    ends = ((flits[of] - 1) % stripes == share).astype(np.int64)
    station = routes.station[step] + (stripe[of] + share) % stripes
    leg = legs.first[kind[of]] + step - routes.start[route[of]]
    return np.stack(
        [gate[of], station, ahead[of], behind[of], leg, (number - ends) * many, ends * many, many, chain[of]], axis=1
    )


def _list_jobs(model: ProgramModel, legs: StageTimes, place: np.ndarray, found: _Found) -> np.ndarray:
    """The loads of jobs, and of transfers that hold a server, at servers."""
    rows, stations = model.rows, len(model.machine.stations.fs_per_flit)
    row = np.concatenate([rows.jobs, rows.moves])
    server = np.concatenate([rows.op[rows.jobs, 1], rows.op[rows.moves, 5]])
    here = (place[row] != NONE) & (server != NONE)
    row, server = row[here], server[here]
    gate, ahead, behind = (of[place[row]] for of in found)
    columns = [
        gate,
        stations + server,
        ahead,
        behind,
        legs.of_node_times + legs.node_times.of[row],
        model.order.chain[row],
    ]
    same, count = count_rows(np.stack(columns, axis=1))
    return np.column_stack([same[:, :5], count, np.zeros_like(count), count, same[:, 5]])


def _list_queues(
    model: ProgramModel, legs: StageTimes, paths: StartToEndPaths, loads: np.ndarray
) -> queueing_bounds.Queues:
    """The queues where loads may meet; each once of those that are alike.

    Loads are in the order of their arrivals on the machine itself.
    """
    machine, classes = model.machine, paths.classes
    figures = {field: np.array([float(machine.figures[field])]) for field in model.basis.fields}
    legs_fs, work_fs = legs.times(model.basis.fs(figures, 1))
    ends = queueing_bounds.find_ends(classes, np.arange(len(paths)), work_fs)[0]
    head = ends[loads[:, _LOAD.ahead]] + legs_fs.head[0, loads[:, _LOAD.leg]]
    order = (_LOAD.leg, _LOAD.behind, _LOAD.ahead)
    loads = loads[np.lexsort((*loads[:, order].T, head, loads[:, _LOAD.resource], loads[:, _LOAD.gate]))]
    kept, begins = _keep_crowded(loads)
    loads, begins = _gather(loads[kept], begins[kept])
    slots = np.append(np.ones(len(machine.stations.fs_per_flit), np.int64), machine.server_slots)
    chosen: dict[tuple[int, int, bytes], np.ndarray] = {}
    for queue in np.split(loads, np.flatnonzero(begins)[1:]) if len(loads) else []:
        gate, resource = queue[0, : _LOAD.ahead].tolist()
        chosen.setdefault((gate, int(slots[resource]), queue[:, _LOAD.ahead : _LOAD.many].tobytes()), queue)
    keys, queues = list(chosen), list(chosen.values())
    counts = np.bincount(np.array([gate for gate, *_ in keys], np.int64), minlength=len(paths.gates))
    columns = np.concatenate([loads[:0], *queues])[:, _LOAD.ahead : _LOAD.many].T
    return queueing_bounds.Queues(
        *(paths.ahead[paths.gates], np.append(0, np.cumsum(counts))),
        *(np.cumsum([0, *map(len, queues)]), np.array([many for _, many, _ in keys], np.int64)),
        *map(np.ascontiguousarray, columns),
    )


def _keep_crowded(loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """bool[load] twice: of queues where paths do not say already that loads come one after the other; with which one begins."""
    begins = np.ones(len(loads), bool)
    begins[1:] = (np.diff(loads[:, : _LOAD.ahead], axis=0) != 0).any(axis=1)
    if not len(loads):
        return begins, begins
    first, chain = np.flatnonzero(begins), loads[:, _LOAD.chain]
    least, most = np.minimum.reduceat(chain, first), np.maximum.reduceat(chain, first)
    crowded = (np.add.reduceat(loads[:, _LOAD.many], first) > 1) & ((least == NONE) | (least != most))
    return crowded[np.cumsum(begins) - 1], begins


def _gather(loads: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Loads of a queue that are alike become one; and with which a queue begins."""
    if not len(loads):
        return loads, begins
    new = begins.copy()
    new[1:] |= (np.diff(loads[:, _LOAD.ahead : _LOAD.full], axis=0) != 0).any(axis=1)
    first = np.flatnonzero(new)
    gathered = loads[first]
    counted = slice(_LOAD.full, _LOAD.many)
    gathered[:, counted] = np.add.reduceat(loads[:, counted], first)
    return gathered, begins[first]
