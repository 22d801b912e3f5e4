"""Lower bounds of uncontended transfer times, as linear forms in times that may vary.

`machine.uncontended_latency` splits the same time of one machine by cause, in whole femtoseconds, and may be more than it.

A route is cut into *segments*, each with all flits together before it: at its source, and at each node that waits for
the whole message. The last flit leaves a segment no sooner than by any one of its stations j: the first flit to come gets
there (services, wires, overheads), j then serves all flits (of a striped memory: the largest share), and the last of them
goes on to the end. Where a memory lets a smaller last flit overtake, the smaller service counts on the way.
The wires of all steps, a read's request and a write's acknowledgement do not vary: they are in `Moves.fixed_fs`.

A transfer to many takes no less time than one to a single one of its destinations over the same links (`Routes.path`): that is
its bound. Stations are loaded by all its branches.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.analytic.transfer_classes import FULL, LAST, OVERHEAD, TransferClasses, find_transfer_classes
from kernbench.arrays import expand_ranges, unique_rows

if TYPE_CHECKING:
    from kernbench.analytic.rows import Rows
    from kernbench.analytic.symbolic_times import Basis
    from kernbench.machine.machine import Machine


class Moves(NamedTuple):
    """The transfers of a program by kind: route and bytes."""

    kind: np.ndarray  # int64[move] of `Rows.moves`
    route: np.ndarray  # int64[kind] of a transfer to many that to one of its destinations
    nbytes: np.ndarray  # int64[kind]
    fixed_fs: np.ndarray  # int64[kind] what every transfer pays
    classes: TransferClasses
    segment_start: np.ndarray  # int64[kind + 1] into `segment`
    segment: np.ndarray  # int64[]: the segments of each kind
    choice_start: np.ndarray  # int64[segment + 1] into `choices`
    choices: np.ndarray  # float64[choice, atom] forms: each of a segment's is a bound
    first: np.ndarray  # float64[kind, atom] the service of all flits at the first station, where it is a link
    crossed: Crossed


class Crossed(NamedTuple):
    """All routes that transfers of each kind take: one, or of a transfer to many those of its branches."""

    start: np.ndarray  # int64[kind + 1] into the others
    route: np.ndarray  # int64[crossed]
    classes: TransferClasses  # whose kinds are these


def list_moves(machine: Machine, rows: Rows, basis: Basis) -> Moves:
    """The moves among the rows; their atoms are added to the basis."""
    routes = machine.routing.tables()
    kinds = unique_rows(rows.op[rows.moves, 1:3])
    asked, nbytes = np.ascontiguousarray(kinds.rows.T)
    route = routes.path[asked]
    classes = find_transfer_classes(machine, basis, route, nbytes)
    crossed = Crossed(np.arange(len(route) + 1), route, classes)
    if (routes.branches[asked] > 1).any():
        crossed = _list_crossed(machine, basis, asked, nbytes)
    known: dict[tuple[int, bytes], int] = {}
    parts = classes.cut()
    numbers = np.array([known.setdefault(part, len(known)) for of_way in parts for part in of_way], np.int64)
    count = np.array([len(of_way) for of_way in parts], np.int64)
    first = np.cumsum(count) - count
    at, of = expand_ranges(first[classes.class_of], (first + count)[classes.class_of])
    segment_start = np.searchsorted(of, np.arange(len(route) + 1))
    return Moves(
        *(kinds.which, route, nbytes, routes.wire_fs[route], classes),
        *(segment_start, numbers[at], *_write_choices(classes, list(known), len(basis))),
        _write_first(classes, len(basis))[classes.class_of],
        crossed,
    )


def _list_crossed(machine: Machine, basis: Basis, route: np.ndarray, nbytes: np.ndarray) -> Crossed:
    """The routes that transfers of kinds take, int64[kind] route and bytes."""
    branches = machine.routing.tables().branches[route]
    crossed, of = expand_ranges(route, route + branches)
    return Crossed(
        np.append(0, np.cumsum(branches)), crossed, find_transfer_classes(machine, basis, crossed, nbytes[of])
    )


def _write_first(classes: TransferClasses, atoms: int) -> np.ndarray:
    """float64[class, atom]"""
    forms = np.zeros((len(classes.flits), atoms))
    passing = np.flatnonzero(classes.flits)
    terms = classes.terms[classes.step[classes.start[passing]]]
    for which, count in ((FULL, classes.flits[passing] - 1), (LAST, 1)):
        forms[passing, terms[:, which, 0]] += count * terms[:, which, 1].astype(np.float64)
    return forms


def _write_choices(
    classes: TransferClasses, segments: list[tuple[int, bytes]], atoms: int
) -> tuple[np.ndarray, np.ndarray]:
    """int64[segment + 1] offsets into float64[choice, atom]: each segment's time by each of its stations, no form twice."""
    steps = [np.frombuffer(steps, np.int64) for _, steps in segments]
    length = np.array([len(of_segment) for of_segment in steps], np.int64)
    there: np.ndarray = np.arange(int(length.max(initial=0))) < length[:, None]  # bool[segment, place]
    step = np.concatenate([np.zeros(0, np.int64), *steps])
    terms = np.zeros((*there.shape, 4, 2), np.int64)
    terms[there] = classes.terms[step]
    stripes = np.ones(there.shape, np.int64)
    stripes[there] = classes.stripes[step]
    flits = np.array([flits for flits, _ in segments], np.int64)[:, None]

    def forms_of(chosen: np.ndarray) -> np.ndarray:
        """float64[segment, place, atom] of one term each, int64[segment, place, 2]."""
        forms = np.zeros((*there.shape, atoms))
        np.put_along_axis(forms, chosen[:, :, :1], chosen[:, :, 1:], axis=2)
        return forms

    striped = stripes > 1
    striped[:, :1] &= flits <= stripes[:, :1]
    in_order = ~np.logical_or.accumulate(striped, axis=1) & (flits > 1)  # the first flit to come is a full one
    first = forms_of(np.where(in_order[:, :, None], terms[:, :, FULL], terms[:, :, LAST]))
    last, overhead = forms_of(terms[:, :, LAST]), forms_of(terms[:, :, OVERHEAD])
    share, ends = -(-flits // stripes), (flits - 1) % stripes == 0  # the largest share is that with the last flit
    forms = np.cumsum(overhead, axis=1) + np.cumsum(first, axis=1) - first
    forms += (share - ends)[:, :, None] * forms_of(terms[:, :, FULL]) + ends[:, :, None] * last
    forms += np.cumsum(last[:, ::-1], axis=1)[:, ::-1] - last
    of = np.repeat(np.arange(len(segments)), length)
    choices = unique_rows(np.column_stack([of, forms[there]])).rows
    return np.searchsorted(choices[:, 0], np.arange(len(segments) + 1)), np.ascontiguousarray(choices[:, 1:])


def write_moves(moves: Moves, atoms_fs: np.ndarray) -> np.ndarray:
    """float64[kind, atom]: the transfer of each kind by the stations that bind it where atoms take these times."""
    times = moves.choices @ atoms_fs
    best = [start + int(np.argmax(times[start:end])) for start, end in pairwise(moves.choice_start)]
    forms = np.zeros((len(moves.route), len(atoms_fs)))
    forms[:, 0] = moves.fixed_fs
    of = np.repeat(np.arange(len(moves.route)), np.diff(moves.segment_start))
    np.add.at(forms, of, moves.choices[np.array(best, np.int64)[moves.segment]])
    return forms
