"""Sends and receives as rows of a PE's thread.

A send waits for a free slot, then leaves its message to the PE's queue and DMA and goes on: a token passes the queue, then
holds the write channel until the last byte is at the other PE, whose slot is written before anybody is told. A receive waits
for that, reads the slot, and gives it back with a credit that only takes time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.ops import NONE, Op
from kernbench.tl.errors import fail
from kernbench.tl.watch import choose

if TYPE_CHECKING:
    from kernbench.program.notes import Recv, Send
    from kernbench.tl.ipcq import Ports, Queue
    from kernbench.tl.pe import PeContext
    from kernbench.tl.watch import Pause


class Exchange:
    """The messages of one kernel. `pause` is for receives from anywhere; see `watch`."""

    def __init__(self, pe: PeContext, pause: Pause | None) -> None:
        program = pe.program
        self._pe, self._thread, self._pause = pe, pe.thread, pause
        self._send_tag, self._move_tag = program.tag("send", "memory"), program.tag("message", "memory")
        self._write_tag, self._read_tag = program.tag("slot_write", "memory"), program.tag("slot_read", "memory")
        self._arrival_tag, self._credit_tag = program.tag("recv", "control"), program.tag("credit", "control")
        self._queue_tag = program.tag("ipcq", "control")
        self._overhead, self._lead = program.duration(("pe_ipcq.overhead", 1)), program.duration(("pe_dma.overhead", 1))
        self._read = program.counter(f"the reading of a slot of {pe.path}")

    def send(self, note: Send, nbytes: int) -> None:
        """Wait for a slot and start the message. Errors: KernelError for one that no slot holds."""
        queue = self._ports("send", note.direction).outward(note.direction)
        slots = queue.ring.n_slots
        if nbytes > queue.ring.slot_bytes:
            fail(
                f"tl.send got {nbytes} bytes for {note.direction!r}, whose slots have {queue.ring.slot_bytes}",
                "send it in pieces, or give the process group larger slots",
            )
        note.queue, note.index = queue.name, queue.sent
        queue.sent += 1
        _agree("send", queue, note.index, nbytes)
        if note.index >= slots:
            self._thread.wait(queue.credited, note.index - slots + 1, tag=self._credit_tag)
        stages = (
            (Op.EXEC, self._pe.place.ipcq_server, self._overhead, NONE, 0, 0, 0, 0),
            (Op.MOVE, queue.route, nbytes, 0, NONE, self._pe.place.dma_write, NONE, self._lead),
            (Op.EXEC, queue.write, self._pe.program.duration(*queue.write_terms(nbytes)), NONE, 0, 0, 0, 0),
        )
        tags = np.array([self._queue_tag, self._move_tag, self._write_tag], np.int32)
        plan = self._pe.program.plan(np.array(stages, np.int64), np.array([0, 3]), tags, note)
        self._thread.note(self._thread.pipe(plan, queue.arrived, self._send_tag), note)

    def post(self, note: Recv) -> None:
        """Settle which message a receive will take."""
        if note.direction is None:
            note.direction = choose(self._ports("recv", None), self._thread, self._pause)
        queue = self._ports("recv", note.direction).inward(note.direction)
        note.queue, note.index = queue.name, queue.received
        queue.received += 1

    def arrive(self, note: Recv) -> int:
        """Wait until a message is there; answers the row."""
        queue = self._queue(note)
        return self._thread.wait(queue.arrived, note.index + 1, tag=self._arrival_tag)

    def take(self, note: Recv, nbytes: int, arrived: int) -> None:
        """Read the slot and give it back; `arrived` is the row of the wait."""
        queue = self._queue(note)
        _agree("recv", queue, note.index, nbytes)
        row = arrived
        if note.consume:
            duration = self._pe.program.duration(*queue.read_terms(nbytes))
            row = self._thread.exec(queue.read, duration, self._read, self._read_tag)
            self._thread.wait(self._read, 1, take=1)
        self._thread.note(row, note)
        for _ in range(queue.give_back(note.index)):
            self._thread.move(queue.home, 0, arrive=queue.credited, lead=queue.credit)

    def find_slot(self, note: Recv) -> tuple[str, int]:
        """The memory and the address of the slot of a message."""
        queue = self._queue(note)
        return queue.ring.tier, queue.address(note.index)

    def _queue(self, note: Recv) -> Queue:
        assert note.direction is not None
        return self._ports("recv", note.direction).inward(note.direction)

    def _ports(self, primitive: str, direction: str | None) -> Ports:
        ports = self._pe.ports
        if ports is None:
            fail(
                f"tl.{primitive} was called on {self._pe.path}, which has no neighbours",
                "let the host call torch.distributed.init_process_group first",
            )
        if direction is not None and direction not in ports.directions:
            fail(
                f"tl.{primitive} got the direction {direction!r}, where {self._pe.path} has no neighbour",
                f"it has one at {', '.join(ports.directions)}",
            )
        return ports


def _agree(primitive: str, queue: Queue, index: int, nbytes: int) -> None:
    other = queue.agree(index, nbytes)
    if other is not None:
        fail(
            f"tl.{primitive} has {nbytes} bytes for message {index} from {queue.source} to {queue.target}, where the other "
            f"end has {other}",
            "give both ends one shape and dtype",
        )
