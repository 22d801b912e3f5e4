"""Neighbour tables of PEs, by direction, and the message queues that they define.

A queue leads from one PE, in a direction of its table, to another, in whose table the opposite direction leads back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kernbench.errors import InputError, suggest
from kernbench.machine.families.sip.places import pe_path
from kernbench.tl.lowering.any_source_recv import Watcher
from kernbench.tl.lowering.multicast import Multicasts
from kernbench.tl.lowering.queue import Queue, queue_name
from kernbench.tl.lowering.queue_thread import Answers

if TYPE_CHECKING:
    from kernbench.machine.families.sip.places import PePlace
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program

LEVELS = ("", "intra_", "global_")  # between cubes, between the PEs of a cube, between SIPs
DIRECTIONS = tuple(level + side for level in LEVELS for side in "NSEW")
AHEAD = "ahead_"  # with a number: that many ranks ahead, in tables that lead to each
INTRA_AHEAD = "intra_ahead_"  # that many PEs of the cube ahead
TIERS = ("tcm", "sram", "hbm")
N_SLOTS, SLOT_BYTES, CREDIT_BYTES = 4, 4096, 16


def is_direction(name: str) -> bool:
    """Whether a neighbour table may have a direction of this name."""
    return name in DIRECTIONS or any(
        name.startswith(ahead) and name.removeprefix(ahead).isdecimal() for ahead in (AHEAD, INTRA_AHEAD)
    )


@dataclass(frozen=True, slots=True)
class Ring:
    """A neighbour of a PE, and the ring of slots for messages from it; messages to it use a ring of the same size.

    `opposite` is the direction from the neighbour to this PE, `tier` the memory of the slots.
    Errors: InputError for an invalid tier or size.
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

    @property
    def slots(self) -> tuple[int, int, str]:
        """The properties that both ends must share: number of slots, bytes of each, memory."""
        return self.n_slots, self.slot_bytes, self.tier


NeighbourTable = Mapping[str, Ring]  # of one PE, by direction
Where = tuple[int, int, int]  # sip, cube, pe
# Allocates the ring of a PE; returns its physical address.
PlaceRing = Callable[[Where, Ring], int]


class Ipcq:
    """All queues of a machine between two installations of neighbour tables; `name` tells them from other queues.

    `answers` gets the threads beside these queues, which may wait for ever, with what answers their asks.
    """

    def __init__(
        self,
        program: Program,
        read_counter: Callable[[int], int],
        place_ring: PlaceRing,
        name: str = "",
        answers: Answers | None = None,
    ) -> None:
        self.answers: Answers = {} if answers is None else answers
        self._place_ring = place_ring
        self._wiring = Wiring(program, read_counter, name, self.answers)
        self._of_pe: dict[Where, PeQueues] = {}

    def install(self, tables: Mapping[Where, NeighbourTable]) -> None:
        """Install neighbour tables; earlier tables and the messages in their queues are dropped.

        Errors: InputError for a PE that the machine lacks, a direction that does not lead back or two rings that differ;
        OutOfMemoryError for rings that do not fit their memory.
        """
        wiring = self._wiring
        check_tables(wiring.program.machine, tables)
        wiring.first = {
            (where, direction): self._place_ring(where, ring)
            for where, table in tables.items()
            for direction, ring in table.items()
        }
        wiring.tables = {where: dict(table) for where, table in tables.items()}
        wiring.queues = {}
        self._of_pe = {}

    def pe_queues(self, place: PePlace) -> PeQueues | None:
        """The queues of a PE; None if it has no neighbours."""
        where = (place.sip, place.cube, place.pe)
        if self._wiring.tables.get(where) and where not in self._of_pe:
            self._of_pe[where] = PeQueues(self._wiring, where)
        return self._of_pe.get(where)

    def queue(self, source: Where, direction: str) -> Queue:
        """The queue that leaves a PE in a direction of its table."""
        return self._wiring.queue(source, direction)


