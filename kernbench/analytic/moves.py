"""Transfers that meet nobody, as forms.

A route is cut into *segments*, before each of which all flits stand together: at its source, and at each node that waits for
the whole message. The last flit leaves a segment no sooner than by any one of its stations j: the first flit to come gets
there (services, wires, overheads), j then serves all flits (of a striped memory: the largest share), and the last of them
goes on to the end. Where a memory lets a smaller last flit overtake, the smaller service counts on the way.
The wires of all steps, a read's request and a write's acknowledgement do not vary: they are in `Moves.fixed_fs`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.analytic.rows import find_kinds

if TYPE_CHECKING:
    from kernbench.analytic.basis import Basis, Term
    from kernbench.analytic.rows import Rows
    from kernbench.machine.machine import Machine


class Step(NamedTuple):
    """One step of a route, for the flits of one size of message."""

    full: Term  # service of a flit but the last
    last: Term  # of the last, which may be partial
    least: Term  # the smaller of the two
    overhead: Term
    turn: Term  # the most a flit may pay besides
    stripes: int
    whole: bool


class Moves(NamedTuple):
    """The transfers of a program by kind: route and bytes."""

    kind: np.ndarray  # int64[move] of `Rows.moves`
    route: np.ndarray  # int64[kind]
    nbytes: np.ndarray  # int64[kind]
    fixed_fs: np.ndarray  # int64[kind] what every transfer pays
    steps: tuple[tuple[Step, ...], ...]  # by kind; none for messages of no bytes
    segment_start: np.ndarray  # int64[kind + 1] into `segment`
    segment: np.ndarray  # int64[]: the segments of each kind
    choice_start: np.ndarray  # int64[segment + 1] into `choices`
    choices: np.ndarray  # float64[choice, atom] forms: each of a segment's is a bound
    first: np.ndarray  # float64[kind, atom] the service of all flits at the first station, where it is a link


def list_moves(machine: Machine, rows: Rows, basis: Basis) -> Moves:
    """The moves among the rows; their atoms are added to the basis."""
    routes = machine.routing.tables()
    kinds, kind, _ = find_kinds(rows.op[rows.moves, 1:3])
    known: dict[tuple[int, tuple[Step, ...]], int] = {}
    alike: dict[tuple[bytes, int], tuple[tuple[Step, ...], list[int]]] = {}
    segment, start, steps = [], [0], []
    signature = _sign_steps(machine, basis)
    for route, nbytes in kinds.tolist():
        flits = -(-nbytes // machine.flit_bytes)
        key = signature[routes.start[route] : routes.start[route + 1]].tobytes(), nbytes
        if key not in alike:
            of = _list_steps(machine, route, nbytes, basis) if flits else ()
            alike[key] = of, [known.setdefault((flits, part), len(known)) for part in _cut(of)]
        of, parts = alike[key]
        steps.append(of)
        segment += parts
        start.append(len(segment))
    forms = [_write_choices(steps, flits, len(basis)) for flits, steps in known]
    fixed = routes.lead_fs + routes.propagation_fs + routes.tail_fs
    return Moves(
        *(kind, kinds[:, 0], kinds[:, 1], fixed[kinds[:, 0]]),
        *(tuple(steps), np.array(start), np.array(segment, np.int64), np.cumsum([0, *map(len, forms)])),
        np.concatenate([np.zeros((0, len(basis))), *forms]),
        _write_first(kinds[:, 1], steps, machine.flit_bytes, len(basis)),
    )


def _sign_steps(machine: Machine, basis: Basis) -> np.ndarray:
    """int64[step, 5] of all routes: steps that are equal in it take the same time for every size of message."""
    routes, stations = machine.routing.tables(), basis.sign_stations()
    link = routes.station < machine.edge_count
    start = np.zeros(len(link), bool)
    start[routes.start[:-1][np.diff(routes.start) > 0]] = True
    passed = ~start | ~link
    return np.stack([stations[routes.station], routes.overhead_fs, passed, routes.stripes, routes.whole], axis=1)


def _list_steps(machine: Machine, route: int, nbytes: int, basis: Basis) -> tuple[Step, ...]:
    routes, flit_bytes = machine.routing.tables(), machine.flit_bytes
    last_bytes = (nbytes - 1) % flit_bytes + 1
    found = []
    for at in range(int(routes.start[route]), int(routes.start[route + 1])):
        station, quantum = int(routes.station[at]), int(machine.stations.quantum_bytes[routes.station[at]])
        full, last = basis.service(station, flit_bytes), basis.service(station, last_bytes)
        least = last if -(-last_bytes // quantum) * quantum <= flit_bytes else full
        passed = at > routes.start[route] or station >= machine.edge_count  # not a link's own source
        overhead = basis.overhead(station, int(routes.overhead_fs[at])) if passed else (0, 0)
        turn = basis.turn(station)
        found.append(Step(full, last, least, overhead, turn, int(routes.stripes[at]), bool(routes.whole[at])))
    return tuple(found)


def _write_first(nbytes: np.ndarray, steps: list[tuple[Step, ...]], flit_bytes: int, atoms: int) -> np.ndarray:
    forms = np.zeros((len(steps), atoms))
    for at, of in enumerate(steps):
        if of:
            forms[at, of[0].full[0]] += (nbytes[at] - 1) // flit_bytes * of[0].full[1]
            forms[at, of[0].last[0]] += of[0].last[1]
    return forms


def _cut(steps: tuple[Step, ...]) -> list[tuple[Step, ...]]:
    starts = [i for i, step in enumerate(steps) if step.whole or i == 0]
    return [steps[a:b] for a, b in pairwise([*starts, len(steps)])]


def _write_choices(steps: tuple[Step, ...], flits: int, atoms: int) -> np.ndarray:
    """float64[step, atom]: the segment's time by each of its stations, no form twice."""
    forms = np.zeros((len(steps), atoms))
    ordered = True  # the first flit to come is a full one
    for j, step in enumerate(steps):
        ordered &= step.stripes == 1 or (j == 0 and flits > step.stripes)
        first = step.full if ordered and flits > 1 else step.least
        share = -(-flits // step.stripes)
        ends = (flits - 1) % step.stripes == 0  # the largest share is that with the last flit
        forms[j:, step.overhead[0]] += step.overhead[1]
        forms[j + 1 :, first[0]] += first[1]
        forms[j, step.full[0]] += (share - ends) * step.full[1]
        forms[j, step.last[0]] += ends * step.last[1]
        forms[:j, step.least[0]] += step.least[1]
    return np.unique(forms, axis=0)


def write_moves(moves: Moves, atoms_fs: np.ndarray) -> np.ndarray:
    """float64[kind, atom]: the transfer of each kind by the stations that bind it where atoms take these times."""
    times = moves.choices @ atoms_fs
    best = [start + int(np.argmax(times[start:end])) for start, end in pairwise(moves.choice_start)]
    forms = np.zeros((len(moves.route), len(atoms_fs)))
    forms[:, 0] = moves.fixed_fs
    of = np.repeat(np.arange(len(moves.route)), np.diff(moves.segment_start))
    np.add.at(forms, of, moves.choices[np.array(best, np.int64)[moves.segment]])
    return forms
