"""Lower multicasts of a kernel: one message to several neighbours, which crosses each link of a tree once.

The kernel's thread can neither wait for the queue of its PE nor for arrivals. So a thread beside the PE's DMA starts each
transfer when the queue has passed it, and holds the write channel until all neighbours have the message. At each neighbour a
thread beside its queue writes the slot when the last byte is there, which counts as the arrival at that neighbour alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.machine.intents import Intent, RouteKind
from kernbench.machine.part_index import pe_path
from kernbench.program.op_semantics import Delivery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernbench.machine.part_index import PePlace
    from kernbench.program.program import Program
    from kernbench.tl.queue import Queue


class Landings:
    """The end of multicasts in one queue: each message that has come is written to its slot."""

    __slots__ = ("_landed", "_queue", "_tag", "landed", "thread")

    def __init__(self, program: Program, queue: Queue) -> None:
        part = program.machine.node_name[queue.receiver_place.ipcq]
        self.thread = program.thread(f"{part}/slots of {queue.name}")
        self.landed = program.counter(f"multicasts from {queue.source} at {queue.target}")
        self._queue, self._tag = queue, program.tag("slot_write", "memory")
        self._landed = 0

    def write(self, index: int, nbytes: int, source: int) -> Delivery:
        """Write the slot of the next multicast in the queue when it has come. `source`: the line that sent it."""
        queue, thread = self._queue, self.thread
        self._landed += 1
        thread.begin_source(source)
        thread.wait(self.landed, self._landed)
        row = thread.exec(queue.write, queue.write_duration(nbytes), queue.arrived, self._tag)
        return Delivery(queue.name, index, queue.slot(index), thread.id, row)


class Multicasts:
    """The multicasts of one PE. `watchers` gets the threads, which wait for ever if the kernel does."""

    __slots__ = ("_count", "_dma", "_hold", "_lead", "_program", "_tags", "_thread", "_watchers", "posted")

    def __init__(self, program: Program, place: PePlace, watchers: set[int]) -> None:
        path = pe_path(place.sip, place.cube, place.pe)
        self.posted = program.counter(f"multicasts that the queue of {path} has passed")
        self._thread, self._watchers = program.thread(f"{program.machine.node_name[place.dma]}/multicasts"), watchers
        self._program, self._dma, self._hold = program, place.dma, place.dma_write
        self._lead = program.duration(("pe_dma.overhead", 1))
        self._tags = program.tag("multicast", "memory"), program.tag("arrival", "control")
        self._count = 0
        watchers.add(self._thread.id)

    def start(self, queues: Sequence[Queue], indices: Sequence[int], nbytes: int, source: int) -> tuple[Delivery, ...]:
        """Start the next multicast when it is posted: message `indices[i]` of `queues[i]`. `source`: the line that sends it."""
        routing, thread = self._program.machine.routing, self._thread
        ends = {queue.receiver_place.dma: queue.landings() for queue in queues}
        self._watchers |= {landings.thread.id for landings in ends.values()}
        route = routing.multicast(self._dma, list(ends), Intent.PE_DMA, RouteKind.MESSAGE)
        arrive = [ends[node].landed for node in routing.destinations(route)]
        tag, arrival_tag = self._tags
        self._count += 1
        thread.begin_source(source)
        thread.wait(self.posted, self._count)
        thread.multicast(
            route, nbytes, arrive=arrive, hold=self._hold, lead=self._lead, tag=tag, arrival_tag=arrival_tag
        )
        return tuple(
            queue.landings().write(index, nbytes, source) for queue, index in zip(queues, indices, strict=True)
        )
