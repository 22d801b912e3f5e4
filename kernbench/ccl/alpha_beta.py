"""The alpha-beta cost model of a machine: lower bounds of the time of messages between neighbours.

alpha is the time of an empty message: propagation of every wire and overhead of every node of the route. beta is the time of
a byte over the slowest link of the route; where a node stores and forwards, it is the sum over the routes before and after
it. Both come from the fields of the machine. The first flit's service at links that are not the slowest is left out, so this is
less than `machine.uncontended_latency`. A PE has as many messages in flight as its DMA has write channels (one by default),
since a channel is held until the last byte has arrived: so `n` bytes in pieces of a slot take the one channel of their sender
n / slot * alpha + n * beta. Closed forms are sums of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.intents import Intent
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.ccl.wiring import Peer, World
    from kernbench.machine.machine import Machine


class Link(NamedTuple):
    """Alpha and beta of the route from one PE to a neighbour."""

    alpha_ns: float
    beta_ns: float  # for one byte


FREE = Link(0.0, 0.0)  # to oneself: nothing is sent


class Cost:
    """The links of an algorithm on one machine, from the working PE `pe` of cube `cube` (or of every cube) of each rank.

    `slot_bytes` is the largest piece in which anything is sent.
    """

    def __init__(
        self,
        machine: Machine,
        neighbours: Callable[[int, int, World], Mapping[str, Peer]],
        world: World,
        sips: Sequence[int],
        cube: int,
        pe: int,
        slot_bytes: int,
    ) -> None:
        self._machine, self._world, self._sips = machine, world, sips
        self._neighbours = neighbours
        self._cube, self._pe, self._slot_bytes = cube, pe, slot_bytes
        self._channels = int(machine.figures["pe_dma.write_channels"])
        self._tables: dict[tuple[int, int], Mapping[str, Peer]] = {}
        self._links: dict[tuple[int, int, int, int], Link] = {}  # the same in all SIPs between PEs of one SIP

    def stream_ns(self, link: Link, nbytes: int) -> float:
        """The time for which `nbytes`, sent piece by piece, keep the sender's channels and the link busy."""
        held = -(-nbytes // self._slot_bytes) * link.alpha_ns + nbytes * link.beta_ns
        return max(held / self._channels, nbytes * link.beta_ns)

    def trip_ns(self, link: Link, nbytes: int) -> float:
        """The latency of the last piece of `nbytes`."""
        last = (nbytes - 1) % self._slot_bytes + 1 if nbytes else 0
        return link.alpha_ns + last * link.beta_ns

    def link(self, rank: int, cube: int, direction: str) -> Link | None:
        """The link from a participant in a direction; None if it has no neighbour there."""
        peer = self.peer(rank, cube, direction)
        if peer is None:
            return None
        key = (0, cube, 0, peer.cube) if peer.rank == rank else (rank, cube, peer.rank, peer.cube)
        if key not in self._links:
            self._links[key] = self._find(*key)
        return self._links[key]

    def peer(self, rank: int, cube: int, direction: str) -> Peer | None:
        """The neighbour of a participant in a direction; None for none."""
        if (rank, cube) not in self._tables:
            self._tables[rank, cube] = self._neighbours(rank, cube, self._world)
        return self._tables[rank, cube].get(direction)

    def links(
        self, direction: str, cubes: Sequence[int] | None = None, ranks: Sequence[int] | None = None
    ) -> list[Link]:
        """The links of all participants (or of some cubes, of some ranks) in a direction, by rank, then cube."""
        world = self._world
        asked = range(world.cubes) if cubes is None else cubes
        of = range(world.ranks) if ranks is None else ranks
        every = (self.link(rank, cube, direction) for rank in of for cube in asked)
        return [link for link in every if link is not None]

    def best(self, *directions: str, cubes: Sequence[int] | None = None) -> Link:
        """The least alpha and the least beta of all links (or of some cubes) in some directions; FREE if there is none."""
        links = [link for direction in directions for link in self.links(direction, cubes)]
        if not links:
            return FREE
        return Link(min(link.alpha_ns for link in links), min(link.beta_ns for link in links))

    def _find(self, rank: int, cube: int, to_rank: int, to_cube: int) -> Link:
        source, target = self._dma(rank, cube), self._dma(to_rank, to_cube)
        edges = self._machine.routing.edges_between(source, target, Intent.PE_DMA)
        return find_link(self._machine, np.array(edges))

    def _dma(self, rank: int, cube: int) -> int:
        cube = cube if self._world.cubes > 1 else self._cube
        return self._machine.places.pe(self._sips[rank], cube, self._pe).dma


def find_link(machine: Machine, edges: np.ndarray, flows: np.ndarray | None = None) -> Link:
    """Alpha and beta of a route (int64[edge]); `flows` (int64 by edge) are the messages that share each link of the machine."""
    between = machine.edge_src[edges[1:]]
    read_figures(machine, edges, between)
    wires = int(machine.stations.propagation_fs[edges].sum())
    nodes = int(machine.node_overhead_fs[between].sum())
    # By link: the store-and-forward nodes before it.
    stages = np.concatenate([[0], np.cumsum(machine.node_store_and_forward[between])])
    fs_per_flit = machine.stations.fs_per_flit[edges] * (1 if flows is None else flows[edges])
    paces = [int(fs_per_flit[stages == stage].max()) for stage in range(stages[-1] + 1)]
    return Link((wires + nodes) / FS_PER_NS, sum(paces) / machine.flit_bytes / FS_PER_NS)


def read_figures(machine: Machine, stations: np.ndarray, nodes: np.ndarray) -> None:
    """Read the figures that the times of some stations and nodes follow from.

    Their arrays do not tell that they are read. A recording has to know which figures decided what a bench issues.
    """
    provenance, figures = machine.provenance, machine.figures
    found: set[int] = {
        *provenance.service[stations].tolist(),
        *provenance.overhead[stations].tolist(),
        *provenance.node[nodes].tolist(),
    }
    origins = [provenance.sources[source].origin for source in found - {-1}]
    for origin in origins:
        if origin is not None and origin.field in figures:
            figures[origin.field]
