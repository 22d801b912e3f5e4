"""The energy of each row of a program: of its job, or of the bytes of its transfer, exactly.

Rows that are equal cost the same, so what is found is of the distinct rows (`EncodedRows`). Rows at which nothing happens cost
nothing. A message of no bytes (a request, an acknowledgement) costs its control alone; a flit that is not full costs its bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import expand_ranges
from kernbench.energy.byte_prices import BytePrices, find_byte_prices
from kernbench.energy.job_actions import Action, find_works
from kernbench.machine.intents import RouteKind
from kernbench.program.ops import NONE, Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program

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

    def energies_aj(self) -> np.ndarray:
        """object[entry] the energy of each distinct row, Python integers."""
        op = self.program.op.values
        found = np.zeros(len(op), object)
        of_work = np.array([sum(one.energy_aj for one in actions) for actions in self.works], object)
        found[self.jobs] = of_work[self.work]
        byte_aj = np.zeros(self.program.machine.routing.route_count, object)
        for pairs, aj in self.routes.prices(self.prices):
            np.add.at(byte_aj, pairs[:, 0], aj.astype(object))
        moves = op[self.moves]
        held_aj = np.array([0 if one is None else one.energy_aj for one in (*self.held, None)], object)
        found[self.moves] = byte_aj[moves[:, 1]] * moves[:, 2] + held_aj[moves[:, 5]] + of_work[moves[:, 7]]
        return found

    def total_aj(self) -> int:
        """The energy of all rows."""
        counts = self.program.op.counts()
        used = np.flatnonzero(counts)
        return int(np.dot(self.energies_aj()[used], counts[used].astype(object))) if len(used) else 0

    def missing(self) -> list[str]:
        """The fields of sheets without a figure that rows need, such as "pe_mmu.energy.tlb_pj"."""
        op, counts = self.program.op.values, self.program.op.counts()
        moves = self.moves[counts[self.moves] > 0]
        works = np.unique(np.append(self.work[counts[self.jobs] > 0], op[moves, 7])).tolist()
        actions = [action for work in works for action in self.works[work]]
        actions += [one for server in np.unique(op[moves, 5]).tolist() if (one := (*self.held, None)[server])]
        found = {(one.part, one.name) for one in actions if one.price is None}
        carried = np.zeros(self.program.machine.routing.route_count, bool)
        carried[op[moves[op[moves, 2] > 0], 1]] = True
        unknown = np.append(~self.prices.known, False)
        for pairs, action in self.routes.actions(self.prices):
            passed = np.unique(action[carried[pairs[:, 0]]])
            found |= {self.prices.actions[one] for one in passed[unknown[passed]].tolist()}
        return sorted(f"{part}.energy.{action}_pj" for part, action in found)


def _held_actions(machine: Machine) -> Sequence[Action | None]:
    """The action of a transfer that holds a server, by server."""
    found: list[Action | None] = []
    for kind in machine.server_kind:
        part, action = HELD.get(kind, ("", ""))
        prices = machine.prices.parts.get(part)
        if prices is None or action not in prices.energy:
            found.append(None)
        else:
            found.append(Action(part, action, 1, prices.energy[action]))
    return found


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
    reads = tables.direction[memory[:, 0]] == 0
    filled, drained = _ends(machine, routes)
    return RouteBytes(
        np.column_stack([route[link], station[link]]),
        np.unique(node, axis=0),
        memory[reads],
        memory[~reads],
        filled,
        drained,
    )


def _ends(machine: Machine, routes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of a route and its requester, int64[n, 2]: those that read, and those that write or send."""
    keys = [machine.routing.key(int(route)) for route in routes]
    sources = np.array([key[0] for key in keys], np.int64)
    reads = np.array([key[3] == RouteKind.READ for key in keys], bool)
    pairs = np.column_stack([routes, sources]) if len(routes) else np.zeros((0, 2), np.int64)
    return pairs[reads], pairs[~reads]
