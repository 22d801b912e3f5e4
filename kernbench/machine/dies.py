"""Dies of machines: the die of each part, and how large each is. A family says it of its own (`<family>.dies`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.machine.families.registry import FAMILIES
from kernbench.machine.node_parts import parts_of_nodes

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


class Die(NamedTuple):
    """A die: its kind, its name, and the package that it is in."""

    kind: str
    name: str
    package: str


class Job(NamedTuple):
    """A job of a machine: the kind of its server ("" of what a processor does itself), its operation, what takes its time."""

    server: str
    operation: str
    terms: Sequence[tuple[str, float]]  # figures with their amounts
    figures: Mapping[str, float]  # of the machine


Actions = Callable[[Job], Sequence[tuple[str, str, float]]]  # part, action and amount


class DieSize(NamedTuple):
    """The size of a kind of die, and the lengths of its edges by what the names of ports there begin with."""

    mm2: float
    shores_mm: Mapping[str, float]


class Dies(NamedTuple):
    """The dies of a family: sizes by kind, of a checked topology, where it gives them; the die of a node by its name.

    A switch or a host is on no die but on the board.
    """

    sizes: Callable[[Any], Mapping[str, DieSize]]
    find: Callable[[str], Die | None]
    parts: Mapping[str, str] = {}  # the part whose prices a kind of node has, where no time says so


class MachineDies(NamedTuple):
    """The dies of one machine: all of them, and int32[node] the die of each node, -1 on the board."""

    dies: tuple[Die, ...]
    of_node: np.ndarray


def priced_parts(machine: Machine) -> list[str]:
    """The part whose prices each node has; "" for none."""
    given = FAMILIES[machine.family].dies.parts
    return [given.get(kind, part) for kind, part in zip(machine.node_kind, parts_of_nodes(machine), strict=True)]


def find_dies(machine: Machine) -> MachineDies:
    """The dies of a machine, in the order of its nodes."""
    find, number = FAMILIES[machine.family].dies.find, dict[Die, int]()
    found = [find(name) for name in machine.node_name]
    of_node = [-1 if die is None else number.setdefault(die, len(number)) for die in found]
    return MachineDies(tuple(number), np.array(of_node, np.int32))
