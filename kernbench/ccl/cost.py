"""Alpha and beta of a machine: what a message between two neighbours cannot take less than.

alpha is the time of an empty message: every wire's propagation and every node's overhead on the way, and what its slot costs to
write and to read beside the bytes. beta is the time of a byte at the slowest link of the way. Both are the machine's own
figures. A byte that is sent after b others cannot be there before b * beta + alpha, so closed forms made of them are bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kernbench.machine.intents import Intent
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.ccl.wiring import Peer, World
    from kernbench.machine.machine import Machine


class Link(NamedTuple):
    """The way from one PE to a neighbour."""

    alpha_ns: float
    beta_ns: float  # a byte


FREE = Link(0.0, 0.0)  # to oneself: nothing is sent


class Cost:
    """The links of an algorithm on one machine, from the working PE `pe` of cube `cube` (or of every cube) of each rank."""

    def __init__(
        self,
        machine: Machine,
        neighbours: Callable[[int, int, World], Mapping[str, Peer]],
        world: World,
        sips: Sequence[int],
        cube: int,
        pe: int,
        slot_ns: float = 0.0,
    ) -> None:
        self._machine, self._world, self._sips = machine, world, sips
        self._neighbours = neighbours
        self._cube, self._pe, self._slot_ns = cube, pe, slot_ns
        self._tables: dict[tuple[int, int], Mapping[str, Peer]] = {}
        self._found: dict[tuple[int, int, str], Link | None] = {}

    def link(self, rank: int, cube: int, direction: str) -> Link | None:
        """The way from a participant in a direction; None where it has no neighbour."""
        key = (rank, cube, direction)
        if key not in self._found:
            self._found[key] = self._find(*key)
        return self._found[key]

    def links(self, direction: str) -> list[Link]:
        """The ways of all participants in a direction, in the order (rank, cube), of those that have one."""
        world = self._world
        every = (self.link(rank, cube, direction) for rank in range(world.ranks) for cube in range(world.cubes))
        return [link for link in every if link is not None]

    def best(self, *directions: str) -> Link:
        """The least alpha and the least beta of all ways in some directions; FREE if there is none."""
        links = [link for direction in directions for link in self.links(direction)]
        if not links:
            return FREE
        return Link(min(link.alpha_ns for link in links), min(link.beta_ns for link in links))

    def _find(self, rank: int, cube: int, direction: str) -> Link | None:
        if (rank, cube) not in self._tables:
            self._tables[rank, cube] = self._neighbours(rank, cube, self._world)
        peer = self._tables[rank, cube].get(direction)
        if peer is None:
            return None
        machine = self._machine
        edges = machine.routing.edges_between(self._dma(rank, cube), self._dma(peer.rank, peer.cube), Intent.PE_DMA)
        wires = int(machine.stations.propagation_fs[edges].sum())
        nodes = int(machine.node_overhead_fs[machine.edge_src[edges[1:]]].sum())
        slowest = max(int(machine.stations.fs_per_flit[edge]) for edge in edges)
        return Link((wires + nodes) / FS_PER_NS + self._slot_ns, slowest / machine.flit_bytes / FS_PER_NS)

    def _dma(self, rank: int, cube: int) -> int:
        cube = cube if self._world.cubes > 1 else self._cube
        return self._machine.places.pe(self._sips[rank], cube, self._pe).dma
