"""Issue of a program's commands by the control CPU of its PE: in order, each waited for at its first use.

A command is a transfer of the DMA or work of an engine. The CPU issues it once its operands are there, and goes on; who uses
the result waits. So a load that comes before independent work overlaps with it, and so do the two engines.

In a loop of `num_stages` S, loads are issued S - 1 iterations ahead of the commands around them, as Triton's software pipeline
does: the load of iteration j follows the commands of iteration j - S, and waits for those that read the blocks of their loads,
whose room it takes. Commands of the iterations between are *pending*. Whatever needs a number at once (an address or a
condition that was loaded, an atomic, the end of the loop) ends the run ahead: all that is pending is issued first.

Blocks take room in scratch from the issue of the command that makes them (`rooms`), and the CPU waits until there is room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NoReturn

from kernbench.tl.lowering.plan_outline import SERVERS
from kernbench.triton.lowering.rooms import Flight, Room, Rooms
from kernbench.triton.lowering.script import Access, Script

if TYPE_CHECKING:
    from kernbench.program.program import Program
    from kernbench.triton.lowering.work import Work, Works

_READ, _WRITE = SERVERS.index("dma_read"), SERVERS.index("dma_write")


class Block:
    """A block in scratch as a program holds it; its room is free when the last holder lets go."""

    __slots__ = ("_issuer", "room")

    def __init__(self, issuer: Issuer, nbytes: int, line: int) -> None:
        self._issuer, self.room = issuer, Room(nbytes, line)

    def __del__(self) -> None:
        self._issuer.let_go(self.room)


class Facts:
    """What all issuers of a program know: tags, durations, the room of a PE, and the words for a full one."""

    def __init__(self, program: Program, works: Works) -> None:
        self.works = works
        self.program = program
        self.scratch_bytes = int(program.machine.figures["pe.scratch_bytes"])
        self.dispatch_cycles = int(program.machine.figures["pe_cpu.dispatch_cycles"])
        self.read_tag, self.write_tag = program.tag("dma_read", "memory"), program.tag("dma_write", "memory")
        self.atomic_tag = program.tag("atomic", "memory")
        self.control_tag, self.schedule_tag = program.tag("scalar", "control"), program.tag("schedule", "control")
        self.schedule = program.duration(("pe_scheduler.overhead", 1))

    def check_limit(self, script: Script) -> None:
        """Errors: LimitError for a script whose programs issue more operations than a run may."""
        if script.row_count * script.count > self.program.most_ops - self.program.issued_ops:
            self.program.refuse_ops()


class Issuer:
    """The control CPU of a group of programs, which writes their script."""

    def __init__(self, script: Script, facts: Facts, refuse: Callable[[int, str], NoReturn]) -> None:
        self.script, self._facts, self._refuse = script, facts, refuse
        self._free: list[int] = []  # counters of commands that have ended
        self._slots = 1  # the first is that of the scheduler
        self._flights: dict[int, Flight] = {}  # under way, in the order of their issue
        self._rooms = Rooms(facts.scratch_bytes)
        self._cycles = 0  # of the CPU since the last command
        self._line = -1
        self._stages, self._iteration = 1, 0
        self._loops: list[tuple[int, int]] = []
        self._pending: deque[tuple[int, Callable[[], None]]] = deque()
        self._readers: deque[tuple[int, Flight]] = deque()  # commands of iterations that read blocks of loads

    # What a program does

    def control(self, cycles: int = 1) -> None:
        """The CPU works for some cycles before its next command."""
        self._cycles += cycles

    def compute(self, work: Work, reads: tuple[Block, ...], nbytes: int, line: int) -> Block:
        """Work of an engine on blocks; returns its result."""
        out = Block(self, nbytes, line)
        rooms, made = tuple(block.room for block in reads), out.room
        self._defer(lambda cycles: self._start_work(work, rooms, made, line, cycles))
        return out

    def load(
        self, access: Access, addresses: tuple[Block, ...], nbytes: int, line: int, *, after_stores: bool
    ) -> Block:
        """Load a block; `addresses` are blocks from which the addresses or the mask follow.

        With `after_stores` the loop stores to the same tensor, so the load does not run ahead.
        """
        out = Block(self, nbytes, line)
        rooms, cycles = tuple(block.room for block in addresses), self._take_cycles()
        if rooms or after_stores or len(self._loops) == 0:
            self.settle()
        else:
            self._make_way()
        out.room.loaded = True
        self._start_access(access, rooms, out.room, line, cycles)
        return out

    def store(self, access: Access, reads: tuple[Block, ...], line: int) -> None:
        """Store a block."""
        rooms = tuple(block.room for block in reads)
        self._defer(lambda cycles: self._start_access(access, rooms, None, line, cycles))

    def atomic(self, access: Access, reads: tuple[Block, ...], nbytes: int, line: int, *, orders: bool) -> Block:
        """An atomic: its operands go to memory and the old values come back; one that `orders` waits for stores before."""
        out = Block(self, nbytes, line)
        cycles = self._take_cycles()
        self.settle()
        if orders:
            for flight in [one for one in self._flights.values() if one.is_store]:
                self._await(flight)
        self._start_access(access, tuple(block.room for block in reads), out.room, line, cycles)
        if orders:
            self.use(out)
        return out

    def use(self, block: Block) -> None:
        """The CPU itself needs a block: all that is pending is issued, and it waits."""
        self.settle()
        if block.room.flight is not None:
            self._await(block.room.flight)

    def barrier(self) -> None:
        """Wait for all that is under way."""
        self.settle()
        for flight in list(self._flights.values()):
            self._await(flight)

    def finish(self) -> None:
        """The end of a program."""
        self.barrier()
        if self._cycles:
            self._write_cycles(self._take_cycles())

    # Loops

    def enter_loop(self, stages: int) -> None:
        """A loop whose loads run `stages` - 1 iterations ahead."""
        self.settle()
        self._loops.append((self._stages, self._iteration))
        self._stages, self._iteration = max(1, stages), 0

    def next_iteration(self) -> None:
        """The next iteration of the innermost loop."""
        self._iteration += 1

    def leave_loop(self) -> None:
        """The end of the innermost loop."""
        self.settle()
        self._stages, self._iteration = self._loops.pop()
        self._readers.clear()

    @property
    def peak_bytes(self) -> int:
        """The most room that blocks have held at once."""
        return self._rooms.peak_bytes

    def settle(self) -> None:
        """Issue all that is pending."""
        while self._pending:
            self._pending.popleft()[1]()

    # Room

    def let_go(self, room: Room) -> None:
        """Nobody holds a block any more: its room is free behind what is pending."""
        if self._pending:
            self._pending.append((self._iteration, lambda: self._rooms.release(room)))
        else:
            self._rooms.release(room)

    def _take(self, room: Room) -> None:
        """Find room for a block, waiting for commands that hold some."""
        while not self._rooms.has(room) and (held := next((one for one in self._flights.values() if one.frees), None)):
            self._await(held)
        if not self._rooms.has(room):
            self._refuse(room.line, self._rooms.tell_full(room, self._facts.program.sources))
        self._rooms.take(room)

    # Issue

    def _defer(self, start: Callable[[int], None]) -> None:
        """Start a command now, or in a loop of stages once loads have run ahead."""
        cycles = self._take_cycles()
        if self._loops and self._stages > 1:
            self._pending.append((self._iteration, lambda: start(cycles)))
        else:
            start(cycles)

    def _make_way(self) -> None:
        """Before a load of iteration j: the commands of iterations up to j - S, and the end of those that read loads."""
        due = self._iteration - self._stages
        while self._pending and self._pending[0][0] <= due:
            self._pending.popleft()[1]()
        while self._readers and self._readers[0][0] <= due:
            self._await(self._readers.popleft()[1])

    def _start_work(self, work: Work, reads: tuple[Room, ...], out: Room, line: int, cycles: int) -> None:
        self._prepare(reads, line, cycles)
        self._take(out)
        self._facts.works.template(work)
        flight = self._take_off()
        self._schedule()
        self.script.pipe(work, flight.slot, self._facts.works.tags[work])
        self._note(flight, reads, out)

    def _start_access(self, access: Access, reads: tuple[Room, ...], out: Room | None, line: int, cycles: int) -> None:
        self._prepare(reads, line, cycles)
        if out is not None:
            self._take(out)
        facts, is_store = self._facts, out is None
        flight = self._take_off(is_store=is_store)
        self._schedule()
        tag = facts.read_tag if not access.write else facts.write_tag if is_store else facts.atomic_tag
        flight.access = self.script.move(access, flight.slot, _WRITE if access.write else _READ, tag)
        self._note(flight, reads, out)

    def _note(self, flight: Flight, reads: tuple[Room, ...], out: Room | None) -> None:
        if out is not None:
            out.flight = flight
        for room in reads:
            room.readers.append(flight)
        if self._loops and any(room.loaded for room in reads):
            self._readers.append((self._iteration, flight))

    def _prepare(self, reads: tuple[Room, ...], line: int, cycles: int) -> None:
        """The line, the CPU's work, and the operands."""
        self._facts.check_limit(self.script)
        if line != self._line:
            self.script.begin_line(line)
            self._line = line
        if cycles:
            self._write_cycles(cycles)
        for room in reads:
            if room.flight is not None:
                self._await(room.flight)

    def _schedule(self) -> None:
        self.script.schedule(self._facts.schedule, self._facts.schedule_tag)

    def _write_cycles(self, cycles: int) -> None:
        self.script.delay(self._facts.program.duration(("pe_cpu.cycle", cycles)), self._facts.control_tag)

    def _take_cycles(self) -> int:
        cycles, self._cycles = self._cycles + self._facts.dispatch_cycles, 0
        return cycles

    def _take_off(self, *, is_store: bool = False) -> Flight:
        if self._free:
            slot = heappop(self._free)
        else:
            slot, self._slots = self._slots, self._slots + 1
        flight = self._flights[slot] = Flight(slot, is_store=is_store)
        return flight

    def _await(self, flight: Flight) -> None:
        """Wait for a command, unless it has been waited for; what it held is free."""
        if flight.ended:
            return
        self.script.wait(flight.slot, flight.access)
        flight.ended = True
        del self._flights[flight.slot]
        heappush(self._free, flight.slot)
        self._rooms.end(flight)
