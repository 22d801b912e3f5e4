"""Queues between PEs: who a PE's neighbours are by direction, and what is known of each queue while kernels are lowered.

A queue leads from one PE, for which it has a direction, to another, which calls the way back by the opposite direction. Its
slots are at the receiving end. All counting is from the beginning, never down: message k may be sent when k - slots have been
given back and is there when k + 1 have arrived, so both ends of a recorded kernel know what to wait for before anything runs.
Slots are given back in the order of their messages, whatever the order in which those are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kernbench.errors import InputError, suggest
from kernbench.machine.intents import Intent, RouteKind
from kernbench.machine.places import pe_path
from kernbench.tl.credit import credit_terms
from kernbench.tl.watch import Watcher

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.places import PePlace
    from kernbench.program.program import Program
    from kernbench.replay.mailbox import Mailbox

LEVELS = ("", "intra_", "global_")  # between cubes, between the PEs of a cube, between SIPs
DIRECTIONS = tuple(level + side for level in LEVELS for side in "NSEW")
TIERS = ("tcm", "sram", "hbm")
N_SLOTS, SLOT_BYTES, CREDIT_BYTES = 4, 4096, 16


@dataclass(frozen=True, slots=True)
class Ring:
    """A neighbour of a PE, and the ring of slots in which messages from it land; those to it land in one like it.

    `opposite` is the direction in which this PE is for the neighbour, `tier` the memory of the slots.
    Errors: InputError for a tier or a size that cannot be.
    """

    sip: int
    cube: int
    pe: int
    opposite: str
    n_slots: int = N_SLOTS
    slot_bytes: int = SLOT_BYTES
    tier: Literal["tcm", "sram", "hbm"] = "tcm"
    credit_bytes: int = CREDIT_BYTES

    def __post_init__(self) -> None:
        if self.tier not in TIERS:
            raise InputError(f"slots cannot lie in {self.tier!r}{suggest(str(self.tier), TIERS)}")
        for name, least in (("n_slots", 1), ("slot_bytes", 1), ("credit_bytes", 0)):
            if getattr(self, name) < least:
                raise InputError(f"a ring of slots has {name}={getattr(self, name)}; give {least} or more")

    @property
    def nbytes(self) -> int:
        """Bytes of all slots."""
        return self.n_slots * self.slot_bytes


NeighbourTable = Mapping[str, Ring]  # of one PE, by direction
Where = tuple[int, int, int]  # sip, cube, pe
PlaceRing = Callable[
    [Where, Ring], int
]  # finds room for a ring of a PE; answers where it begins in the memory of its tier
Terms = tuple[tuple[str, float], ...]


class Queue:
    """One queue between two PEs, and how many messages kernels have put in and taken out so far."""

    __slots__ = (
        "_durations",
        "_program",
        "_returned",
        "_taken",
        "arrived",
        "credit",
        "credited",
        "first_address",
        "home",
        "name",
        "read",
        "received",
        "ring",
        "route",
        "sent",
        "sizes",
        "source",
        "target",
        "write",
    )

    def __init__(
        self, program: Program, source: Where, direction: str, target: Where, ring: Ring, address: int, time: str
    ) -> None:
        machine = program.machine
        sender, receiver = machine.places.pe(*source), machine.places.pe(*target)
        self.name = f"{time}{_path(source)}:{direction}"
        self.source, self.target = f"{_path(source)} (its {direction})", f"{_path(target)} (its {ring.opposite})"
        self.ring = ring
        self._program = program
        self._durations: dict[tuple[int, bool], int] = {}  # by bytes, and whether they are written
        self.first_address = address
        self.sent = self.received = 0
        self.sizes: dict[int, int] = {}  # bytes of messages of which only one end has spoken, by number
        self.arrived = program.counter(f"messages from {self.source} at {self.target}")
        self.credited = program.counter(f"slots that {self.target} gives back to {self.source}")
        self.route = machine.routing.route(sender.dma, receiver.dma, Intent.PE_DMA, RouteKind.MESSAGE)
        self.home = machine.routing.route(receiver.dma, sender.dma, Intent.PE_DMA, RouteKind.MESSAGE)
        self.credit = program.duration(*credit_terms(machine, receiver.dma, sender.dma, ring.credit_bytes))
        self.write, self.read = _servers(receiver, ring.tier)
        self._taken: set[int] = set()
        self._returned = 0

    def address(self, index: int) -> int:
        """Where the slot of a message is in its memory."""
        return self.first_address + index % self.ring.n_slots * self.ring.slot_bytes

    def write_duration(self, nbytes: int) -> int:
        """What writing a slot takes, as a duration of the program."""
        return self._durations.get((nbytes, True)) or self._find_duration(nbytes, write=True)

    def read_duration(self, nbytes: int) -> int:
        """What reading a slot takes, as a duration of the program."""
        return self._durations.get((nbytes, False)) or self._find_duration(nbytes, write=False)

    def _find_duration(self, nbytes: int, *, write: bool) -> int:
        tier, costs = self.ring.tier, self._program.machine.costs
        port = costs.write if write else costs.read
        terms = port(nbytes) if tier == "tcm" else _bank_terms(tier, nbytes)
        found = self._durations[nbytes, write] = self._program.duration(*terms)
        return found

    def give_back(self, index: int) -> int:
        """How many slots become free in order when a message is taken."""
        if index == self._returned and not self._taken:
            self._returned += 1
            return 1
        self._taken.add(index)
        before = self._returned
        while self._returned in self._taken:
            self._taken.remove(self._returned)
            self._returned += 1
        return self._returned - before

    def agree(self, index: int, nbytes: int) -> int | None:
        """Note what one end thinks a message has; answers what the other end thinks, if that differs."""
        other = self.sizes.pop(index, None)
        if other is None:
            self.sizes[index] = nbytes
        return None if other in (None, nbytes) else other


class Ipcq:
    """All queues of a machine at one time; `name` sets those of one time apart from those of another."""

    def __init__(
        self,
        program: Program,
        mailbox: Mailbox,
        read_counter: Callable[[int], int],
        place_ring: PlaceRing,
        name: str = "",
    ) -> None:
        self.program, self.mailbox, self.read_counter, self.name = program, mailbox, read_counter, name
        self._place_ring = place_ring
        self._first: dict[tuple[Where, str], int] = {}  # by PE and direction: where the slots of its ring begin
        self.watchers: set[int] = set()  # threads that may wait for ever
        self._ports: dict[Where, Ports] = {}
        self._tables: Mapping[Where, NeighbourTable] = {}
        self._queues: dict[tuple[Where, str], Queue] = {}

    def install(self, tables: Mapping[Where, NeighbourTable]) -> None:
        """Tell PEs their neighbours from now on; what was there before is gone, with the messages in it.

        Errors: InputError for a PE the machine lacks, a direction that does not lead back or rings that do not fit each
        other; OutOfMemoryError for rings that do not fit their memory.
        """
        check_tables(self.program.machine, tables)
        self._first = {
            (where, direction): self._place_ring(where, ring)
            for where, table in tables.items()
            for direction, ring in table.items()
        }
        self._tables = {where: dict(table) for where, table in tables.items()}
        self._queues, self._ports = {}, {}

    def ports(self, place: PePlace) -> Ports | None:
        """The queues of a PE; None if it was told of no neighbours."""
        where = (place.sip, place.cube, place.pe)
        table = self._tables.get(where)
        if table and where not in self._ports:
            self._ports[where] = Ports(self, where, table)
        return self._ports.get(where)

    def queue(self, source: Where, direction: str) -> Queue:
        """The queue that leaves a PE in a direction of its table."""
        found = self._queues.get((source, direction))
        if found is None:
            there = self._tables[source][direction]
            target = (there.sip, there.cube, there.pe)
            found = self._queues[source, direction] = Queue(
                self.program, source, direction, target, there, self._first[target, there.opposite], self.name
            )
        return found


class Ports:
    """The queues of one PE."""

    def __init__(self, ipcq: Ipcq, where: Where, table: NeighbourTable) -> None:
        self.mailbox, self.read_counter = ipcq.mailbox, ipcq.read_counter
        self.directions = tuple(table)
        self.turn = 0  # from which direction the next receive from anywhere looks on
        self._watch: tuple[list[Watcher], int] | None = None
        self._ipcq, self._where, self._table = ipcq, where, table

    def outward(self, direction: str) -> Queue:
        """The queue to the neighbour in a direction; KeyError for none."""
        self._table[direction]
        return self._ipcq.queue(self._where, direction)

    def inward(self, direction: str) -> Queue:
        """The queue from the neighbour in a direction; KeyError for none."""
        there = self._table[direction]
        return self._ipcq.queue((there.sip, there.cube, there.pe), there.opposite)

    def watchers(self, queues: Sequence[Queue]) -> tuple[list[Watcher], int]:
        """A watcher for each of the PE's inward queues, and the counter with which they wake the kernel."""
        if self._watch is None:
            program = self._ipcq.program
            woken = program.counter(f"a message from anywhere at {_path(self._where)}")
            self._watch = [Watcher(program, queue, woken) for queue in queues], woken
            self._ipcq.watchers |= {watcher.thread.id for watcher in self._watch[0]}
        return self._watch


