"""The energy of each row of a program: of its job, or of the bytes of its transfer, exactly.

Rows that are equal cost the same, so what is found is of the distinct rows (`EncodedRows`). Rows at which nothing happens cost
nothing. A message of no bytes (a request, an acknowledgement) costs its control alone; a flit that is not full costs its bytes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import expand_ranges, unique_rows
from kernbench.energy.byte_prices import BytePrices, find_byte_prices
from kernbench.energy.job_actions import Action, find_works
from kernbench.program.ops import NONE, Op
from kernels_jit.layout.codes import READ

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program

_KEPT = "actions of transfers"
HELD = {"dma_read": ("pe_dma", "transfer"), "dma_write": ("pe_dma", "transfer")}  # action of a transfer, by server


class RouteBytes(NamedTuple):
    """What a byte of each route passes: pairs of a route and of a link, a node or an end, each once."""

    link: np.ndarray  # int64[n, 2] route and edge
    node: np.ndarray  # int64[n, 2] route and node that it passes
    read: np.ndarray  # int64[n, 2] route and memory that gives it
    write: np.ndarray  # int64[n, 2] route and memory that takes it
    filled: np.ndarray  # int64[n, 2] route and requester that puts it into what is beside it
    drained: np.ndarray  # int64[n, 2] route and requester that takes it from there

    def actions(self, prices: BytePrices) -> list[tuple[np.ndarray, np.ndarray]]:
        """Pairs and the action of a byte at each, int64[n]; those of links first."""
        columns = prices.edge, prices.node, prices.read, prices.write, prices.filled, prices.drained
        return [(pairs, action[pairs[:, 1]]) for pairs, action in zip(self, columns, strict=True)]

    def prices(self, prices: BytePrices) -> list[tuple[np.ndarray, np.ndarray]]:
        """Pairs and the price of a byte at each, int64[n]."""
        others = [(pairs, prices.of(action)) for pairs, action in self.actions(prices)[1:]]
        return [(self.link, prices.edge_aj[self.link[:, 1]]), *others]


class RowEnergies:
    """The energies of the rows of a program on its machine."""

    def __init__(self, program: Program) -> None:
        machine, op = program.machine, program.op.values
        self.program, self.prices = program, find_byte_prices(machine)
        self.moves = np.flatnonzero(op[:, 0] == Op.MOVE)  # entries
        self.jobs = np.flatnonzero((op[:, 0] == Op.EXEC) | (op[:, 0] == Op.DELAY))
        works = find_works(program, self.jobs)
        self.works = works.actions  # of each duration, then of each other kind of job
        self.work = works.of_job  # int64[job]
        self.routes = _pass_routes(machine, np.unique(op[self.moves, 1]))
        self.held = _held_actions(machine)
        self.counts = program.op.counts()  # int64[entry]

    @cached_property
    def energies_aj(self) -> np.ndarray:
        """object[entry] the energy of each distinct row, Python integers."""
        op = self.program.op.values
        found = np.zeros(len(op), object)
        of_work, moves = self._work_aj(), op[self.moves]
        found[self.jobs] = of_work[self.work]
        held = [0 if one is None else one.energy_aj for one in (*self.held, None)]
        held_aj = np.array(held, object)
        found[self.moves] = self._byte_aj()[moves[:, 1]] * moves[:, 2] + held_aj[moves[:, 5]] + of_work[moves[:, 7]]
        return found

    def _work_aj(self) -> np.ndarray:
        """object[work] the energy of each kind of work."""
        return np.array([sum(one.energy_aj for one in actions) for actions in self.works], object)

    def _byte_aj(self) -> np.ndarray:
        """object[route] the price of a byte."""
        found = np.zeros(self.program.machine.routing.route_count, np.int64)
        for pairs, aj in self.routes.prices(self.prices):
            np.add.at(found, pairs[:, 0], aj)
        return found.astype(object)

    def total_aj(self) -> int:
        """The energy of all rows."""
        moves, counts = self.program.op.values[self.moves], self.counts
        works = np.zeros(len(self.works), np.int64)
        np.add.at(works, self.work, counts[self.jobs])
        np.add.at(works, moves[:, 7], counts[self.moves])
        routes = np.zeros(self.program.machine.routing.route_count, np.int64)
        np.add.at(routes, moves[:, 1], moves[:, 2] * counts[self.moves])
        held = np.zeros(len(self.held) + 1, np.int64)
        np.add.at(held, moves[:, 5], counts[self.moves])
        used = np.flatnonzero(held[:-1]).tolist()
        by_transfer = sum(int(held[server]) * one.energy_aj for server in used if (one := self.held[server]))
        return _dot(works, self._work_aj()) + _dot(routes, self._byte_aj()) + by_transfer

    def missing(self) -> list[str]:
        """The fields of sheets without a figure that rows need, such as "pe_mmu.energy.tlb_pj"."""
        op, counts = self.program.op.values, self.counts
        moves = self.moves[counts[self.moves] > 0]
        works = np.unique(np.append(self.work[counts[self.jobs] > 0], op[moves, 7])).tolist()
        actions = [action for work in works for action in self.works[work]]
        held = (*self.held, None)
        actions += [one for server in np.unique(op[moves, 5]).tolist() if (one := held[server])]
        found = {(one.part, one.name) for one in actions if one.price is None}
        carried = np.zeros(self.program.machine.routing.route_count, bool)
        carried[op[moves[op[moves, 2] > 0], 1]] = True
        unknown = np.append(~self.prices.known, False)
        for pairs, action in self.routes.actions(self.prices):
            passed = np.unique(action[carried[pairs[:, 0]]])
            found |= {self.prices.actions[one] for one in passed[unknown[passed]].tolist()}
        return sorted(f"{part}.energy.{action}_pj" for part, action in found)


def _dot(counts: np.ndarray, energies: np.ndarray) -> int:
    """The sum of int64[n] counts of object[n] energies, exactly."""
    used = np.flatnonzero(counts)
    return sum(count * energy for count, energy in zip(counts[used].tolist(), energies[used].tolist(), strict=True))


def _held_actions(machine: Machine) -> Sequence[Action | None]:
    """The action of a transfer that holds a server, by server; kept."""
    if _KEPT not in machine.memo:
        machine.memo[_KEPT] = _find_held_actions(machine)
    return machine.memo[_KEPT]


def _find_held_actions(machine: Machine) -> Sequence[Action | None]:
    of_kind: dict[str, Action] = {}
    for kind, (part, action) in HELD.items():
        prices = machine.prices.parts.get(part)
        if prices is not None and action in prices.energy:
            of_kind[kind] = Action(part, action, 1, prices.energy[action])
    return [of_kind.get(kind) for kind in machine.server_kind]


def _pass_routes(machine: Machine, routes: np.ndarray) -> RouteBytes:
    """What the payloads of some routes pass, int64[route]."""
    tables = machine.routing.tables()
    step, of = expand_ranges(tables.start[routes], tables.end[routes])
    station, route = tables.station[step], routes[of]
    link = station < machine.edge_count
    begins = ~link | (tables.before[step] == NONE)
    after_memory = np.zeros(len(step), bool)  # the first link of a read, which leaves the memory
    after_memory[1:] = ~link[:-1] & (of[1:] == of[:-1])
    passed = link & ~begins & ~after_memory
    node = np.column_stack([route[passed], machine.edge_src[station[passed]]])
    at = np.full(len(machine.station_name) + 1, NONE, np.int64)
    for place, terminal in machine.terminals.items():
        at[terminal.first_station] = place
    memory = np.column_stack([route[~link], at[station[~link]]])
    reads = tables.direction[memory[:, 0]] == READ
    filled, drained = _ends(machine, route[link], station[link])
    return RouteBytes(
        np.column_stack([route[link], station[link]]),
        unique_rows(node).rows,
        memory[reads],
        memory[~reads],
        filled,
        drained,
    )


def _ends(machine: Machine, route: np.ndarray, link: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of a route and its requester, int64[n, 2]: those that read, and those that write or send.

    Arguments: the route and the link of each step over a link, int64[step], in the order of routes. What is read comes to the
    requester by the last link, what is written or sent leaves it by the first.
    """
    first = np.flatnonzero(np.diff(route, prepend=-1))
    last = np.append(first[1:] - 1, len(route) - 1)[: len(first)]
    reads = machine.routing.tables().direction[route[first]] == READ
    into = np.column_stack([route[last], machine.edge_dst[link[last]]])
    out_of = np.column_stack([route[first], machine.edge_src[link[first]]])
    return into[reads], out_of[~reads]
