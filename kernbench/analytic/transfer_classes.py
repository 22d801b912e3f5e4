"""Classes of transfers that take the same time: sequences of steps, each with a service, an overhead and a turn.

A program has thousands of kinds of transfers and few classes: transfers of as many bytes are of one class if their routes have
steps that take the same times, wherever in the machine these are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.program.ops import NONE

if TYPE_CHECKING:
    from kernbench.analytic.symbolic_times import Basis, Term
    from kernbench.machine.machine import Machine


class Step(NamedTuple):
    """One step of a route, for the flits of one size of message."""

    full: Term  # service of a flit but the last
    last: Term  # of the last, which may be partial: no longer
    overhead: Term
    turn: Term  # the most a flit may pay besides
    stripes: int
    store_and_forward: bool


FULL, LAST, OVERHEAD, TURN = range(4)  # terms of a step


class TransferClasses(NamedTuple):
    """The classes of some kinds of transfers, in the order of the first of each."""

    class_of: np.ndarray  # int64[kind]
    flits: np.ndarray  # int64[class]
    start: np.ndarray  # int64[class + 1] into `step`; messages of no bytes have none
    step: np.ndarray  # int64[] the steps of each class
    terms: np.ndarray  # int64[step, 4, 2] atom and amount of full, last, overhead and turn
    stripes: np.ndarray  # int64[step]
    store_and_forward: np.ndarray  # bool[step]

    def cut(self) -> list[list[tuple[int, bytes]]]:
        """The segments of each class: flits, and int64[] steps as bytes. Each begins where all flits are together."""
        begins = self.store_and_forward[self.step]
        begins[self.start[:-1][np.diff(self.start) > 0]] = True
        found: list[list[tuple[int, bytes]]] = []
        for number, flits in enumerate(self.flits.tolist()):
            first, end = self.start[number : number + 2]
            steps = np.split(self.step[first:end], np.flatnonzero(begins[first:end])[1:]) if flits else []
            found.append([(flits, part.tobytes()) for part in steps])
        return found


def find_transfer_classes(machine: Machine, basis: Basis, route: np.ndarray, nbytes: np.ndarray) -> TransferClasses:
    """The classes of kinds of transfers, int64[kind] route and bytes; their atoms are added to the basis."""
    step_kind, starts = _find_step_classes(machine, basis), machine.routing.tables().start
    used, which = np.unique(route, return_inverse=True)
    ends = zip(starts[used].tolist(), starts[used + 1].tolist(), strict=True)
    known: dict[bytes, int] = {}
    alike = np.array([known.setdefault(step_kind[a:b].tobytes(), len(known)) for a, b in ends], np.int64)
    classes = unique_rows(np.column_stack([alike[which], nbytes])).by_appearance()
    known_steps = _Steps(machine, basis, step_kind)
    of = [known_steps.of(int(route[at]), int(nbytes[at])) for at in classes.first.tolist()]
    return TransferClasses(
        *(classes.which, -(-classes.rows[:, 1] // machine.flit_bytes), np.cumsum([0, *map(len, of)], dtype=np.int64)),
        *(np.array([step for steps in of for step in steps], np.int64), *known_steps.columns()),
    )


def _find_step_classes(machine: Machine, basis: Basis) -> np.ndarray:
    """int64[step] of all routes: steps of one number take the same time for every size of message."""
    routes, stations = machine.routing.tables(), basis.find_station_classes()
    link = routes.station < machine.edge_count
    passed = (routes.before != NONE) | ~link  # the node before it is not a link's own source
    columns = (stations[routes.station], routes.overhead_fs, passed, routes.stripes, routes.store_and_forward)
    return unique_rows(np.stack(columns, axis=1)).which


class _Steps:
    """The distinct steps of routes, as they are found."""

    def __init__(self, machine: Machine, basis: Basis, step_kind: np.ndarray) -> None:
        self._machine, self._basis, self._step_kind = machine, basis, step_kind
        self._routes = machine.routing.tables()
        self._before = self._routes.before
        self._known: dict[tuple[int, int], int] = {}  # by kind of step and bytes of the last flit
        self._steps: dict[Step, int] = {}

    def of(self, route: int, nbytes: int) -> list[int]:
        """The steps that a transfer passes."""
        if not nbytes:
            return []
        first, end = int(self._routes.start[route]), int(self._routes.start[route + 1])
        last_bytes = (nbytes - 1) % self._machine.flit_bytes + 1
        found: list[int] = []
        for at, kind in enumerate(self._step_kind[first:end].tolist(), first):
            step = self._known.get((kind, last_bytes))
            if step is None:
                made = self._make(at, last_bytes)
                step = self._known[kind, last_bytes] = self._steps.setdefault(made, len(self._steps))
            found.append(step)
        return found

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Terms, stripes and `store_and_forward` of all: see `TransferClasses`."""
        steps = list(self._steps)
        terms = np.array([step[:4] for step in steps], np.int64).reshape(-1, 4, 2)
        stripes = np.array([step.stripes for step in steps], np.int64)
        return terms, stripes, np.array([step.store_and_forward for step in steps], bool)

    def _make(self, at: int, last_bytes: int) -> Step:
        machine, basis, routes = self._machine, self._basis, self._routes
        station, flit_bytes = int(routes.station[at]), machine.flit_bytes
        full, last = basis.service(station, flit_bytes), basis.service(station, last_bytes)
        passed = self._before[at] != NONE or station >= machine.edge_count  # not a link's own source
        overhead = basis.overhead(station, int(routes.overhead_fs[at])) if passed else (0, 0)
        return Step(
            full,
            last,
            overhead,
            basis.turn(station),
            int(routes.stripes[at]),
            bool(routes.store_and_forward[at]),
        )
