"""A message queue between two PEs, as it is known while kernels are lowered.

Its slots are at the receiving end. Counters only count up: message k may be sent when k + 1 - slots have been given back and
has arrived when k + 1 have arrived, so both ends of a recorded kernel know what to wait for before anything runs. Slots are
given back in the order of their messages, whatever the order in which messages are taken.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kernbench.machine.families.sip.places import pe_path
from kernbench.machine.intents import Intent, RouteKind
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.machine.families.sip.places import PePlace
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program
    from kernbench.tl.language.tensor_type import TensorType
    from kernbench.tl.lowering.ipcq import Ring, Where


def credit_terms(machine: Machine, source: int, target: int, nbytes: int) -> tuple[tuple[str, float], ...]:
    """The terms, as `Program.duration` takes them, of a credit of `nbytes` between two nodes."""
    terms: defaultdict[str, float] = defaultdict(float)
    for edge in machine.routing.edges_between(source, target, Intent.PE_DMA):
        figure, amount = _byte(machine, edge)
        terms[figure] += nbytes * amount
        node = int(machine.edge_dst[edge])
        if node != target:
            figure, amount = _overhead(machine, node)
            terms[figure] += amount
    return tuple((figure, amount) for figure, amount in sorted(terms.items()) if amount)


def _byte(machine: Machine, edge: int) -> tuple[str, float]:
    """The time of a byte on a link, as an amount of a figure."""
    found = machine.provenance.sources[int(machine.provenance.service[edge])].cost
    return found if found[0] in machine.figures else ("ns", 1 / float(machine.edge_gbs[edge]))


def _overhead(machine: Machine, node: int) -> tuple[str, float]:
    """The overhead of a node, as an amount of a figure."""
    at, overhead_fs = int(machine.provenance.node[node]), int(machine.node_overhead_fs[node])
    if at >= 0:
        source = machine.provenance.sources[at]
        figure, amount = source.cost
        if figure in machine.figures and (source.origin or machine.figures[figure] == overhead_fs):
            return figure, amount
    return "ns", overhead_fs / FS_PER_NS


Terms = tuple[tuple[str, float], ...]  # a unit cost of the machine, and its amount


class Queue:
    """One queue between two PEs, with the messages sent and received so far."""

    __slots__ = (
        "_durations",
        "_program",
        "_returned",
        "_slots",
        "_taken",
        "arrived",
        "credit",
        "credited",
        "home",
        "name",
        "read",
        "received",
        "receiver",
        "receiver_place",
        "ring",
        "route",
        "sent",
        "sent_types",
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
        self.name = queue_name(time, source, direction)
        self.source, self.target = f"{pe_path(*source)} (its {direction})", f"{pe_path(*target)} (its {ring.opposite})"
        self.receiver, self.receiver_place = pe_path(*target), receiver
        self.ring = ring
        self._program = program
        self._durations: dict[tuple[int, bool], int] = {}  # by bytes and write
        self._slots = address, *machine.places.memory_of(address)[:2]  # physical address, memory, offset in it
        self.sent = self.received = 0
        self.sizes: dict[int, int] = {}  # bytes of messages of which only one end is lowered, by number
        self.sent_types: dict[int, TensorType] = {}  # of messages that are sent and not yet received, by number
        self.arrived = program.counter(f"messages from {self.source} at {self.target}")
        self.credited = program.counter(f"slots that {self.target} gives back to {self.source}")
        self.route = machine.routing.route(sender.dma, receiver.dma, Intent.PE_DMA, RouteKind.MESSAGE)
        self.home = machine.routing.route(receiver.dma, sender.dma, Intent.PE_DMA, RouteKind.MESSAGE)
        self.credit = program.duration(*credit_terms(machine, receiver.dma, sender.dma, ring.credit_bytes))
        self.write, self.read = _servers(receiver, ring.tier)
        self._taken: set[int] = set()
        self._returned = 0

    def address(self, index: int) -> int:
        """The address of the slot of a message for the kernel that receives it: in TCM, or a physical one."""
        physical, _, offset = self._slots
        return (offset if self.ring.tier == "tcm" else physical) + self._start(index)

    def slot(self, index: int) -> tuple[int, int]:
        """The memory of the slot of a message, and the address there."""
        _, memory, offset = self._slots
        return memory, offset + self._start(index)

    def _start(self, index: int) -> int:
        return index % self.ring.n_slots * self.ring.slot_bytes

    def write_duration(self, nbytes: int) -> int:
        """The time to write a slot, as a duration of the program."""
        return self._durations.get((nbytes, True)) or self._find_duration(nbytes, write=True)

    def read_duration(self, nbytes: int) -> int:
        """The time to read a slot, as a duration of the program."""
        return self._durations.get((nbytes, False)) or self._find_duration(nbytes, write=False)

    def _find_duration(self, nbytes: int, *, write: bool) -> int:
        tier, costs = self.ring.tier, self._program.machine.costs
        port = costs.write if write else costs.read
        terms = port(nbytes) if tier == "tcm" else _bank_terms(tier, nbytes)
        found = self._durations[nbytes, write] = self._program.duration(*terms)
        return found

    def give_back(self, index: int) -> int:
        """Take a message; returns the number of slots that become free in order."""
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
        """Note the bytes of a message at one end; returns those at the other end if they differ."""
        other = self.sizes.pop(index, None)
        if other is None:
            self.sizes[index] = nbytes
        return None if other in (None, nbytes) else other


def queue_name(time: str, source: Where, direction: str) -> str:
    """The name of the queue that leaves a PE in a direction; `time` tells it from those of other tables."""
    return f"{time}{pe_path(*source)}:{direction}"


def _servers(place: PePlace, tier: str) -> tuple[int, int]:
    """The servers that write and read the slots of a PE."""
    return (place.tcm_write, place.tcm_read) if tier == "tcm" else (place.ipcq_write, place.ipcq_read)


def _bank_terms(tier: str, nbytes: int) -> Terms:
    return ((f"pe_ipcq.{tier}_byte", nbytes), (f"pe_ipcq.{tier}_hop_byte", nbytes), (f"pe_ipcq.{tier}_access", 1))
