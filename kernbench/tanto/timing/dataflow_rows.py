"""Rows of a kernel that moves data: its transactions on one network, and what it waits for.

A read is a transfer from the memory to the interface of the core, a write one from the interface to the memory; both count
when they are complete, and barriers wait for the count. The interface has a limited number of transactions under way. Readers
use the second network, writers the first.

A kernel leaves a log, from which `thread_rows` makes the rows. An entry is (operations of its processor so far, line, form,
value): a form is a row with the cycles before it, the same in many entries, and the value is that which the row waits for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernbench.machine.families.tensix.places import READER_NETWORK, WRITER_NETWORK
from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.ops import NONE, ROW_WIDTH, Op
from kernbench.tanto.timing.kernel_log import Issuer, KernelLog, Row

if TYPE_CHECKING:
    import numpy as np

    from kernbench.tanto.cores.storage import Core, GlobalBuffer, PipePart
    from kernbench.tanto.timing.lowering import Lowering

_MOVE, _ADD, _WAIT, _ARRIVE = int(Op.MOVE), int(Op.ADD), int(Op.WAIT), int(Op.ARRIVE)
NO_ROW = -1
_REST = (0,) * (ROW_WIDTH - 1)  # operands
Form = tuple[float | int, ...]  # cycles, and a row: the tag, the opcode and all operands


class DataflowRows(KernelLog):
    """The log of a reader or writer kernel on a core."""

    width = 4

    def __init__(self, lowering: Lowering, core: Core, name: str, kind: int) -> None:
        program, places = lowering.program, lowering.places
        self.lowering, self.core, self.places, self.costs = lowering, core, places, lowering.transfer_costs
        self.network = READER_NETWORK if kind == 0 else WRITER_NETWORK
        self.thread = program.thread(f"{places.worker(core)}.{name}/{core[0]},{core[1]}")
        super().__init__(self.thread.id)
        self.interface, self._dram_side = places.interface(core, self.network), places.dram_side(core, self.network)
        self.read_server = places.server(core, f"niu{self.network}.read")
        self.write_server = places.server(core, f"niu{self.network}.write")
        label = f"of the {name} kernel on core {core[0]},{core[1]}"
        self.read_counter = program.counter(f"reads {label}")
        self.write_counter = program.counter(f"writes {label}")
        self.reads = self.writes = 0
        self.forms: dict[Form, int] = {}
        self._page_forms: dict[int, int] = {}  # of reads of one packet, by bank << 32 | bytes
        self._page_cycles = self.costs.begin + self.costs.pages + self.costs.page + self.costs.read
        self._multicasts: dict[tuple[Sequence[Core], int, int, Sequence[int]], list[int]] = {}  # forms
        self._routes: dict[tuple[int, int], int] = {}
        self.store_form = self.form(lowering.store_cycles)
        self.begin_form = self.form(self.costs.begin)
        self._load_form = self.form(lowering.load_cycles)
        self._context_form = self.form(self.costs.begin + self.costs.context)
        self._read_barrier_form = self.wait_form(self.read_counter, lowering.register_cycles)
        self._write_barrier_form = self.wait_form(self.write_counter, lowering.register_cycles)

    def follow(self, kernel: Issuer) -> None:
        super().follow(kernel)
        self.reads = self.writes = 0

    def finish(self) -> None:
        """End the kernel."""
        self.add(self.form(0))
        self.close()

    def set_values(self, entries: Sequence[int], values: np.ndarray) -> None:
        """Give entries of the closed log the values that they wait for."""
        self._entries[entries, 3] = values

    # Forms

    def form(self, cycles: float, tag: int = 0, code: int = NO_ROW, *operands: int) -> int:
        """The number of a form."""
        return self.forms.setdefault((cycles, tag, code, *operands, *_REST[len(operands) :]), len(self.forms))

    def wait_form(self, counter: int, cycles: float) -> int:
        """The form of a wait for a counter; an entry of it with the value 0 has no row."""
        return self.form(cycles, 0, _WAIT, counter)

    def add_form(self, counter: int, amount: int, cycles: float) -> int:
        """The form of an addition to a counter."""
        return self.form(cycles, 0, _ADD, counter, amount)

    def change_form(self, counter: int) -> int:
        """The form of a change of a semaphore on this core."""
        return self.add_form(counter, 1, self.lowering.store_cycles)

    def meet_form(self, counter: int) -> int:
        """The form of a wait for a change of a semaphore."""
        return self.wait_form(counter, self.lowering.load_cycles)

    def signal_form(self, core: Core, counter: int) -> int:
        """The form of a transfer that adds 1 to a counter of a semaphore on a core."""
        lowering, cycles = self.lowering, self.costs.begin + self.costs.write
        route = self.route(self.places.l1(core), RouteKind.WRITE)
        return self._write_form(cycles, lowering.signal_tag, route, lowering.signal_bytes, counter)

    def page_form(self, page: int, nbytes: int) -> int:
        """The form of a read of one packet from a page."""
        bank = page % self.lowering.banks
        key = bank << 32 | nbytes
        found = self._page_forms.get(key)
        if found is None:
            cycles, route = self._page_cycles, self.route(self.lowering.bank_nodes[bank], RouteKind.READ)
            found = self._page_forms[key] = self._read_form(cycles, route, nbytes)
        return found

    def _read_form(self, cycles: float, route: int, nbytes: int) -> int:
        return self.form(
            cycles, self.lowering.read_tag, _MOVE, route, nbytes, 0, self.read_counter, self.read_server, NONE
        )

    def _write_form(self, cycles: float, tag: int, route: int, nbytes: int, arrive: int = NONE) -> int:
        return self.form(cycles, tag, _MOVE, route, nbytes, 0, self.write_counter, self.write_server, arrive)

    def route(self, node: int, kind: RouteKind) -> int:
        """The route between this interface and a memory."""
        key = (node, int(kind))
        found = self._routes.get(key)
        if found is None:
            end = self._dram_side if node in self.lowering.bank_nodes else self.interface
            found = self._routes[key] = self.lowering.routing.route(end, node, Intent.ALL, kind)
        return found

    def add(self, form: int, value: int = 0) -> None:
        """Add an entry."""
        kernel = self.kernel
        self.log += (kernel.c, kernel.line, form, value)

    # The processor and its own memory

    def load(self) -> None:
        """Read a word of L1 by the processor."""
        self.add(self._load_form)

    def store(self) -> None:
        """Write a word of L1 by the processor."""
        self.add(self.store_form)

    def add_arrival(self, counter: int) -> None:
        """Count a write by the processor of this core."""
        self.add(self.add_form(counter, 1, 0))

    def wait_arrival(self, counter: int, value: int) -> None:
        """Wait for so many writes."""
        self.add(self.wait_form(counter, 0), value)

    # Transactions

    def _transfer(self, node: int, nbytes: int, find_cycles: float, *, write: bool, arrive: int = NONE) -> None:
        """Start a transaction in packets of the network; 1 is added to a counter when the last has arrived.

        `find_cycles` is what it takes to know from where and to where.
        """
        packet, route = self.lowering.packet_bytes, self.route(node, RouteKind.WRITE if write else RouteKind.READ)
        issue, sent = self.costs.write if write else self.costs.read, 0
        while True:
            size, cycles = min(nbytes, packet), issue if sent else find_cycles + issue
            nbytes, sent = nbytes - size, sent + 1
            if write:
                form = self._write_form(cycles, self.lowering.write_tag, route, size, NONE if nbytes else arrive)
            else:
                form = self._read_form(cycles, route, size)
            self.add(form)
            if not nbytes:
                break
        if write:
            self.writes += sent
        else:
            self.reads += sent

    def read_core(self, core: Core, nbytes: int) -> None:
        """Read from the L1 of a core."""
        self._transfer(self.places.l1(core), nbytes, self.costs.begin, write=False)

    def write_core(self, core: Core, nbytes: int, arrive: int = NONE) -> None:
        """Write to the L1 of a core; 1 is added to a counter when all is there."""
        self._transfer(self.places.l1(core), nbytes, self.costs.begin, write=True, arrive=arrive)

    def read_dram(self, part: GlobalBuffer, first: int, count: int) -> None:
        """Read elements of a global buffer; most reads are in one page, and one packet."""
        page, end = first // part.page, first + count
        nbytes = part.fmt.bytes_of(count)
        if first < 0 or end > part.size or end > (page + 1) * part.page or nbytes > self.lowering.packet_bytes:
            self._pages(part, first, count, write=False)
            return
        self.add(self.page_form(page, nbytes))
        self.reads += 1

    def write_dram(self, part: GlobalBuffer, first: int, count: int) -> None:
        """Write elements of a global buffer."""
        self._pages(part, first, count, write=True)

    def _pages(self, part: GlobalBuffer, first: int, count: int, *, write: bool) -> None:
        """A transaction for each page of a chunk; what is outside of the buffer goes to no bank and costs its issue."""
        page, costs = part.page, self.costs
        find_cycles = costs.begin + costs.pages + costs.page
        at, end = max(first, 0), min(first + count, part.size)
        if at >= end:
            self.add(self.form(find_cycles + (costs.write if write else costs.read)))
        while at < end:
            number = at // page
            stop = min((number + 1) * page, end)
            self._transfer(self.lowering.bank_of(number), part.fmt.bytes_of(stop - at), find_cycles, write=write)
            at, find_cycles = stop, costs.page

    def begin_moves(self) -> None:
        """Set up the registers for moves inside L1."""
        self.add(self._context_form)

    def move(self, nbytes: int) -> None:
        """Move inside L1 with registers that are set up."""
        route = self.route(self.places.l1(self.core), RouteKind.READ)
        self.add(self._read_form(self.costs.begin + self.costs.move, route, nbytes))
        self.reads += 1

    def signal(self, form: int) -> None:
        """Change a value on a core."""
        self.add(form)
        self.writes += 1

    def read_barrier(self) -> None:
        """Wait for all reads."""
        self.add(self._read_barrier_form, self.reads)

    def write_barrier(self) -> None:
        """Wait for all writes."""
        self.add(self._write_barrier_form, self.writes)

    # Multicasts: one traversal of the network, in which a payload is copied where the tree forks

    def multicast(self, cores: Sequence[Core], nbytes: int, arrive: Sequence[int]) -> Row:
        """Write to the L1 of many cores in packets of the network; the last adds 1 to the counter of each, or NONE.

        Returns the row of its first packet.
        """
        first = self.count + 1  # after the row of its issue
        self.add(self.begin_form)
        packet, tag = self.lowering.packet_bytes, self.lowering.multicast_tag
        while cores and nbytes > 0:
            size = min(nbytes, packet)
            nbytes -= size
            self._send(cores, size, tag, (NONE,) * len(cores) if nbytes else arrive)
        return self.id, min(first, self.count - 1)

    def multicast_signal(self, cores: Sequence[Core], counters: Sequence[int]) -> None:
        """Change a semaphore on many cores; each changes when its own signal arrives."""
        self.add(self.begin_form)
        if cores:
            self._send(cores, self.lowering.signal_bytes, self.lowering.signal_tag, counters)

    def _send(self, cores: Sequence[Core], nbytes: int, tag: int, arrive: Sequence[int]) -> None:
        """Write some bytes to many cores; 1 is added to the counter of each, if it has one, when they are there."""
        key = cores, nbytes, tag, arrive
        forms = self._multicasts.get(key)
        if forms is None:
            forms = self._multicasts[key] = self._multicast_forms(*key)
        for form in forms:
            self.add(form)
        self.writes += 1

    def _multicast_forms(self, cores: Sequence[Core], nbytes: int, tag: int, arrive: Sequence[int]) -> list[int]:
        """The form of a transfer, and for each destination of its route the form of its arrival."""
        routing, cycles, nodes = self.lowering.routing, self.costs.write, [self.places.l1(core) for core in cores]
        if len(nodes) == 1:
            return [self._write_form(cycles, tag, self.route(nodes[0], RouteKind.WRITE), nbytes, arrive[0])]
        route = routing.multicast(self.interface, nodes, Intent.ALL, RouteKind.WRITE)
        counters = dict(zip(nodes, arrive, strict=True))
        arrivals = [self.form(0, 0, _ARRIVE, counters[node]) for node in routing.destinations(route)]
        return [self._write_form(cycles, tag, route, nbytes), *arrivals]

    def pipe(self, part: PipePart) -> DataflowPipeRows:
        """The entries of a pipe."""
        return DataflowPipeRows(self, part)


class DataflowPipeRows:
    """The entries of a pipe in the log of a kernel that moves data."""

    def __init__(self, rows: DataflowRows, part: PipePart) -> None:
        self._rows, cycles = rows, rows.lowering.register_cycles
        self._pushed, self._popped = part.counters
        self._room_form, self._tiles_form = (rows.wait_form(one, cycles) for one in (self._popped, self._pushed))
        self.set_frame(part.frame or part.tiles)

    def set_frame(self, tiles: int) -> None:
        """Set how many tiles are pushed and popped at once."""
        rows, cycles = self._rows, self._rows.lowering.register_cycles
        self._push_form, self._pop_form = (rows.add_form(one, tiles, cycles) for one in (self._pushed, self._popped))

    def wait_room(self, popped: int) -> None:
        """Wait until so many tiles in all were popped."""
        self._rows.add(self._room_form, popped)

    def push(self) -> Row:
        """Count the tiles of a frame as pushed."""
        self._rows.add(self._push_form)
        return self._rows.last_row()

    def wait_tiles(self, pushed: int) -> None:
        """Wait until so many tiles in all were pushed."""
        self._rows.add(self._tiles_form, pushed)

    def pop(self) -> None:
        """Count the tiles of a frame as popped."""
        self._rows.add(self._pop_form)
