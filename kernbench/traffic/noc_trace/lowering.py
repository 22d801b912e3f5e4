"""Lower what the processors of a chip ask of its two networks to a device program.

A read is a request of one flit, and a reply. Requests to a core queue at its interface, apart by the port of its router that
they come by and by the side of the dateline there, and each queue has a few replies under way (`tensix_noc.replies`). So
readers that share a port are served in the order in which their requests come, and ports take turns. A bank of DRAM replies
after its access, at the rate of its interface, to as many requests as come. Writes are acknowledged by no bytes,
and a multicast reserves its links before each packet. A processor
starts a packet only if fewer than `tensix_noc.outstanding` of its packets are under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernbench.errors import InputError
from kernbench.machine.families.tensix.places import (
    TensixPlaces,
    bank_interface_name,
    bank_name,
    check_chip,
    dram_side_name,
    interface_name,
    l1_name,
    name_reply_port,
)
from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.ops import NONE
from kernbench.program.program import Program
from kernbench.tanto.timing.transfer_costs import TransferCosts
from kernbench.traffic.noc_trace.events import NOTE_CYCLES, Place
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.program.thread import Thread


class Issuer:
    """A processor that uses one network: its packets, and how many are complete."""

    def __init__(self, lowering: Lowering, thread: Thread, place: Place, network: int) -> None:
        self.lowering, self.thread, self.place, self.network = lowering, thread, place, network
        label = f"of {thread.name} on network {network}"
        self._counters = [lowering.program.counter(f"{what} {label}") for what in ("reads", "writes")]
        self._counts = [0, 0]

    def read(self, owner: Place, nbytes: int) -> None:
        """Read from the L1 of a core, or from the bank of a place of DRAM."""
        for size in self.lowering.packets(nbytes):
            self._begin(write=False)
            self.lowering.request(self, owner, size, self._counters[0])

    def write(self, to: Place, nbytes: int) -> None:
        """Write to the L1 of a core, or to the bank of a place of DRAM."""
        lowering = self.lowering
        bank = lowering.banks.get(to)
        name = dram_side_name if bank is not None else interface_name
        target = l1_name(*to) if bank is None else bank_name(bank)
        route = lowering.route(name(self.network, *self.place), target, RouteKind.WRITE)
        for size in lowering.packets(nbytes):
            self._begin(write=True)
            self.thread.move(route, size, done=self._counters[1], lead=lowering.write_lead)

    def multicast(self, targets: Sequence[Place], nbytes: int) -> None:
        """Write to the L1 of many cores in one traversal of a tree of links."""
        if len(targets) == 1:
            self.write(targets[0], nbytes)
            return
        lowering, machine = self.lowering, self.lowering.machine
        source = machine.node_id[interface_name(self.network, *self.place)]
        nodes = [machine.node_id[l1_name(*place)] for place in targets]
        route = machine.routing.multicast(source, nodes, Intent.ALL, RouteKind.WRITE)
        arrive, done = [NONE] * len(machine.routing.destinations(route)), self._counters[1]
        reservation = lowering.reservation_cycles(self.network, self.place, targets)
        lead = lowering.cycles(lowering.costs.write + reservation)
        for size in lowering.packets(nbytes):
            self._begin(write=True)
            self.thread.multicast(route, size, arrive=arrive, done=done, lead=lead)

    def wait(self, *, reads: bool, writes: bool) -> int | None:
        """Wait for all packets so far; returns the row of the last wait, or None without a packet so far."""
        row = None
        for asked, counter, count in zip((reads, writes), self._counters, self._counts, strict=True):
            if asked and count:
                row = self.thread.wait(counter, count)
        return row

    def _begin(self, *, write: bool) -> None:
        """Wait until another packet may be under way, and count it."""
        under_way = self._counts[write] + 1 - self.lowering.outstanding
        if under_way > 0:
            self.thread.wait(self._counters[write], under_way)
        self._counts[write] += 1


class Lowering:
    """The device program of some processors of a chip."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.places = machine, check_chip(machine, "what uses the networks of a chip runs")
        self.program = Program(machine)
        self.banks = _find_banks(machine, self.places)
        figures = machine.figures
        self.costs = costs = TransferCosts.of(machine.figures_of("tensix_core"))
        self.cycle_fs = figures["tensix_core.cycle"]
        self.outstanding = int(figures["tensix_noc.outstanding"])
        self.signal_bytes = int(figures["tensix_noc.signal_bytes"])
        self._packet_bytes = int(figures["tensix_noc.packet_bytes"])
        self.read_lead, self.write_lead = self.cycles(costs.read), self.cycles(costs.write)
        turn = ("ns", figures["tensix_noc.memory_ns"])
        self._turn = self.program.duration(turn)
        self._own_turn = self.program.duration(("tensix_core.cycle", costs.read), turn)
        self.note = self.cycles(NOTE_CYCLES)
        self._bank_turn = self.program.duration(turn, ("tensix_dram.access", 1))
        self.replies: list[tuple[Thread, int]] = []  # thread and row of each

    def cycles(self, count: float) -> int:
        """The duration of some cycles."""
        return self.program.duration(("tensix_core.cycle", count))

    def reservation_cycles(self, network: int, place: Place, targets: Sequence[Place]) -> float:
        """The cycles to reserve the links of a multicast, until the farthest router has said that it is ready."""
        figures, hops = (
            self.machine.figures,
            max(self.places.hops_between(network, place, target) for target in targets),
        )
        hop_ns = figures["tensix_noc.hop_ns"] + self.machine.flit_bytes / figures["tensix_noc.gbs"]
        return (figures["tensix_noc.reservation_ns"] + hops * hop_ns) * FS_PER_NS / self.cycle_fs

    def packets(self, nbytes: int) -> list[int]:
        """The bytes of each packet of a transfer."""
        whole, rest = divmod(nbytes, self._packet_bytes)
        return [self._packet_bytes] * whole + [rest] * (rest > 0)

    def route(self, source: str, target: str, kind: RouteKind) -> int:
        """The route between two nodes by name."""
        ids = self.machine.node_id
        return self.machine.routing.route(ids[source], ids[target], Intent.ALL, kind)

    def request(self, issuer: Issuer, owner: Place, nbytes: int, counter: int) -> None:
        """Ask for bytes of a memory: a request of a flit, then the reply, in its turn; 1 is added when it is here."""
        number, bank = len(self.replies), self.banks.get(owner)
        network, reader = issuer.network, issuer.place
        own = interface_name(network, *reader)
        asked = self.program.counter(f"request {number}")
        if reader == owner:
            issuer.thread.add(asked)
        else:
            there = interface_name(network, *owner) if bank is None else bank_interface_name(bank, network)
            route = self.route(own, there, RouteKind.MESSAGE)
            issuer.thread.move(route, self.machine.flit_bytes, arrive=asked, lead=self.read_lead)
        reply = self.program.thread(f"reply {number} of ({owner[0]}, {owner[1]})")
        reply.wait(asked, 1)
        if bank is None:
            reply.delay(self._own_turn if reader == owner else self._turn)
            server = self.places.reply_server(network, owner, name_reply_port(network, reader, owner))
            back = self.route(l1_name(*owner), own, RouteKind.MESSAGE)
        else:
            reply.delay(self._bank_turn)
            server = NONE
            back = self.route(bank_name(bank), dram_side_name(network, *reader), RouteKind.MESSAGE)
        self.replies.append((reply, reply.move(back, nbytes, done=counter, hold=server)))

    def check_core(self, place: Place, where: str) -> None:
        """Errors: InputError for a place without a working core."""
        if self.places.logical(place) is None:
            raise InputError(f"{where}: {self._describe_place(place)}")

    def check_memory(self, place: Place, where: str) -> None:
        """Errors: InputError for a place without a memory."""
        if place not in self.banks:
            self.check_core(place, where)

    def _describe_place(self, place: Place) -> str:
        grid, (x, y) = self.places.grid, place
        if not (0 <= x < grid.width and 0 <= y < grid.height):
            return f"({x}, {y}) is off the chip; {self.machine.name} has places (0, 0) to ({grid.width - 1}, {grid.height - 1})"
        return (
            f"there is no memory at ({x}, {y}) of {self.machine.name}; give the --topology of the chip of the trace, or the "
            "rows or columns that are switched off on it, as in --set harvested_rows=[4,5]"
        )


def _find_banks(machine: Machine, places: TensixPlaces) -> dict[Place, int]:
    """The bank of each place of DRAM: of a port that no bank is behind, the first of its controller."""
    grid = places.grid
    each = int(machine.figures["tensix_dram.banks"])
    ports = len(grid.dram) // (grid.banks // each)
    found = {(at % grid.width, at // grid.width): number // ports * each for number, at in enumerate(grid.dram)}
    for bank in range(grid.banks):
        found[places.bank_place(bank)] = bank
    return found
