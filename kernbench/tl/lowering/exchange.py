"""Lower sends and receives to rows of a PE's thread.

A send waits for a free slot, hands its message to the PE's queue and DMA and goes on. A token passes the queue, then holds the
write channel until the last byte is at the other PE, whose slot is written before the arrival is counted. A receive waits for
the arrival, reads the slot, and returns it with a credit that takes time but no bandwidth. A send to several neighbours waits
for a slot at each of them; see `multicast` for what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kernbench.program.ops import GE, NONE, Op
from kernbench.program.rows import count_rows, pack_row
from kernbench.tl.language.errors import fail
from kernbench.tl.lowering.any_source_recv import choose

if TYPE_CHECKING:
    from kernbench.program.op_semantics import Multicast, Recv, Send
    from kernbench.tl.language.tensor_type import TensorType
    from kernbench.tl.lowering.any_source_recv import Pause
    from kernbench.tl.lowering.ipcq import PeQueues
    from kernbench.tl.lowering.queue import Queue
    from kernbench.tl.pe import PeContext

_EXEC, _MOVE, _WAIT, _PIPE = int(Op.EXEC), int(Op.MOVE), int(Op.WAIT), int(Op.PIPE)  # plain ints: see `lower`


class Exchange:
    """The messages of one kernel. `schedule` are the rows of the PE's scheduler; `pause` is for receives from any source."""

    def __init__(self, pe: PeContext, schedule: bytes, pause: Pause | None) -> None:
        program = pe.program
        self._pe, self._thread, self._schedule, self._pause = pe, pe.thread, schedule, pause
        self._send_tag, self._credit_tag = program.tag("send", "memory"), program.tag("credit", "control")
        self._tags = program.tag("ipcq"), program.tag("message", "memory"), program.tag("slot_write", "memory")
        self._arrival_tag, self._read_tag = program.tag("recv", "control"), program.tag("slot_read", "memory")
        self._overhead, self._lead = program.duration(("pe_ipcq.overhead", 1)), program.duration(("pe_dma.overhead", 1))
        self._read = program.counter(f"the reading of a slot of {pe.path}")
        self._stages: dict[tuple[Queue, int], bytes] = {}  # of a message, by its queue and bytes
        self._reads: dict[tuple[Queue, int], bytes] = {}
        self._outward: dict[str, Queue] = {}
        self._inward: dict[str, Queue] = {}

    def send(self, note: Send, type: TensorType, before: Callable[[], object] | None = None) -> int:
        """Wait for a slot and start the message; returns its plan. `before` is called when there is a slot.

        Errors: KernelError for a message larger than a slot.
        """
        nbytes = type.nbytes
        queue = self._outward.get(note.direction) or self._find_outward(note.direction)
        note.index, wait = self._take_slot(queue, note.direction, type)
        note.queue, note.slot = queue.name, queue.slot(note.index)
        rows = self._schedule + wait
        if before is not None:
            self._thread.extend(rows)
            before()
            rows = b""
        stages = self._stages.get((queue, nbytes)) or self._write_stages(queue, nbytes)
        plan = self._pe.program.token(stages, note)
        at = count_rows(rows)
        self._thread.extend(rows + pack_row(self._send_tag, _PIPE, plan, queue.arrived, 0, 0, 0, 0, 0), at, note)
        return plan

    def multicast(self, note: Multicast, type: TensorType, before: Callable[[], object] | None = None) -> None:
        """Wait for a slot at every neighbour and start the message to all of them. `before` as of `send`.

        Errors: KernelError as `send`, and for two directions that lead to one PE.
        """
        queues = [self._outward.get(direction) or self._find_outward(direction) for direction in note.directions]
        _check_apart(note.directions, queues)
        rows, indices = self._schedule, list[int]()
        for direction, queue in zip(note.directions, queues, strict=True):
            index, wait = self._take_slot(queue, direction, type)
            indices.append(index)
            rows += wait
        if before is not None:
            self._thread.extend(rows)
            before()
            rows = b""
        multicasts = self._queues("send", None).multicasts
        at, server = count_rows(rows), self._pe.place.ipcq_server
        post = pack_row(self._send_tag, _EXEC, server, self._overhead, multicasts.posted, 0, 0, 0, 0)
        self._thread.extend(rows + post, at, note)
        source = self._thread.source_of(self._thread.row_count)
        note.deliveries = multicasts.start(queues, indices, type.nbytes, source)

    def _take_slot(self, queue: Queue, direction: str, type: TensorType) -> tuple[int, bytes]:
        """Number the next message of a queue; returns the number, and the rows that wait for its slot."""
        nbytes, index = type.nbytes, queue.sent
        if nbytes > queue.ring.slot_bytes:
            fail(
                f"tl.send got {nbytes} bytes for {direction!r}, whose slots have {queue.ring.slot_bytes}",
                "send it in pieces, or give the process group larger slots",
            )
        queue.sent_types[index] = type
        queue.sent += 1
        _agree("send", queue, index, nbytes)
        freed = index + 1 - queue.ring.n_slots
        wait = pack_row(self._credit_tag, _WAIT, queue.credited, GE, freed, 0, 0, 0, 0) if freed > 0 else b""
        return index, wait

    def post(self, note: Recv) -> None:
        """Decide which message a receive will take."""
        self._thread.extend(self._schedule)
        if note.direction is None:
            note.direction = choose(self._queues("recv", None), self._thread, self._pause)
        queue = self._find_queue(note)
        note.queue, note.index, note.slot = queue.name, queue.received, queue.slot(queue.received)
        queue.received += 1

    def learn(self, note: Recv) -> None:
        """Wait until a message has arrived, and set the shape and dtype of the receive to those of the message."""
        queue = self._find_queue(note)
        self._thread.wait(queue.arrived, note.index + 1)
        assert self._pause is not None  # since the kernel has neighbours
        self._thread.ask()
        self._pause()
        type = queue.sent_types[note.index]
        note.shape, note.dtype = type.shape, type.dtype

    def take(self, note: Recv, nbytes: int) -> None:
        """Wait until a message has arrived, read its slot and give the slot back."""
        queue = self._find_queue(note)
        _agree("recv", queue, note.index, nbytes)
        queue.sent_types.pop(note.index, None)
        rows = pack_row(self._arrival_tag, _WAIT, queue.arrived, GE, note.index + 1, 0, 0, 0, 0)
        if note.consume:
            rows += self._reads.get((queue, nbytes)) or self._write_read(queue, nbytes)
        if freed := queue.give_back(note.index):
            rows += freed * pack_row(0, _MOVE, queue.home, 0, 0, NONE, NONE, queue.credited, queue.credit)
        self._thread.extend(rows, int(note.consume), note)

    def find_slot(self, note: Recv) -> tuple[str, int]:
        """The memory and the address of the slot of a message."""
        queue = self._find_queue(note)
        return queue.ring.tier, queue.address(note.index)

    def _write_stages(self, queue: Queue, nbytes: int) -> bytes:
        """The stages of a message after its send: the queue, the transfer, the write of the slot."""
        place, (queue_tag, message_tag, write_tag) = self._pe.place, self._tags
        rows = self._stages[queue, nbytes] = (
            pack_row(queue_tag, _EXEC, place.ipcq_server, self._overhead, NONE, 0, 0, 0, 0)
            + pack_row(message_tag, _MOVE, queue.route, nbytes, 0, NONE, place.dma_write, NONE, self._lead)
            + pack_row(write_tag, _EXEC, queue.write, queue.write_duration(nbytes), NONE, 0, 0, 0, 0)
        )
        return rows

    def _write_read(self, queue: Queue, nbytes: int) -> bytes:
        """The rows that read a slot."""
        read = pack_row(self._read_tag, _EXEC, queue.read, queue.read_duration(nbytes), self._read, 0, 0, 0, 0)
        rows = self._reads[queue, nbytes] = read + pack_row(0, _WAIT, self._read, GE, 1, 1, 0, 0, 0)
        return rows

    def _find_queue(self, note: Recv) -> Queue:
        assert note.direction is not None
        found = self._inward.get(note.direction)
        if found is None:
            found = self._inward[note.direction] = self._queues("recv", note.direction).inward(note.direction)
        return found

    def _find_outward(self, direction: str) -> Queue:
        found = self._outward[direction] = self._queues("send", direction).outward(direction)
        return found

    def _queues(self, primitive: str, direction: str | None) -> PeQueues:
        queues = self._pe.queues
        if queues is None:
            fail(
                f"tl.{primitive} was called on {self._pe.path}, which has no neighbours",
                "let the host call torch.distributed.init_process_group first",
            )
        if direction is not None and direction not in queues.directions:
            fail(
                f"tl.{primitive} got the direction {direction!r}, where {self._pe.path} has no neighbour",
                f"it has one at {', '.join(queues.directions)}",
            )
        return queues


def _check_apart(directions: Sequence[str], queues: Sequence[Queue]) -> None:
    """Check that no two directions lead to the same PE. Errors: KernelError."""
    found: dict[str, str] = {}
    for direction, queue in zip(directions, queues, strict=True):
        other = found.setdefault(queue.receiver, direction)
        if other != direction:
            fail(f"tl.send got {other!r} and {direction!r}, which both lead to {queue.receiver}", "give one of them")


def _agree(primitive: str, queue: Queue, index: int, nbytes: int) -> None:
    other = queue.agree(index, nbytes)
    if other is not None:
        fail(
            f"tl.{primitive} has {nbytes} bytes for message {index} from {queue.source} to {queue.target}, where the other "
            f"end has {other}",
            "give both ends one shape and dtype",
        )
