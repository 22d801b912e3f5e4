"""The alpha-beta time model of an algorithm: the times of what its kernels do, for rehearsals and the choice that follows.

A bound leaves out what it cannot be sure of; this is for estimates, and has what a kernel does for a piece: loads, slots,
sums and stores, each without contention, and links that several messages share. Everything follows from the fields of the
machine, so the same run chooses the same. Results go to copies by two kernels, whose closed forms are here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.ccl.alpha_beta import Cost, find_link, read_figures
from kernbench.dtypes import bits, itemsize
from kernbench.machine.intents import Intent
from kernbench.program.program import unrounded_fs
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.ccl.config import BufferKind
    from kernbench.ccl.wiring import Peer, World
    from kernbench.machine.machine import Machine


MOST_RANKS = 16  # whose links are all looked at: a route takes long to find
SAMPLE_RANKS = 4  # that stand for all where there are more


class SharedLink(NamedTuple):
    """A link as those share it that send at the same time, all of them the same."""

    alpha_ns: float
    beta_ns: float  # for one byte of messages that begin together: each waits for the others where a node stores them
    pace_ns: float  # for one byte of many messages in a row, which spread over the route and wait at its slowest wire
    flit_ns: float  # of the first flit, at every wire of the route but the slowest
    own_ns: float  # for one byte of a message that meets no other
    wire: int  # the link of the machine that is busiest


class PieceTimes(NamedTuple):
    """What a PE needs for one piece, in ns."""

    call: float  # to begin anything: the scheduler
    lead: float  # of a load or store, before it gets to the DMA
    load: float
    store: float
    take: float  # of a message that has arrived: its slot is read
    combine: float  # with another piece
    leave: float  # of a message, before it gets to the DMA: the queue
    settle: float  # of a message, after its last byte: the slot is written


class TimeModel(Cost):
    """The links of an algorithm, as its participants share them, and the work of their PEs.

    `cubes` and `pes` are those that work on each SIP; where the world has one cube, each of them is a collective of its own.
    """

    def __init__(
        self,
        machine: Machine,
        neighbours: Callable[[int, int, World], Mapping[str, Peer]],
        world: World,
        sips: Sequence[int],
        cubes: Sequence[int],
        pes: Sequence[int],
        kind: BufferKind,
        dtype: str,
        credit_bytes: int,
        slot_bytes: int = 1,
    ) -> None:
        super().__init__(machine, neighbours, world, sips, cubes[0], pes[0], slot_bytes)
        self._cubes, self._pes, self._kind, self._dtype = cubes, pes, kind, dtype
        self._credit_bytes = credit_bytes
        self._crowds: dict[tuple[str, frozenset[tuple[int, int]]], dict[tuple[int, int], SharedLink]] = {}
        self._pieces: dict[int, PieceTimes] = {}

    @property
    def channels(self) -> int:
        """The messages that a PE has under way at a time."""
        return self._channels

    def shared(self, rank: int, cube: int, direction: str, senders: frozenset[tuple[int, int]]) -> SharedLink:
        """The link of a participant in a direction while all `senders`, as (rank, cube), send in it at once.

        Where cubes and PEs are collectives of their own, it is the slowest of them. What stays inside a SIP is the same in all.
        """
        key = direction, senders
        if key not in self._crowds:
            self._crowds[key] = self._find_crowd(direction, senders)
        crowd, peer = self._crowds[key], self.peer(rank, cube, direction)
        assert peer is not None
        sample = rank if self._world.ranks <= MOST_RANKS else rank % SAMPLE_RANKS
        at = (0 if peer.rank == rank else sample), cube
        if at not in crowd:  # nobody of those who stand for all sends here
            routes = self._routes(rank, cube, direction)
            crowd[at] = self._slowest(routes, np.ones(self._machine.edge_count, np.int64))
        return crowd[at]

    def between(self, source: tuple[int, int], target: tuple[int, int]) -> SharedLink:
        """The link between two PEs of the first SIP, each as (cube, PE), that nobody shares."""
        places, sip = self._machine.places, self._sips[0]
        ends = places.pe(sip, *source).dma, places.pe(sip, *target).dma
        edges = np.array(self._machine.routing.edges_between(*ends, Intent.PE_DMA), np.int64)
        return self._find_shared(edges, np.ones(self._machine.edge_count, np.int64))

    def _find_crowd(self, direction: str, senders: frozenset[tuple[int, int]]) -> dict[tuple[int, int], SharedLink]:
        routes: dict[tuple[int, int], list[np.ndarray]] = {}
        flows = np.zeros(self._machine.edge_count, np.int64)
        ranks = self._world.ranks
        most = ranks if ranks <= MOST_RANKS else SAMPLE_RANKS
        for rank, cube in sorted(senders):
            peer = self.peer(rank, cube, direction)
            if peer is None or (rank >= most and peer.rank != rank):
                continue
            at = (0 if peer.rank == rank else rank), cube
            if at in routes:
                continue
            found = routes[at] = self._routes(rank, cube, direction)
            for edges in found:
                flows[edges] += 1
        return {at: self._slowest(found, flows) for at, found in routes.items()}

    def _slowest(self, routes: Sequence[np.ndarray], flows: np.ndarray) -> SharedLink:
        """What is slowest of each kind on some routes."""
        found = [self._find_shared(edges, flows) for edges in routes]
        wire = max(found, key=lambda link: link.pace_ns).wire
        return SharedLink(*map(max, zip(*found, strict=True)))._replace(wire=wire)

    def _find_shared(self, edges: np.ndarray, flows: np.ndarray) -> SharedLink:
        """The link of a route whose wires pass so many messages."""
        flits, alone = self._machine.stations.fs_per_flit[edges], find_link(self._machine, edges)
        busy = flows[edges] * flits
        byte_ns = 1 / self._machine.flit_bytes / FS_PER_NS
        return SharedLink(
            alpha_ns=alone.alpha_ns,
            beta_ns=find_link(self._machine, edges, flows).beta_ns,
            pace_ns=max(alone.beta_ns, int(busy.max()) * byte_ns),
            flit_ns=int(flits.sum() - flits.max()) / FS_PER_NS,
            own_ns=alone.beta_ns,
            wire=int(edges[busy.argmax()]),
        )

    def _routes(self, rank: int, cube: int, direction: str) -> list[np.ndarray]:
        """The routes (int64[edge]) in a direction from a participant: of every PE and cube that is one at the same time."""
        machine, places, world = self._machine, self._machine.places, self._world
        apart, found = world.cubes == 1, list[np.ndarray]()
        for own in self._cubes if apart else (cube,):
            for pe in self._pes:
                peer = self._neighbours(rank, cube, world.beside(own, pe)).get(direction)
                if peer is not None:
                    source = places.pe(self._sips[rank], own, pe).dma
                    target = places.pe(self._sips[peer.rank], own if apart else peer.cube, pe).dma
                    found.append(np.array(machine.routing.edges_between(source, target, Intent.PE_DMA)))
        return found

    def piece(self, nbytes: int) -> PieceTimes:
        """The work for a piece of some bytes."""
        if nbytes not in self._pieces:
            self._pieces[nbytes] = self._find_piece(nbytes)
        return self._pieces[nbytes]

    def flight_ns(self, link: SharedLink, nbytes: int) -> float:
        """From the call that sends a piece until it has arrived."""
        piece = self.piece(nbytes)
        return piece.call + piece.leave + self.first_ns(link, nbytes) + nbytes * link.beta_ns + piece.settle

    def credit_ns(self, link: SharedLink) -> float:
        """For how long the credit of a slot is on its way back."""
        return link.alpha_ns + self._credit_bytes * link.pace_ns

    def gap_ns(self, link: SharedLink, nbytes: int) -> float:
        """For how long a piece keeps its sender's channels and the link busy."""
        sent = nbytes * link.pace_ns
        return max((self.first_ns(link, nbytes) + sent) / self._channels, sent)

    def first_ns(self, link: SharedLink, nbytes: int) -> float:
        """Until the first flit has arrived, but for its service at the slowest wire."""
        flits = min(nbytes / self._machine.flit_bytes, 1.0)
        return link.alpha_ns + flits * link.flit_ns

    def tree_ns(
        self,
        links: Sequence[SharedLink],
        depth: int,
        fan: int,
        pieces: int,
        nbytes: int,
        window: int,
        *,
        add: bool = True,
    ) -> float:
        """Pieces that go up a tree one after the other, with a sum of `fan` terms beside a PE's own, or as many copies down it.

        The first gets through `depth` levels, and the others follow at the pace of the node with the largest fan.
        """
        piece = self.piece(nbytes)
        if depth < 1 or not links or not pieces:
            return 0.0
        flight, gap = self._mean_flight_ns(links, nbytes), self._mean_gap_ns(links, nbytes)
        turn = piece.take + (piece.combine if add else 0.0)
        others = (fan - 1) * (turn if add else gap)  # which the first piece waits for at the node with the largest fan
        pace = self.tree_pace_ns([(links, fan)], nbytes, window, add=add)
        return piece.load + depth * (flight + turn) + others + (pieces - 1) * pace

    def multicasts_ns(
        self,
        steps: Sequence[SharedLink],
        depth: int,
        last: Sequence[SharedLink],
        pieces: int,
        nbytes: int,
        window: int,
    ) -> float:
        """Pieces that go down `depth` levels over links such as `steps`, and over all links of `last` from each node.

        A node sends a piece over all its links at once, so its channel is busy for the slowest of them, and for the store of
        the piece where it has come from another node.
        """
        piece, links = self.piece(nbytes), [*steps, *last]
        if not links or not pieces:
            return 0.0
        flight = max((self.flight_ns(link, nbytes) for link in steps), default=0.0) + piece.take
        ends = max((self.flight_ns(link, nbytes) for link in last), default=0.0) + piece.take
        credit = max(link.alpha_ns + self._credit_bytes * link.pace_ns for link in links)
        round_trip = max(self.flight_ns(link, nbytes) for link in links) + piece.take + credit
        channel = max(self.gap_ns(link, nbytes) for link in links)
        if depth:  # the nodes of the last level have no step before them
            onward = [*(steps if depth > 1 else ()), *last]
            channel = max(channel, max((self.gap_ns(link, nbytes) for link in onward), default=0.0) + piece.store)
        pace = max(channel, piece.take + piece.call + piece.store, round_trip / window)
        return piece.load + depth * flight + ends + (pieces - 1) * pace

    def tree_pace_ns(
        self, children: Sequence[tuple[Sequence[SharedLink], int]], nbytes: int, window: int, *, add: bool
    ) -> float:
        """The time of each further piece at a node with so many children over such links: its PE's work, or its channel's."""
        piece = self.piece(nbytes)
        fan, turn = sum(count for _, count in children), piece.take + (piece.combine if add else 0.0)
        gaps = [(self._mean_gap_ns(links, nbytes), count) for links, count in children]
        channel = max(gap for gap, _ in gaps) if add else sum(gap * count for gap, count in gaps)
        work = piece.load + piece.call + fan * turn if add else piece.take + fan * piece.call + piece.store
        round_trip = max(
            self._mean_flight_ns(links, nbytes) + turn + links[0].alpha_ns + self._credit_bytes * links[0].pace_ns
            for links, _ in children
        )
        return max(channel, work, round_trip / window)

    def _mean_flight_ns(self, links: Sequence[SharedLink], nbytes: int) -> float:
        return sum(self.flight_ns(link, nbytes) for link in links) / len(links)

    def _mean_gap_ns(self, links: Sequence[SharedLink], nbytes: int) -> float:
        return sum(self.gap_ns(link, nbytes) for link in links) / len(links)

    @cached_property
    def _memory(self) -> tuple[float, float, float]:
        """An access to the PE's own slice of HBM: the time of no bytes read and written, and of a byte."""
        machine = self._machine
        place = machine.places.pe(self._sips[0], self._cubes[0], self._pes[0])
        node = machine.places.hbm(place.sip, place.cube, place.pe)
        link = find_link(machine, np.array(machine.routing.edges_between(place.dma, node, Intent.PE_DMA)))
        terminal = machine.terminals[node]
        read_figures(machine, np.array([terminal.first_station]), np.array([], np.int64))
        flit_fs = int(machine.stations.fs_per_flit[terminal.first_station])
        own_ns = flit_fs / terminal.stripes / machine.flit_bytes / FS_PER_NS
        empty = link.alpha_ns + (terminal.overhead_fs + flit_fs) / FS_PER_NS
        return empty, empty, max(link.beta_ns, own_ns)

    def _find_piece(self, nbytes: int) -> PieceTimes:
        costs, kind = self._machine.costs, self._kind
        read_ns, write_ns, byte_ns = self._memory
        call = self._ns(("pe_scheduler.overhead", 1))
        lead = call + self._ns(("pe_mmu.tlb", 1), ("pe_dma.overhead", 1))
        if kind == "tcm":
            settle, read = self._ns(*costs.write(nbytes)), self._ns(*costs.read(nbytes))
        else:
            bank = (f"pe_ipcq.{kind}_byte", nbytes), (f"pe_ipcq.{kind}_hop_byte", nbytes), (f"pe_ipcq.{kind}_access", 1)
            settle = read = self._ns(*bank)
        elements = nbytes // itemsize(self._dtype)
        add = (*costs.fetch(2 * nbytes), *costs.elements("add", elements, bits(self._dtype)), *costs.store(nbytes))
        return PieceTimes(
            call=call,
            lead=lead,
            load=lead + read_ns + nbytes * byte_ns,
            store=lead + write_ns + nbytes * byte_ns,
            take=call + read,
            combine=call + self._ns(*add),
            leave=self._ns(("pe_ipcq.overhead", 1), ("pe_dma.overhead", 1)),
            settle=settle,
        )

    def _ns(self, *terms: tuple[str, float]) -> float:
        return unrounded_fs(terms, self._machine.figures) / FS_PER_NS
