"""The script of a kernel that moves data.

An entry of its log is (operations, line, form, value): a form is a row with the cycles before it, the same in many entries, and
the value is that which the row waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.ops import NONE, ROW_WIDTH, Op
from kernbench.tanto.cores.local_end import LocalEnd
from kernbench.tanto.cores.pipe_end import PipeEnd
from kernbench.tanto.cores.semaphore_end import SemaphoreEnd
from kernbench.tanto.cores.transfers import GlobalEnd
from kernbench.tanto.scripts.dataflow_ends import DataflowLocal, DataflowPipe, ScriptSemaphore
from kernbench.tanto.scripts.script import Script, Unscripted
from kernbench.tanto.timing.row_buffer import NO_ROW

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.storage import Core, GlobalBuffer

_MOVE, _ADD, _WAIT, _ARRIVE = int(Op.MOVE), int(Op.ADD), int(Op.WAIT), int(Op.ARRIVE)
_REST = (0,) * ROW_WIDTH
Form = tuple[float | int, ...]  # cycles, and a row: the tag, the opcode and all operands


class DataflowScript(Script):
    """The script of a reader or writer, on its own core.

    Where reads go to is only noted where it has to be: in a script that follows them, which few kernels need.
    """

    width = 4

    def __init__(self, kernel: RunningKernel, *, follows_reads: bool = False) -> None:
        super().__init__(kernel)
        self.rows, self.follows_reads = kernel.flow, follows_reads
        self.reads = self.settled_reads = self.writes = 0  # settled: before the last barrier
        self.banks, self.packet_bytes = self.lowering.banks, self.lowering.packet_bytes
        self.pending: list[tuple[tuple[str, int], int, int]] = []  # reads since the last barrier: to what, first, count
        self.writes_pending = set[tuple[str, int]]()  # from what, since the last barrier
        # What it writes to on other cores; and pipes that it pushes without a read or wait for a semaphore before, and locals
        # that it copies.
        self.far, self.unasked = set[tuple[str, int, "Core"]](), set[tuple[str, int]]()
        self.moves_to: object = None  # what has the context of moves
        self.forms: dict[Form, int] = {}
        self.rectangles: dict[tuple[tuple[int, ...], bool], tuple[Core, ...]] = {}
        self.multicasts: dict[tuple[Any, ...], list[int]] = {}  # forms, by what `multicast` is given
        self.packet_forms: dict[int, int] = {}  # of reads of one packet, by bank << 32 | bytes
        self.meetings: list[int] = []  # entries whose values are known when kernels have met
        lowering, costs = self.lowering, self.lowering.transfer_costs
        self.costs = costs
        self.store_form = self.form(lowering.store_cycles, 0, NO_ROW)
        self.begin_form = self.form(costs.begin, 0, NO_ROW)
        self.context_form = self.form(costs.begin + costs.context, 0, NO_ROW)
        self.read_barrier_form = self.wait_form(lowering.register_cycles, self.rows.read_counter)
        self.write_barrier_form = self.wait_form(lowering.register_cycles, self.rows.write_counter)

    def end_of(self, given: Any) -> Any:
        if isinstance(given, PipeEnd):
            return DataflowPipe(self, given.part)
        if isinstance(given, LocalEnd):
            return DataflowLocal(self, given.id)
        if isinstance(given, SemaphoreEnd):
            return ScriptSemaphore(self, given.part)
        return given.part if isinstance(given, GlobalEnd) else given

    # Entries

    def form(self, cycles: float, tag: int, code: int, *operands: int) -> int:
        """The number of a form."""
        return self.forms.setdefault((cycles, tag, code, *operands, *_REST[1 + len(operands) :]), len(self.forms))

    def wait_form(self, cycles: float, counter: int) -> int:
        """The form of a wait for a counter."""
        return self.form(cycles, 0, _WAIT, counter)

    def add_form(self, cycles: float, counter: int, amount: int) -> int:
        """The form of an addition to a counter."""
        return self.form(cycles, 0, _ADD, counter, amount)

    def add(self, form: int, value: int = 0) -> None:
        """Add an entry."""
        self.log += (self.c, self.line, form, value)

    def finish(self) -> None:
        self.add(self.form(0, 0, NO_ROW))

    # Functions of the language

    def read_barrier(self) -> None:
        """Wait for all reads."""
        self.pending.clear()
        self.settled_reads = self.reads
        self.log += (self.c, self.line, self.read_barrier_form, self.reads)

    def write_barrier(self) -> None:
        """Wait for all writes."""
        self.writes_pending.clear()
        self.log += (self.c, self.line, self.write_barrier_form, self.writes)

    # Transfers

    def move_form(self, cycles: float, tag: int, route: int, nbytes: int, *, write: bool, arrive: int = NONE) -> int:
        """The form of a transfer."""
        rows = self.rows
        counter, server = (rows.write_counter, rows.write_server) if write else (rows.read_counter, rows.read_server)
        return self.form(cycles, tag, _MOVE, route, nbytes, 0, counter, server, arrive)

    def transfer(self, node: int, nbytes: int, *, write: bool, find_cycles: float) -> None:
        """Start a transaction in packets of the network; `find_cycles` is what it takes to know from where and to where."""
        lowering, packet = self.lowering, self.packet_bytes
        route = self.rows.route(node, RouteKind.WRITE if write else RouteKind.READ)
        tag = lowering.write_tag if write else lowering.read_tag
        issue = self.costs.write if write else self.costs.read
        cycles, sent = find_cycles + issue, 1
        while nbytes > packet:
            self.add(self.move_form(cycles, tag, route, packet, write=write))
            nbytes, cycles, sent = nbytes - packet, issue, sent + 1
        self.add(self.move_form(cycles, tag, route, nbytes, write=write))
        if write:
            self.writes += sent
        else:
            self.reads += sent

    def pages(self, part: GlobalBuffer, first: int, count: int, *, write: bool) -> None:
        """A transaction for each page of a chunk; what is outside of the buffer goes to no bank and costs its issue."""
        lowering, page, costs = self.lowering, part.page, self.costs
        find_cycles = costs.begin + costs.pages + costs.page
        at, end = max(first, 0), min(first + count, part.size)
        if at >= end:
            self.add(self.form(find_cycles + (costs.write if write else costs.read), 0, NO_ROW))
        while at < end:
            number = at // page
            stop = min(number * page + page, end)
            nbytes = part.fmt.bytes_of(stop - at)
            self.transfer(lowering.bank_of(number), nbytes, write=write, find_cycles=find_cycles)
            at, find_cycles = stop, costs.page

    def packet_form(self, bank: int, nbytes: int) -> int:
        """The form of a read of one packet from a bank; it is in `packet_forms` then."""
        lowering = self.lowering
        route = self.rows.route(lowering.bank_of(bank), RouteKind.READ)
        cycles = self.costs.begin + self.costs.pages + self.costs.page + self.costs.read
        found = self.move_form(cycles, lowering.read_tag, route, nbytes, write=False)
        self.packet_forms[bank << 32 | nbytes] = found
        return found

    def move(self, nbytes: int) -> None:
        """Move inside L1."""
        lowering, rows = self.lowering, self.rows
        route = rows.route(rows.places.l1(self.core), RouteKind.READ)
        self.add(self.move_form(self.costs.begin + self.costs.move, lowering.read_tag, route, nbytes, write=False))
        self.reads += 1

    def signal_form(self, core: Core, counter: int) -> int:
        """The form of a transfer that adds 1 to a counter on a core."""
        lowering = self.lowering
        route = self.rows.route(self.rows.places.l1(core), RouteKind.WRITE)
        cycles, tag, nbytes = self.costs.begin + self.costs.write, lowering.signal_tag, lowering.signal_bytes
        return self.move_form(cycles, tag, route, nbytes, write=True, arrive=counter)

    # Multicasts

    def find_core(self, x: int, y: int) -> Core:
        """The core at a physical place. Errors: Unscripted if there is none."""
        found = self.run.places.logical((x, y))
        if found is None:
            raise Unscripted
        return found

    def core_at(self, x: int, y: int) -> Core:
        """The core at a physical place, or this one for a negative x. Errors: Unscripted if there is none."""
        return self.core if x < 0 else self.find_core(x, y)

    def find_cores(self, corners: tuple[int, ...], *, with_self: bool) -> tuple[Core, ...]:
        """The cores in a rectangle of physical places, as many as are named or more. Errors: Unscripted."""
        found = self.rectangles.get((corners, with_self))
        if found is None:
            found = tuple(self.run.find_cores(self.kernel, corners, with_self=with_self))
            self.rectangles[corners, with_self] = found
        if corners[4] > len(found) or corners[4] < len(found) - (self.core in found):
            raise Unscripted  # acknowledgements that nobody sends, or that nobody waits for
        return found

    def multicast(self, cores: tuple[Core, ...], nbytes: int, tag: int, arrive: tuple[int, ...]) -> None:
        """Write some bytes to many cores; 1 is added to the counter of each, if it has one, when they are there."""
        key = cores, nbytes, tag, arrive
        forms = self.multicasts.get(key)
        if forms is None:
            forms = self.multicasts[key] = self._multicast_forms(*key)
        for form in forms:
            self.log += (self.c, self.line, form, 0)
        self.writes += 1

    def _multicast_forms(self, cores: tuple[Core, ...], nbytes: int, tag: int, arrive: tuple[int, ...]) -> list[int]:
        rows, routing, cycles = self.rows, self.lowering.routing, self.costs.write
        nodes = [rows.places.l1(core) for core in cores]
        if len(nodes) == 1:
            route = rows.route(nodes[0], RouteKind.WRITE)
            return [self.move_form(cycles, tag, route, nbytes, write=True, arrive=arrive[0])]
        route = routing.multicast(rows.interface, nodes, Intent.ALL, RouteKind.WRITE)
        counters = dict(zip(nodes, arrive, strict=True))
        arrivals = [self.form(0, 0, _ARRIVE, counters[node]) for node in routing.destinations(route)]
        return [self.move_form(cycles, tag, route, nbytes, write=True), *arrivals]
