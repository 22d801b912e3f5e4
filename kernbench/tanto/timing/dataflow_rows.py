"""Rows of a kernel that moves data: its transactions on one network, and what it waits for.

A read is a transfer from the memory to the interface of the core, a write one from the interface to the memory; both count
when they are complete, and barriers wait for the count. The interface has a limited number of transactions under way. Readers
use the second network, writers the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.machine.families.tensix.places import READER_NETWORK, WRITER_NETWORK
from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.ops import NONE
from kernbench.tanto.timing.multicast import multicast_data, multicast_signals
from kernbench.tanto.timing.row_buffer import Row, RowBuffer

if TYPE_CHECKING:
    from kernbench.tanto.cores.kernel import Kernel
    from kernbench.tanto.cores.storage import Core, GlobalBuffer, PipePart, SemaphorePart
    from kernbench.tanto.timing.lowering import Lowering


class DataflowRows:
    """The rows of a reader or writer kernel on a core."""

    def __init__(self, lowering: Lowering, core: Core, name: str, kind: int) -> None:
        program, places = lowering.program, lowering.places
        self.lowering, self.core, self.places, self.costs = lowering, core, places, lowering.transfer_costs
        self.network = READER_NETWORK if kind == 0 else WRITER_NETWORK
        self.buffer = RowBuffer(program.thread(f"{places.worker(core)}.{name}/{core[0]},{core[1]}"), lowering.costs)
        self.id = self.buffer.thread.id
        self.interface, self._dram_side = places.interface(core, self.network), places.dram_side(core, self.network)
        self.read_server = places.server(core, f"niu{self.network}.read")
        self.write_server = places.server(core, f"niu{self.network}.write")
        label = f"of the {name} kernel on core {core[0]},{core[1]}"
        self.read_counter = program.counter(f"reads {label}")
        self.write_counter = program.counter(f"writes {label}")
        self.reads = self.writes = 0
        self._memory = places.l1(core)
        self._routes: dict[tuple[int, int], int] = {}

    def route(self, node: int, kind: RouteKind) -> int:
        """The route between this interface and a memory."""
        key = (node, int(kind))
        found = self._routes.get(key)
        if found is None:
            end = self._dram_side if node in self.lowering.bank_nodes else self.interface
            found = self._routes[key] = self.lowering.routing.route(end, node, Intent.ALL, kind)
        return found

    # Transactions

    def load(self, c: int) -> None:
        """Read a word of L1 by the processor."""
        self.buffer.spend(c, self.lowering.load_cycles)

    def store(self, c: int) -> None:
        """Write a word of L1 by the processor."""
        self.buffer.spend(c, self.lowering.store_cycles)

    def _issue(self, c: int, node: int, nbytes: int, *, write: bool, find_cycles: float, arrive: int = NONE) -> Row:
        """Start a transaction in packets of the network; 1 is added to a counter when the last has arrived.

        `find_cycles` is what it takes to know from where and to where.
        """
        lowering, packet = self.lowering, self.lowering.packet_bytes
        route = self.route(node, RouteKind.WRITE if write else RouteKind.READ)
        tag = lowering.write_tag if write else lowering.read_tag
        counter, server = (self.write_counter, self.write_server) if write else (self.read_counter, self.read_server)
        issue = self.costs.write if write else self.costs.read
        cycles, sent = find_cycles + issue, 0
        while nbytes > packet:
            self.buffer.move(c, cycles, tag, route, packet, counter, server)
            nbytes, cycles, sent = nbytes - packet, issue, sent + 1
        if write:
            self.writes += sent + 1
        else:
            self.reads += sent + 1
        return self.buffer.move(c, cycles, tag, route, nbytes, counter, server, arrive)

    def _pages(self, c: int, part: GlobalBuffer, first: int, count: int, *, write: bool) -> Row:
        """A transaction for each page of a chunk; what is outside of the buffer goes to no bank and costs its issue."""
        row, page, fmt, lowering, costs = None, part.page, part.fmt, self.lowering, self.costs
        find_cycles = costs.begin + costs.pages + costs.page
        end, at = first + count, first
        if first < 0 or end > part.size:
            end, at = min(end, part.size), max(at, 0)
        while at < end:
            number = at // page
            stop = number * page + page
            if stop > end:
                stop = end
            row = self._issue(
                c, lowering.bank_of(number), fmt.bytes_of(stop - at), write=write, find_cycles=find_cycles
            )
            at, find_cycles = stop, costs.page
        if row is None:
            self.buffer.spend(c, find_cycles + (costs.write if write else costs.read))
        return row or self.buffer.last_row()

    def read_dram(self, c: int, part: GlobalBuffer, first: int, count: int) -> Row:
        """Read elements of a global buffer."""
        return self._pages(c, part, first, count, write=False)

    def write_dram(self, c: int, part: GlobalBuffer, first: int, count: int) -> Row:
        """Write elements of a global buffer."""
        return self._pages(c, part, first, count, write=True)

    def read_core(self, c: int, core: Core, nbytes: int) -> Row:
        """Read from the L1 of a core."""
        return self._issue(c, self.places.l1(core), nbytes, write=False, find_cycles=self.costs.begin)

    def write_core(self, c: int, core: Core, nbytes: int, arrive: int = NONE) -> Row:
        """Write to the L1 of a core; 1 is added to a counter when all is there."""
        return self._issue(c, self.places.l1(core), nbytes, write=True, find_cycles=self.costs.begin, arrive=arrive)

    def follow(self, kernel: Kernel) -> None:
        """Take the lines that issue rows from a kernel."""
        self.buffer.kernel = kernel

    def next_row(self) -> Row:
        """The row that will be added next."""
        return self.id, self.buffer.count

    def last_row(self) -> Row:
        """The row that was added last."""
        return self.buffer.last_row()

    def begin_moves(self, c: int) -> None:
        """Set up the registers for moves inside L1."""
        self.buffer.spend(c, self.costs.begin + self.costs.context)

    def move(self, c: int, nbytes: int) -> Row:
        """Move inside L1 with registers that are set up."""
        self.reads += 1
        route, cycles = self.route(self._memory, RouteKind.READ), self.costs.begin + self.costs.move
        return self.buffer.move(c, cycles, self.lowering.read_tag, route, nbytes, self.read_counter, self.read_server)

    def multicast(self, c: int, cores: list[Core], nbytes: int, arrive: list[int]) -> Row:
        """Write to the L1 of many cores in one traversal; 1 is added to the counter of each when all is there.

        Returns the row of its first packet.
        """
        first = self.buffer.count + 1  # after the row of its issue
        multicast_data(self, c, cores, nbytes, arrive)
        return self.id, min(first, self.buffer.count - 1)

    def add_arrival(self, c: int, counter: int) -> None:
        """Count a write by the processor of this core."""
        self.buffer.increase(c, counter, 1)

    def wait_arrival(self, c: int, counter: int, value: int) -> None:
        """Wait for so many writes."""
        self.buffer.wait(c, counter, value)

    def read_barrier(self, c: int) -> None:
        """Wait for all reads."""
        self.buffer.wait(c, self.read_counter, self.reads, self.lowering.register_cycles)

    def write_barrier(self, c: int) -> None:
        """Wait for all writes."""
        self.buffer.wait(c, self.write_counter, self.writes, self.lowering.register_cycles)

    # Pipes

    def wait_room(self, c: int, part: PipePart, popped: int) -> None:
        """Wait until so many tiles in all were popped."""
        self.buffer.wait(c, part.counters[1], popped, self.lowering.register_cycles)

    def push(self, c: int, part: PipePart, tiles: int) -> Row:
        """Count pushed tiles."""
        return self.buffer.increase(c, part.counters[0], tiles, self.lowering.register_cycles)

    def wait_tiles(self, c: int, part: PipePart, pushed: int) -> None:
        """Wait until so many tiles in all were pushed."""
        self.buffer.wait(c, part.counters[0], pushed, self.lowering.register_cycles)

    def pop(self, c: int, part: PipePart, tiles: int) -> None:
        """Count popped tiles."""
        self.buffer.increase(c, part.counters[1], tiles, self.lowering.register_cycles)

    # Semaphores

    def set_semaphore(self, c: int, part: SemaphorePart) -> None:
        """Change a value on this core."""
        self.buffer.increase(c, part.counter, 1, self.lowering.store_cycles)

    def signal(self, c: int, core: Core, part: SemaphorePart) -> None:
        """Change a value on a core."""
        lowering, route = self.lowering, self.route(self.places.l1(core), RouteKind.WRITE)
        self.buffer.move(
            c,
            self.costs.begin + self.costs.write,
            lowering.signal_tag,
            route,
            lowering.signal_bytes,
            self.write_counter,
            self.write_server,
            part.counter,
        )
        self.writes += 1

    def multicast_signal(self, c: int, cores: list[Core], parts: list[SemaphorePart]) -> None:
        """Change values on many cores in one traversal."""
        multicast_signals(self, c, cores, parts)

    def wait_semaphore(self, c: int, part: SemaphorePart, event: int) -> None:
        """Wait for the change of a value that the kernel waited for."""
        self.buffer.wait(c, part.counter, event, self.lowering.load_cycles)

    def finish(self, c: int) -> None:
        """End the kernel."""
        self.buffer.spend(c)
        self.lowering.keep_ends(self.id, self.buffer.finish())
