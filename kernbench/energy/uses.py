"""Uses: how often each action was done at each place of a machine, and what that took.

A place is a node, or a link behind the nodes. An action that has no figure has an energy of 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.energy.byte_prices import NO_ACTION
from kernbench.program.ops import NONE, Op

if TYPE_CHECKING:
    from kernbench.energy.row_energies import RowEnergies
    from kernbench.machine.machine import Machine


class Use(NamedTuple):
    """Some actions of one kind at one place; `energy_aj` is 0 and `priced` False without a figure."""

    place: int
    part: str
    action: str
    amount: float  # actions: bytes, flop, jobs, of wire bytes
    energy_aj: int
    priced: bool


class ActionEnergy(NamedTuple):
    """All actions of a kind on a machine."""

    part: str
    action: str
    amount: float
    energy_aj: int | None  # None: no figure


@dataclass(frozen=True, slots=True)
class Uses:
    """The uses of a run, or of some of its rows."""

    machine: Machine
    uses: tuple[Use, ...]

    @classmethod
    def of(cls, rows: RowEnergies, counted: np.ndarray | None = None) -> Uses:
        """Those of all rows of a program, or of bool[row]."""
        counts = rows.program.op.counts(counted)
        return cls(rows.program.machine, (*_job_uses(rows, counts), *_byte_uses(rows, counts)))

    @property
    def energy_aj(self) -> int:
        """The energy of all."""
        return sum(use.energy_aj for use in self.uses)

    def by_action(self) -> list[ActionEnergy]:
        """By part and action, the most energy first."""
        found: dict[tuple[str, str], tuple[float, int | None]] = {}
        for use in self.uses:
            amount, energy = found.get((use.part, use.action), (0, 0))
            found[use.part, use.action] = amount + use.amount, (energy or 0) + use.energy_aj if use.priced else None
        listed = [ActionEnergy(*key, *value) for key, value in found.items()]
        return sorted(listed, key=lambda one: (-(one.energy_aj or 0), one.part, one.action))

    def by_place(self) -> dict[int, int]:
        """aJ of each place that had any."""
        found: dict[int, int] = {}
        for use in self.uses:
            found[use.place] = found.get(use.place, 0) + use.energy_aj
        return found


def _job_uses(rows: RowEnergies, counts: np.ndarray) -> Iterator[Use]:
    """The uses of jobs, of delays, and of transfers as far as they go by number."""
    op, machine, places = rows.program.op.values, rows.program.machine, Places(rows)
    counted = counts[rows.jobs] > 0
    jobs = rows.jobs[counted]
    server = np.where(op[jobs, 0] == Op.EXEC, op[jobs, 1], NONE)
    thread = np.where(server == NONE, rows.program.op_thread.values[jobs], NONE)
    moves = rows.moves[counts[rows.moves] > 0]
    everything = [(server, thread, rows.work[counted], counts[jobs])]
    everything.append((op[moves, 5], rows.program.op_thread.values[moves], op[moves, 7], counts[moves]))
    total: dict[tuple[int, int, int], int] = {}
    for columns in everything:
        for *key, count in zip(*(column.tolist() for column in columns), strict=True):
            at = (key[0], key[1] if key[0] == NONE else NONE, key[2])
            total[at] = total.get(at, 0) + count
    for (of_server, of_thread, work), count in total.items():
        for action in rows.works[work]:
            place = places.find(of_server, of_thread, action.part)
            energy = count * action.energy_aj
            yield Use(place, action.part, action.name, count * action.amount, energy, action.price is not None)
    held = np.zeros(len(machine.server_name) + 1, np.int64)
    np.add.at(held, op[moves, 5], counts[moves])
    for number, action in enumerate(rows.held):
        if action is not None and held[number]:
            count = int(held[number])
            place = places.find(number, NONE, action.part)
            yield Use(place, action.part, action.name, count, count * action.energy_aj, action.price is not None)


def _byte_uses(rows: RowEnergies, counts: np.ndarray) -> Iterator[Use]:
    """The uses of bytes: on links, through nodes, at memories and beside requesters."""
    op, prices, machine = rows.program.op.values, rows.prices, rows.program.machine
    route_bytes = np.zeros(machine.routing.route_count, np.int64)
    np.add.at(route_bytes, op[rows.moves, 1], op[rows.moves, 2] * counts[rows.moves])
    routes, nodes = rows.routes, machine.node_count
    for pairs, action, first in (
        (routes.link, prices.edge, nodes),
        (routes.node, prices.node, 0),
        (routes.read, prices.read, 0),
        (routes.write, prices.write, 0),
        (routes.filled, prices.filled, 0),
        (routes.drained, prices.drained, 0),
    ):
        passed = np.zeros(len(action), np.int64)
        np.add.at(passed, pairs[:, 1], route_bytes[pairs[:, 0]])
        used = np.flatnonzero((passed > 0) & (action != NO_ACTION))
        each = prices.edge_aj if first else prices.of(action)
        for at, amount, number, aj in zip(
            used.tolist(), passed[used].tolist(), action[used].tolist(), each[used].tolist(), strict=True
        ):
            part, name = prices.actions[number]
            yield Use(first + at, part, name, amount, amount * aj, bool(prices.known[number]))


class Places:
    """The node of an action of a part: the part of this name beside the server or the thread, else the node of that."""

    def __init__(self, rows: RowEnergies) -> None:
        self._machine, self._threads = rows.program.machine, rows.program.threads
        self._known: dict[tuple[str, str], int] = {}

    def find(self, server: int, thread: int, part: str) -> int:
        name = self._machine.server_name[server] if server != NONE else self._threads[thread].name.partition("/")[0]
        if (name, part) not in self._known:
            self._known[name, part] = self._search(name, part)
        return self._known[name, part]

    def _search(self, name: str, part: str) -> int:
        nodes, path = self._machine.node_id, name
        while path:
            beside = f"{path.rpartition('.')[0]}.{part}".lstrip(".")
            for candidate in (beside, path):
                if candidate in nodes:
                    return nodes[candidate]
            path = path.rpartition(".")[0]
        return 0
