"""Lower multicasts of a kernel: one message to several neighbours, which crosses each link of a tree once.

The kernel's thread can neither wait for the queue of its PE nor for arrivals. So a thread beside the PE's DMA starts each
transfer when the queue has passed it, and holds the write channel until all neighbours have the message. At each neighbour a
thread beside its queue writes the slot when the last byte is there, which counts as the arrival at that neighbour alone.
All these threads are made together, so their order is the same in recorded and in live runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernbench.machine.families.sip.places import pe_path
from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.op_semantics import Delivery
from kernbench.program.ops import GE, NONE, Op
from kernbench.program.rows import pack_multicast, pack_row
from kernbench.tl.lowering.queue_thread import Answers, QueueThread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernbench.machine.families.sip.places import PePlace
    from kernbench.program.program import Program
    from kernbench.tl.lowering.queue import Queue


_EXEC, _WAIT = int(Op.EXEC), int(Op.WAIT)


class Landings:
    """The end of multicasts in one queue: each message that has come is written to its slot."""

    __slots__ = ("_landed", "_queue", "_tag", "_thread", "landed")

    def __init__(self, program: Program, queue: Queue, thread: QueueThread) -> None:
        self.landed = program.counter(f"multicasts from {queue.source} at {queue.target}")
        self._thread, self._queue, self._tag = thread, queue, program.tag("slot_write", "memory")
        self._landed = 0

    def write(self, index: int, nbytes: int, source: int) -> Delivery:
        """Write the slot of the next multicast in the queue when it has come. `source`: the line that sent it."""
        queue = self._queue
        self._landed += 1
        wait = pack_row(0, _WAIT, self.landed, GE, self._landed, 0, 0, 0, 0)
        write = pack_row(self._tag, _EXEC, queue.write, queue.write_duration(nbytes), queue.arrived, 0, 0, 0, 0)
        row = self._thread.extend(wait + write, source) + 1
        return Delivery(queue.name, index, queue.slot(index), self._thread.thread.id, row)


class Multicasts:
    """The multicasts of one PE; `ends` has the thread beside each queue, by the name of the queue."""

    __slots__ = ("_count", "_dma", "_ends", "_hold", "_landings", "_lead", "_program", "_tags", "_thread", "posted")

    def __init__(self, program: Program, place: PePlace, ends: Mapping[str, str], answers: Answers) -> None:
        path, part = pe_path(place.sip, place.cube, place.pe), program.machine.node_name[place.dma]
        self.posted = program.counter(f"multicasts that the queue of {path} has passed")
        self._thread = QueueThread(program, f"{part}/multicasts", answers)
        self._ends = {queue: QueueThread(program, f"{end}/slots of {queue}", answers) for queue, end in ends.items()}
        self._landings: dict[str, Landings] = {}
        self._program, self._dma, self._hold = program, place.dma, place.dma_write
        self._lead = program.duration(("pe_dma.overhead", 1))
        self._tags = program.tag("multicast", "memory"), program.tag("arrival", "control")
        self._count = 0

    def start(self, queues: Sequence[Queue], indices: Sequence[int], nbytes: int, source: int) -> tuple[Delivery, ...]:
        """Start the next multicast when it is posted: message `indices[i]` of `queues[i]`. `source`: the line that sends it."""
        routing = self._program.machine.routing
        ends = {queue.receiver_place.dma: self._of(queue) for queue in queues}
        route = routing.multicast(self._dma, list(ends), Intent.PE_DMA, RouteKind.MESSAGE)
        arrive = [ends[node].landed for node in routing.destinations(route)]
        self._count += 1
        wait = pack_row(0, _WAIT, self.posted, GE, self._count, 0, 0, 0, 0)
        move = pack_multicast(route, nbytes, arrive, 0, NONE, self._hold, self._lead, self._tags)
        self._thread.extend(wait + move, source)
        return tuple(self._of(queue).write(index, nbytes, source) for queue, index in zip(queues, indices, strict=True))

    def close(self) -> None:
        """Make the threads ready for rows that follow during the run, see `QueueThread.close`."""
        self._thread.close()
        for end in self._ends.values():
            end.close()

    def _of(self, queue: Queue) -> Landings:
        found = self._landings.get(queue.name)
        if found is None:
            found = self._landings[queue.name] = Landings(self._program, queue, self._ends[queue.name])
        return found