class Wiring:
    """The tables that are installed and their queues, each made when it is first used."""

    def __init__(self, program: Program, read_counter: Callable[[int], int], name: str, answers: Answers) -> None:
        self.program, self.read_counter, self.name, self.answers = program, read_counter, name, answers
        self.tables: Mapping[Where, NeighbourTable] = {}
        self.first: dict[tuple[Where, str], int] = {}  # by PE and direction: where the slots of its ring begin
        self.queues: dict[tuple[Where, str], Queue] = {}

    def queue(self, source: Where, direction: str) -> Queue:
        """The queue that leaves a PE in a direction of its table."""
        found = self.queues.get((source, direction))
        if found is None:
            there = self.tables[source][direction]
            target = (there.sip, there.cube, there.pe)
            found = self.queues[source, direction] = Queue(
                self.program, source, direction, target, there, self.first[target, there.opposite], self.name
            )
        return found


class PeQueues:
    """The queues of one PE."""

    def __init__(self, wiring: Wiring, where: Where) -> None:
        table = wiring.tables[where]
        self.read_counter = wiring.read_counter
        self.directions = tuple(table)
        self.turn = 0  # the direction at which the next receive from any source begins to look
        self._watch: tuple[list[Watcher], int] | None = None
        self._wiring, self._where, self._table = wiring, where, table
        places, node_name = wiring.program.machine.places, wiring.program.machine.node_name
        ends = {
            queue_name(wiring.name, where, direction): node_name[places.pe(ring.sip, ring.cube, ring.pe).ipcq]
            for direction, ring in table.items()
        }
        self.multicasts = Multicasts(wiring.program, places.pe(*where), ends, wiring.answers)  # to several at once

    def outward(self, direction: str) -> Queue:
        """The queue to the neighbour in a direction; KeyError for none."""
        self._table[direction]
        return self._wiring.queue(self._where, direction)

    def inward(self, direction: str) -> Queue:
        """The queue from the neighbour in a direction; KeyError for none."""
        there = self._table[direction]
        return self._wiring.queue((there.sip, there.cube, there.pe), there.opposite)

    def watchers(self, queues: Sequence[Queue]) -> tuple[list[Watcher], int]:
        """A watcher for each of the PE's inward queues, and the counter with which they wake the kernel."""
        if self._watch is None:
            program = self._wiring.program
            woken = program.counter(f"a message from anywhere at {_path(self._where)}")
            self._watch = [Watcher(program, queue, woken) for queue in queues], woken
            for watcher in self._watch[0]:
                self._wiring.answers[watcher.thread.id] = _never_asks
        return self._watch


def _never_asks() -> None:
    """The answer of a watcher, whose rows have no ask."""


def check_tables(machine: Machine, tables: Mapping[Where, NeighbourTable]) -> None:
    """Check neighbour tables. Errors: InputError for the first invalid entry."""
    for where, table in tables.items():
        machine.places.pe(*where)
        for direction, ring in table.items():
            _check_entry(machine, tables, where, direction, ring)


def _check_entry(
    machine: Machine, tables: Mapping[Where, NeighbourTable], where: Where, direction: str, ring: Ring
) -> None:
    there = (ring.sip, ring.cube, ring.pe)
    machine.places.pe(*there)
    back = tables.get(there, {}).get(ring.opposite)
    leads_back = back is not None and (back.sip, back.cube, back.pe, back.opposite) == (*where, direction)
    if not is_direction(direction):
        raise InputError(f"{_entry(where, direction)}, which is no direction{suggest(str(direction), DIRECTIONS)}")
    if back is None or not leads_back:
        raise InputError(
            f"{_entry(where, direction)} leading to {_path(there)}, whose {ring.opposite!r} does not lead back; "
            "give both ends an entry for each other"
        )
    if back.slots != ring.slots:
        raise InputError(
            f"{_entry(where, direction)} with {ring.n_slots} slots of {ring.slot_bytes} bytes in {ring.tier}, but "
            f"{_path(there)} has {back.n_slots} of {back.slot_bytes} in {back.tier} for it; give both ends the same"
        )


def _entry(where: Where, direction: str) -> str:
    return f"the neighbour table of {_path(where)} has {direction!r}"


def _path(where: Where) -> str:
    return pe_path(*where)
