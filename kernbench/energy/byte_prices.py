"""The price of a byte on each link, through each node and at each memory of a machine, in attojoules.

A link between two dies is a crossing: its price is that of its kind, whatever its length. A link on a die is wire, whose price
goes with its length. What a requester reads or writes passes the scratchpad beside it, if there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.dies import find_dies, priced_parts
from kernbench.machine.intents import EdgeKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernbench.machine.machine import Machine
    from kernbench.machine.price_list import PriceList

CROSSINGS = {EdgeKind.UCIE: ("ucie",), EdgeKind.PCIE: ("pcie_ep", "npu_host"), EdgeKind.SIP: ("sip_link",)}
# The part with the scratchpad at a requester, by the kind of its node.
BESIDE = {"pe_dma": "pe_tcm", "interface": "tensix_core", "aic": "aic", "aiv": "aiv"}
WIRE, CROSS, PASS, READ, WRITE = "wire", "crossing_byte", "byte", "read_byte", "write_byte"
TECHNOLOGY = "technology"
NO_ACTION = -1
_KEPT = "byte prices"


class BytePrices(NamedTuple):
    """Actions of bytes. An action is a place in `actions`, (part, action, price); NO_ACTION is free."""

    actions: Sequence[tuple[str, str]]  # part and action
    price_aj: np.ndarray  # int64[action] of a byte, for wire of a byte and mm; 0 where there is none
    known: np.ndarray  # bool[action] whether there is a figure
    edge: np.ndarray  # int64[edge] its action
    edge_aj: np.ndarray  # int64[edge] the price of a byte
    node: np.ndarray  # int64[node] of bytes that pass
    read: np.ndarray  # int64[node] of bytes that a memory there gives
    write: np.ndarray  # int64[node]
    filled: np.ndarray  # int64[node] of bytes that a requester writes to what is beside it
    drained: np.ndarray  # int64[node] of those that it reads there

    def of(self, action: np.ndarray) -> np.ndarray:
        """int64[] the price of a byte of actions, 0 for NO_ACTION."""
        return np.append(self.price_aj, 0)[action]


class _Actions:
    """The actions found so far, by number."""

    def __init__(self, prices: PriceList) -> None:
        self._prices = prices
        self.number: dict[tuple[str, str], int] = {}

    def find(self, part: str, action: str) -> int:
        """The number of an action, or NO_ACTION for one that the part does not have."""
        found = self._prices.parts.get(part)
        if found is None or action not in found.energy:
            return NO_ACTION
        return self.number.setdefault((part, action), len(self.number))

    def price(self, part: str, action: str) -> int | None:
        return self._prices.wire_aj_mm if part == TECHNOLOGY else self._prices.find(part, action)


def find_byte_prices(machine: Machine) -> BytePrices:
    """The prices of bytes on a machine; kept."""
    if _KEPT not in machine.memo:
        machine.memo[_KEPT] = _find(machine)
    return machine.memo[_KEPT]


def _find(machine: Machine) -> BytePrices:
    actions, parts = _Actions(machine.prices), priced_parts(machine)
    edge = _edge_actions(machine, actions)

    def of_nodes(action: str, wanted: Sequence[str]) -> np.ndarray:
        by_part = {part: actions.find(part, action) if part else NO_ACTION for part in dict.fromkeys(wanted)}
        return np.array([by_part[part] for part in wanted], np.int64)

    memories = [part if node in machine.terminals else "" for node, part in enumerate(parts)]
    beside = [BESIDE.get(kind, "") for kind in machine.node_kind]
    nodes = [
        of_nodes(action, wanted)
        for action, wanted in ((PASS, parts), (READ, memories), (WRITE, memories), (WRITE, beside), (READ, beside))
    ]
    found = [actions.price(*one) for one in actions.number]
    price_aj = np.array([price or 0 for price in found], np.int64)
    edge_aj = np.append(price_aj, 0)[edge]
    wire = edge == actions.number.get((TECHNOLOGY, WIRE), -2)
    edge_aj[wire] = [
        round(int(aj) * int(um) / 1000) for aj, um in zip(edge_aj[wire], machine.edge_um[wire], strict=True)
    ]
    known = np.array([price is not None for price in found], bool)
    return BytePrices(tuple(actions.number), price_aj, known, edge, edge_aj, *nodes)


def _edge_actions(machine: Machine, actions: _Actions) -> np.ndarray:
    """int64[edge] the action of a byte on each link."""
    die = find_dies(machine).of_node
    crosses = die[machine.edge_src] != die[machine.edge_dst]
    found = np.full(machine.edge_count, NO_ACTION, np.int64)
    if machine.prices.wire_aj_mm is not None:
        found[~crosses & (machine.edge_um > 0)] = actions.number.setdefault((TECHNOLOGY, WIRE), len(actions.number))
    for kind, parts in CROSSINGS.items():
        part = next((part for part in parts if part in machine.prices.parts), "")
        found[crosses & (machine.edge_kind == kind)] = actions.find(part, CROSS)
    return found
