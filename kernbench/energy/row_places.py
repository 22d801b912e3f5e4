"""Energies of rows by where they go: to groups of places and parts that a caller names, for each kind of rows.

Rows of one kind are equal; those that hold no server are also of one thread, since that says where they run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.arrays import make_sparse, unique_rows
from kernbench.energy.byte_prices import NO_ACTION
from kernbench.energy.uses import Places
from kernbench.program.ops import NONE, Op

if TYPE_CHECKING:
    from kernbench.energy.row_energies import RowEnergies

GroupOf = Callable[[int, str], Hashable]  # a place (a node, or a link behind the nodes) and a part; None: not counted


class PlacedEnergies(NamedTuple):
    """What a row of each kind adds to each group."""

    groups: tuple[Hashable, ...]
    kind: np.ndarray  # int64[row]
    aj: Any  # float64[kind, group], sparse


class _Groups:
    """The groups found so far, by number."""

    def __init__(self, group_of: GroupOf) -> None:
        self._group_of = group_of
        self._known: dict[tuple[int, str], int] = {}
        self.number: dict[Hashable, int] = {}

    def find(self, place: int, part: str) -> int:
        key = place, part
        if key not in self._known:
            group = self._group_of(place, part)
            self._known[key] = NONE if group is None else self.number.setdefault(group, len(self.number))
        return self._known[key]


class _Kinds(NamedTuple):
    """The kinds of the rows of a program."""

    of_row: np.ndarray  # int64[row]
    thread: np.ndarray  # int64[kind] NONE for a row of any thread
    work: np.ndarray  # int64[kind] of `RowEnergies.works`; NONE, as others are, where there is none
    server: np.ndarray
    route: np.ndarray
    nbytes: np.ndarray


class _Cells:
    """Cells of a sparse matrix as they are found."""

    def __init__(self) -> None:
        self._row: list[int] = []
        self._column: list[int] = []
        self._value: list[float] = []

    def add(self, row: int, column: int, value: float) -> None:
        if column != NONE and value:
            self._row.append(row)
            self._column.append(column)
            self._value.append(float(value))

    def matrix(self, rows: int, columns: int) -> Any:
        return make_sparse(
            np.array(self._row, int), np.array(self._column, int), np.array(self._value), (rows, columns)
        )


def place_energies(rows: RowEnergies, group_of: GroupOf) -> PlacedEnergies:
    """The energies of the rows of a program by group."""
    kinds, groups = _find_kinds(rows), _Groups(group_of)
    uses = [_of_jobs(rows, kinds, groups), _of_servers(rows, kinds, groups), _of_bytes(rows, kinds, groups)]
    count = len(groups.number)
    found = sum(use @ cells.matrix(use.shape[1], count) for use, cells in uses)
    return PlacedEnergies(tuple(groups.number), kinds.of_row, found)


def _find_kinds(rows: RowEnergies) -> _Kinds:
    """Kinds by what a row costs and where: work, server or thread, route and bytes."""
    program = rows.program
    op, entries = program.op, len(program.op.values)
    told = np.full((entries, 4), NONE)  # of each entry: work, server, route, bytes
    told[rows.jobs, 0], told[rows.moves, 0] = rows.work, op.values[rows.moves, 7]
    told[rows.jobs, 1] = np.where(op.values[rows.jobs, 0] == Op.EXEC, op.values[rows.jobs, 1], NONE)
    told[rows.moves, 1:] = op.values[rows.moves][:, [5, 1, 2]]
    works = np.array([*(bool(actions) for actions in rows.works), False])
    anywhere = (told[:, 1] == NONE) & works[told[:, 0]]  # entries that say not where they run
    alike = unique_rows(told)
    row = np.flatnonzero(anywhere[op.entry])
    pairs = unique_rows(np.column_stack([alike.which[op.entry[row]], program.op_thread[row].astype(np.int64)]))
    of_row = alike.which[op.entry]
    of_row[row] = len(alike.rows) + pairs.which
    kinds = np.concatenate([alike.rows, alike.rows[pairs.rows[:, 0]]])
    thread = np.append(np.full(len(alike.rows), NONE), pairs.rows[:, 1])
    return _Kinds(of_row, thread, *kinds.T)


def _of_jobs(rows: RowEnergies, kinds: _Kinds, groups: _Groups) -> tuple[Any, _Cells]:
    """The work of jobs, and that before transfers: float64[kind, job] and the cells of [job, group]."""
    places, cells = Places(rows), _Cells()
    kind = np.flatnonzero(kinds.work != NONE)
    jobs = unique_rows(np.column_stack([kinds.server[kind], kinds.thread[kind], kinds.work[kind]]))
    for number, (server, thread, work) in enumerate(jobs.rows.tolist()):
        for action in rows.works[work] if server != NONE or thread != NONE else ():
            cells.add(number, groups.find(places.find(server, thread, action.part), action.part), action.energy_aj)
    return make_sparse(kind, jobs.which, np.ones(len(kind)), (len(kinds.work), len(jobs.rows))), cells


def _of_servers(rows: RowEnergies, kinds: _Kinds, groups: _Groups) -> tuple[Any, _Cells]:
    """What a transfer costs at its server, whatever its bytes: float64[kind, server] and the cells of [server, group]."""
    places, cells = Places(rows), _Cells()
    for number, action in enumerate(rows.held):
        if action is not None:
            cells.add(number, groups.find(places.find(number, NONE, action.part), action.part), action.energy_aj)
    kind = np.flatnonzero((kinds.route != NONE) & (kinds.server != NONE))
    return make_sparse(kind, kinds.server[kind], np.ones(len(kind)), (len(kinds.work), len(rows.held))), cells


def _of_bytes(rows: RowEnergies, kinds: _Kinds, groups: _Groups) -> tuple[Any, _Cells]:
    """Bytes of transfers: float64[kind, route] and the cells of [route, group]."""
    machine, cells = rows.program.machine, _Cells()
    for pairs, aj, column in _passed(rows, groups):
        for (route, place), each in zip(pairs.tolist(), aj.tolist(), strict=True):
            cells.add(route, column[place], each)
    kind = np.flatnonzero(kinds.route != NONE)
    shape = len(kinds.work), machine.routing.route_count
    return make_sparse(kind, kinds.route[kind], kinds.nbytes[kind], shape), cells


def _passed(rows: RowEnergies, groups: _Groups) -> Iterator[tuple[np.ndarray, np.ndarray, dict[int, int]]]:
    """Pairs of a route and a place, what a byte costs at each, and the group of each place."""
    prices, first = rows.prices, rows.program.machine.node_count
    priced = zip(rows.routes.actions(prices), rows.routes.prices(prices), strict=True)
    for (pairs, action), (_, aj) in priced:
        known = action != NO_ACTION
        pairs, action, aj = pairs[known], action[known], aj[known]
        used = np.unique(np.column_stack([pairs[:, 1], action]), axis=0).tolist()
        yield pairs, aj, {place: groups.find(first + place, prices.actions[number][0]) for place, number in used}
        first = 0  # those of links come first
