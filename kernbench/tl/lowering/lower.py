"""Lower the commands of a kernel to rows of its PE's thread, with the cost and the server of each.

A call first passes the scheduler. A blocking call then passes its stages, each a job of a server that the thread waits for;
a composite starts its plan and is waited for separately. Rows that repeat are packed once and appended as bytes, since a
kernel may make a million calls.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.program.op_semantics import Dot, Load, Math, Multicast, Recv, Ref, Send, Store
from kernbench.program.ops import GE, NONE, Op
from kernbench.program.rows import count_rows, pack_row
from kernbench.tl.language.context_base import Work
from kernbench.tl.language.errors import fail
from kernbench.tl.language.handle import TensorHandle, reference_handle
from kernbench.tl.language.tensor_type import type_of
from kernbench.tl.lowering.dma_access import Access
from kernbench.tl.lowering.exchange import Exchange
from kernbench.tl.lowering.plan import add_plan
from kernbench.tl.lowering.plan_outline import SERVERS
from kernbench.tl.lowering.source_lines import OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from kernbench.machine.costs import Terms
    from kernbench.tl.language.handle import CompletionHandle
    from kernbench.tl.lowering.any_source_recv import Pause
    from kernbench.tl.pe import PeContext

_SPACE_OF = {"hbm_ctrl": "hbm", "sram": "sram", "pe_tcm": "tcm"}  # by the kind of the memory
_SERVERS_OF = attrgetter(*SERVERS)
# Plain ints: an enum's attribute costs a lookup.
_DELAY, _EXEC, _MOVE, _WAIT = int(Op.DELAY), int(Op.EXEC), int(Op.MOVE), int(Op.WAIT)


class Lowering:
    """A runner that writes the rows of one kernel on one PE; handles have no data."""

    def __init__(self, pe: PeContext, pause: Pause | None = None) -> None:
        program, place, figures = pe.program, pe.place, pe.machine.figures
        self.pe = pe
        self.thread = pe.thread
        self._most_rows = pe.thread.row_count + program.most_ops - program.issued_ops
        self.tag, self.costs = program.tag, pe.machine.costs
        self.tile = (int(figures["pe.tile_m"]), int(figures["pe.tile_k"]), int(figures["pe.tile_n"]))
        self.burst_bytes = int(figures["hbm.burst_bytes"])
        self._reads, self._writes = Access(pe, write=False), Access(pe, write=True)
        self.fetch_tag, self.store_tag = program.tag("fetch", "memory"), program.tag("store", "memory")
        self.lead = program.duration(("pe_mmu.tlb", pe.lookups), ("pe_dma.overhead", 1))
        self.servers = (*_SERVERS_OF(place), self.lead)
        self._read_channel = (place.dma_read, program.tag("dma_read", "memory"))
        self._write_channel = (place.dma_write, program.tag("dma_write", "memory"))
        self._dispatch_tag = program.tag("dispatch", "control")
        self._engines = {"gemm": place.gemm_server, "math": place.math_server}
        self._done = program.counter(f"the end of a call of {pe.path}")
        self._composites = 0
        self._duration = program.duration
        self._calls: dict[Work, bytes] = {}
        self._delays: dict[int, bytes] = {}  # by cycles
        self._known_lines = pe.lines.known
        self._source_rows, self._source_lines = pe.thread.sources
        self._wait = self._await(1)
        schedule = program.duration(("pe_scheduler.overhead", 1))
        self._schedule = self._job(place.scheduler_server, schedule, program.tag("schedule", "control"))
        self._exchange = Exchange(pe, self._schedule, pause)

    def begin_call(self, frame: FrameType, /) -> None:
        """Note the kernel's line for the rows that follow, as `Thread.begin_source`; inline, since kernels make many calls."""
        known = self._known_lines
        at: Any = frame
        while (source := known.get((id(at.f_code), at.f_lasti))) == OWN:
            at = at.f_back
        row = self.thread.row_count
        self._source_lines.append(source or self.pe.lines.learn(at))
        self._source_rows.append(row)
        if row > self._most_rows:
            self.pe.program.refuse_ops()

    def delay(self, cycles: int, /) -> None:
        """Keep the PE's CPU busy."""
        self.thread.extend(self._delays.get(cycles) or self._write_delay(cycles))

    def load(self, note: Load, out: TensorHandle, /) -> None:
        """Scheduler, then the transfers of the range on the read channel."""
        self._transfer(note.va, out.type.nbytes, self._schedule, note, write=False)

    def store(self, note: Store, source: TensorHandle, /) -> None:
        """Scheduler, then the transfers of the range on the write channel."""
        self._transfer(note.va, source.type.nbytes, self._schedule, note, write=True)

    def compute(self, note: Dot | Math, work: Work, inputs: tuple[TensorHandle, ...], out: TensorHandle, /) -> None:  # noqa: ARG002
        """Scheduler, operands out of TCM, the engine, the result into TCM."""
        self.thread.extend(self._calls.get(work) or self._write_call(work), 4, note)  # it is the engine's row

    def composite(self, completion: CompletionHandle, /) -> None:
        """Scheduler, then the start of all tokens of the plan."""
        program, note = self.pe.program, completion.note
        plan = completion.plan = add_plan(completion, self)
        self._composites += 1
        completion.counter = program.counter(f"the end of composite {self._composites} of {self.pe.path}")
        self.thread.extend(self._schedule)
        self.thread.note(self.thread.pipe(plan, completion.counter, self.tag("composite", "composite")), note)

    def wait(self, completion: CompletionHandle, /) -> None:
        """Wait until the last token of the plan has left its last stage."""
        self.thread.wait(completion.counter, 1)

    def send(self, note: Send, source: TensorHandle, /) -> None:
        """Scheduler, a free slot, then the DMA continues with the message while the kernel goes on."""
        self._exchange.send(note, source.type)

    def multicast(self, note: Multicast, source: TensorHandle, /) -> None:
        """Scheduler, a free slot at each neighbour, then the DMA continues with the message while the kernel goes on."""
        self._exchange.multicast(note, source.type)

    def post(self, note: Recv, /) -> None:
        """Scheduler, and the choice of the message."""
        self._exchange.post(note)

    def learn(self, note: Recv, /) -> None:
        """Of a receive without a shape the arrival, which says shape and dtype."""
        if not note.shape:
            self._exchange.learn(note)

    def receive(self, note: Recv, /) -> TensorHandle:
        """Arrival, read of the slot, and the copy if one is asked for."""
        self.learn(note)
        nbytes = type_of(note.shape, note.dtype).nbytes
        if note.out_tcm is not None:
            self.check_place("recv", "dst_addr", note.out_tcm, nbytes, "tcm")
        elif note.out_va is not None:
            self.check_place("recv", "dst_addr", note.out_va, nbytes, note.out_space)
        self._exchange.take(note, nbytes)
        out = self._received(note)
        self._deliver(note, out)
        if note.out_tcm is not None:
            duration = self._duration(*self.costs.store(nbytes))
            self.thread.extend(self._job(self.pe.place.tcm_write, duration, self.store_tag))
        elif note.out_va is not None:
            self._transfer(note.out_va, nbytes, b"", None, write=True)
        return out

    def check_place(self, primitive: str, argument: str, address: int, nbytes: int, space: str, /) -> None:
        """Check that a range lies in the memory that its space names. Errors: KernelError."""
        got = f"tl.{primitive} got {argument}={address:#x} in {space!r} for {nbytes} bytes"
        if space == "tcm":
            size = int(self.pe.machine.figures["pe_tcm.bytes"])
            if not 0 <= address <= size - nbytes:
                remedy = "give an offset in it, such as `offset` of a buffer of torch.reserve"
                fail(f"{got}, but the TCM of {self.pe.path} has {size:#x} bytes", remedy)
            return
        for node, _, _ in (self.pe.peek or self.pe.translate)(address, nbytes):
            found = _SPACE_OF[self.pe.machine.node_kind[node]]
            if found != space:
                fail(f"{got}, which are in {self.pe.machine.node_name[node]}", f"give the space {found!r}")

    def _received(self, note: Recv) -> TensorHandle:
        if note.out_va is not None:
            return reference_handle(Ref(note.out_va, note.shape, note.dtype, note.out_space), on_demand=True)
        space, address = ("tcm", note.out_tcm) if note.out_tcm is not None else self._exchange.find_slot(note)
        return TensorHandle(note.out, address, type_of(note.shape, note.dtype), space, space != "tcm")

    def _deliver(self, note: Recv, out: TensorHandle) -> None:
        """Called when a message has been read from its slot."""

    def read_data(self, handle: TensorHandle, /) -> np.ndarray:
        """Errors: KernelError; a recorded kernel has no data."""
        fail(
            f"the kernel reads the data of {handle!r}, but recorded kernels have none",
            "run it live: @bench(..., live=True) or --live",
        )

    # For plans

    def access(self, write: bool) -> Access:
        """Access to memory: writes or reads."""
        return self._writes if write else self._reads

    def durations(self, cost: Callable[..., Terms], *columns: np.ndarray) -> np.ndarray:
        """int64[n] the program's durations for the cost of each row of the columns; equal rows are looked up once."""
        found = unique_rows(np.column_stack(columns))
        return np.array([self._duration(*cost(*row)) for row in found.rows.tolist()], np.int64)[found.which]

    def _transfer(self, va: int, nbytes: int, before: bytes, note: Load | Store | None, *, write: bool) -> None:
        self._move(self.access(write).find(va, nbytes), before, note, write=write)

    def _move(
        self, transfers: Sequence[tuple[int, int, int]], before: bytes, note: Load | Store | None, *, write: bool
    ) -> None:
        """Write `before`, the transfers of a range and the wait; the note goes to the transfer, or to the wait for several."""
        server, tag = self._write_channel if write else self._read_channel
        rows, done, lead = before, self._done, self.lead
        for route, size, stripe in transfers:
            rows += pack_row(tag, _MOVE, route, size, stripe, done, server, NONE, lead)
        if len(transfers) == 1:
            self.thread.extend(rows + self._wait, count_rows(before), note)
        else:
            self.thread.extend(rows + self._await(len(transfers)), count_rows(rows), note)

    def _write_delay(self, cycles: int) -> bytes:
        row = pack_row(self._dispatch_tag, _DELAY, self._duration(("pe_cpu.cycle", cycles)), 0, 0, 0, 0, 0, 0)
        self._delays[cycles] = row
        return row

    def _write_call(self, work: Work) -> bytes:
        place, costs = self.pe.place, self.costs
        read = self._job(place.tcm_read, self._duration(*costs.fetch(work.read_bytes)), self.fetch_tag)
        cost = costs.work(work.engine, work.asked)
        engine = self._job(self._engines[work.engine], self._duration(*cost), self.tag(work.name, work.engine))
        write = self._job(place.tcm_write, self._duration(*costs.store(work.write_bytes)), self.store_tag)
        rows = self._calls[work] = self._schedule + read + engine + write
        return rows

    def _job(self, server: int, duration: int, tag: int) -> bytes:
        """A job of a server and the wait for it."""
        return pack_row(tag, _EXEC, server, duration, self._done, 0, 0, 0, 0) + self._wait

    def _await(self, count: int) -> bytes:
        """The wait for a number of ends."""
        return pack_row(0, _WAIT, self._done, GE, count, count, 0, 0, 0)