def check_tables(machine: Machine, tables: Mapping[Where, NeighbourTable]) -> None:
    """Errors: InputError for the first entry that cannot be."""
    for where, table in tables.items():
        machine.places.pe(*where)
        for direction, ring in table.items():
            entry = f"the neighbour table of {_path(where)} has {direction!r}"
            if direction not in DIRECTIONS:
                raise InputError(f"{entry}, which is no direction{suggest(str(direction), DIRECTIONS)}")
            there = (ring.sip, ring.cube, ring.pe)
            machine.places.pe(*there)
            back = tables.get(there, {}).get(ring.opposite)
            if back is None or (back.sip, back.cube, back.pe, back.opposite) != (*where, direction):
                raise InputError(
                    f"{entry} leading to {_path(there)}, whose {ring.opposite!r} does not lead back; "
                    "give both ends an entry for each other"
                )
            if (back.n_slots, back.slot_bytes, back.tier) != (ring.n_slots, ring.slot_bytes, ring.tier):
                raise InputError(
                    f"{entry} with {ring.n_slots} slots of {ring.slot_bytes} bytes in {ring.tier}, but {_path(there)} has "
                    f"{back.n_slots} of {back.slot_bytes} in {back.tier} for it; give both ends the same"
                )


def _servers(place: PePlace, tier: str) -> tuple[int, int]:
    """What writes the slots of a PE, and what reads them."""
    return (place.tcm_write, place.tcm_read) if tier == "tcm" else (place.ipcq_write, place.ipcq_read)


def _bank_terms(tier: str, nbytes: int) -> Terms:
    return ((f"pe_ipcq.{tier}_byte", nbytes), (f"pe_ipcq.{tier}_hop_byte", nbytes), (f"pe_ipcq.{tier}_access", 1))


def _path(where: Where) -> str:
    return pe_path(*where)
