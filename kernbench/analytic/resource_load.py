"""Load of each server and each station, and the serial time of a program, as forms.

Nothing ends before each of its resources has done its work. And it ends no later than if everything were done one after
the other: while anything is still to happen, some row's duration, some flit's service, some wire, node overhead, request or
acknowledgement is under way, for whatever waits, waits for one of these, and waiting ends the instant they do. A flit of a
read that has not come to its channel yet waits for flits there (docs/engine.md). So the time is covered by these intervals
and is at most their sum. (An UNTIL covers the time from the start; the latest covers all.) With credits each flit pays the
pipeline at each hop, credits are under way besides, and both are rounded up to cycles (docs/analytic.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.analytic.linear_forms import Forms
from kernbench.analytic.transfer_classes import FULL, LAST, OVERHEAD, TURN
from kernbench.arrays import count_rows, expand_ranges
from kernbench.program.ops import NONE, Op

if TYPE_CHECKING:
    from kernbench.analytic.model import ProgramModel
    from kernbench.machine.machine import Machine

_CYCLES_OF_A_HOP = (
    16  # a flit on a link, its credit, and what is rounded up to cycles, none of which is longer than a flit
)


def station_load(model: ProgramModel) -> Forms:
    """The service of all flits that are routed through each station."""
    machine, rows, moves = model.machine, model.rows, model.moves
    routes = machine.routing.tables()
    striped = np.column_stack([moves.kind, rows.op[rows.moves, 3]])
    kinds, count = count_rows(striped[moves.nbytes[moves.kind] > 0])
    kind, stripe = kinds.T
    crossed = moves.crossed
    taken, of = expand_ranges(crossed.start[kind], crossed.start[kind + 1])
    stripe, count, classes = stripe[of], count[of], crossed.classes
    route, own = crossed.route[taken], classes.class_of[taken]
    at, of = expand_ranges(routes.start[route], routes.start[route + 1])
    step = classes.step[expand_ranges(classes.start[own], classes.start[own + 1])[0]]
    first, flits, count, stripes = stripe[of], classes.flits[own[of]], count[of], classes.stripes[step]
    share, crossing = expand_ranges(
        np.zeros_like(stripes), stripes
    )  # `crossing` repeats each step for each of its stripes
    here = (flits[crossing] - share - 1) // stripes[crossing] + 1  # flits share, share + stripes, ...
    share, crossing, here = (column[here > 0] for column in (share, crossing, here))
    ends = ((flits[crossing] - 1) % stripes[crossing] == share).astype(np.int64)
    station = routes.station[at][crossing] + (first[crossing] + share) % stripes[crossing]
    used, index = np.unique(station, return_inverse=True)
    forms = np.zeros((len(used), len(model.basis)))
    for which, number in ((FULL, here - ends), (LAST, ends)):
        atom, amount = classes.terms[step[crossing], which].T
        cell = index * len(model.basis) + atom
        forms += _gather(cell, number * count[crossing] * amount.astype(np.float64), forms.size).reshape(forms.shape)
    return Forms("station", used, forms)


class Servers(NamedTuple):
    """The work of servers: jobs, and transfers that hold them."""

    slots: np.ndarray  # int64[server]
    jobs: np.ndarray  # float64[server, atom] durations of jobs, and before transfers
    holds: np.ndarray  # int64[hold, 3] server, kind of move, how many

    def alone(self) -> Forms:
        """The jobs of each server, over its slots."""
        return Forms("server", np.arange(len(self.slots)), self.jobs / self.slots[:, None])

    def held(self, move_forms: np.ndarray) -> Forms:
        """All work of each server that transfers hold, over its slots; `move_forms`: float64[kind, atom]."""
        server, kind, count = self.holds.T
        used, index = np.unique(server, return_inverse=True)
        forms = self.jobs[used]
        np.add.at(forms, index, count[:, None] * move_forms[kind])
        return Forms("server", used, forms / self.slots[used, None])


def server_load(model: ProgramModel) -> Servers:
    """The load of servers."""
    rows, durations, moves, slots = model.rows, model.durations, model.moves, np.asarray(model.machine.server_slots)
    holder = rows.op[rows.moves, 5]
    held = holder != NONE
    jobs = np.zeros((len(slots), len(model.basis)))
    for timed in (rows.op[rows.jobs, 1:3], np.column_stack([holder, rows.op[rows.moves, 7]])[held]):
        kinds, count = count_rows(timed)
        server, duration = kinds.T
        np.add.at(jobs, (server, durations.atom[duration]), durations.amount[duration].astype(np.float64) * count)
    pairs, count = count_rows(np.column_stack([holder, moves.kind])[held])
    return Servers(slots, jobs, np.column_stack([pairs, count]))


def serial_time(model: ProgramModel) -> np.ndarray:
    """float64[atom] everything one after the other."""
    rows, durations, moves = model.rows, model.durations, model.moves
    form, kind, op = np.zeros(len(model.basis)), rows.kind, rows.op
    form[0] = op[rows.row[kind == Op.UNTIL], 1].max(initial=0)
    for duration in (op[rows.row[kind == Op.DELAY], 1], op[rows.jobs, 2], op[rows.moves, 7]):
        count = np.bincount(duration, minlength=len(durations.atom))
        np.add.at(form, durations.atom, durations.amount.astype(np.float64) * count)
    routes, crossed = model.machine.routing.tables(), moves.crossed
    of = np.repeat(np.arange(len(moves.route)), np.diff(crossed.start))
    counts = np.bincount(moves.kind, minlength=len(moves.route))[of]
    flits, wires = -(-moves.nbytes // model.machine.flit_bytes)[of], routes.propagation_fs[crossed.route]
    ends_fs = routes.wire_fs[crossed.route]
    form[0] += (counts * (ends_fs + np.maximum(flits - 1, 0) * wires.astype(np.float64))).sum()
    classes = crossed.classes
    of = np.repeat(np.arange(len(classes.flits)), np.diff(classes.start))  # class of each step
    terms = classes.terms[classes.step]
    count, flits = np.bincount(classes.class_of, counts, len(classes.flits))[of], classes.flits[of]
    passes, gates = flits - 1, np.ones_like(flits)
    if model.machine.flow_control:
        passes, gates = _CYCLES_OF_A_HOP * flits, flits
        form[0] += (count * flits).sum() * float(_credit_hop_fs(model.machine))
    for term, times in ((FULL, passes), (LAST, 1), (TURN, flits), (OVERHEAD, gates)):
        form += _gather(terms[:, term, 0], terms[:, term, 1] * (count * times).astype(np.float64), len(form))
    return form


def _credit_hop_fs(machine: Machine) -> int:
    """The most that a flit and its credit pay at a hop of a network with credits, besides multiples of FULL."""
    control, wires = machine.flow_control, machine.stations.propagation_fs[: machine.edge_count]
    assert control is not None
    pipeline = max(
        port.credit_fs + port.routing_fs + port.vc_allocation_fs + port.switch_allocation_fs + port.traversal_fs
        for port in control.ports
    )
    return pipeline + 3 * int(wires.max(initial=0))


def _gather(at: np.ndarray, amount: np.ndarray, count: int) -> np.ndarray:
    """float64[count] the amounts that come to each."""
    return np.bincount(at, weights=amount, minlength=count)
