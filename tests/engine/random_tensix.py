"""Random programs on small chips of Tensix cores: reads, writes and multicasts of cores over both networks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from kernbench.library import find
from kernbench.machine import Intent, RouteKind
from kernbench.machine.load import compile_machine
from kernbench.program.ops import NONE
from kernbench.program.program import Program
from kernbench.program.thread import Thread
from tests.engine.work import Work

SIZES = (0, 1, 32, 100, 256, 300, 1000, 2048, 5000)


class _Chip:
    """Draws what the interfaces of a chip do with its memories."""

    def __init__(self, random: Random, fields: dict[str, Any]) -> None:
        self.random = random
        self.machine = compile_machine(find("topology", "tensix_tiny"), fields)
        self.places, self.routing = self.machine.places, self.machine.routing
        self.program, self.work = Program(self.machine), Work(self.machine)
        self.cores = [(x, y) for y in range(self.places.h) for x in range(self.places.w)]
        self.memories = [*map(self.places.l1, self.cores), *map(self.places.bank, range(self.places.grid.banks))]
        self.arrivals, self.many = self.program.counter("arrivals"), random.choice((0, 0.2, 0.6))

    def draw(self) -> Program:
        """A thread for each of some interfaces, as of a reader or writer."""
        random, program = self.random, self.program
        interfaces = [(core, network) for core in self.cores for network in (0, 1)]
        for core, network in random.sample(interfaces, random.randint(1, len(interfaces))):
            thread, done = program.thread(f"{core} {network}"), program.counter(f"done of {core} {network}")
            closed = random.choice((0.2, 0.7, 1))
            for _ in range(random.randint(1, 8)):
                started = random.choice((1, 1, 2, 5))
                for _ in range(started):
                    self.add_move(thread, core, network, done)
                if random.random() < closed:
                    thread.wait(done, started, take=started)
                if random.random() < 0.2:
                    thread.delay(program.duration(("ns", float(random.choice((0.5, 3, 100))))))
        return program

    def add_move(self, thread: Thread, core: tuple[int, int], network: int, done: int) -> None:
        """A read, a write, or a write to the L1 of some cores."""
        random, interface = self.random, self.places.interface(core, network)
        nbytes, kind = random.choice(SIZES), random.choice((RouteKind.READ, RouteKind.READ, RouteKind.WRITE))
        hold = self.places.server(core, f"niu{network}.{'read' if kind == RouteKind.READ else 'write'}")
        held = random.choice((NONE, hold))
        if random.random() < self.many:
            some = random.sample(self.memories[: len(self.cores)], random.randint(1, len(self.cores)))
            route = self.routing.multicast(interface, some, Intent.ALL, RouteKind.WRITE)
            arrive = [random.choice((NONE, self.arrivals)) for _ in some]
            thread.multicast(route, self.work.draw(route, nbytes), arrive=arrive, done=done)
        else:
            end = random.choice((interface, self.places.dram_side(core, network)))
            route = self.routing.route(end, random.choice(self.memories), Intent.ALL, kind)
            thread.move(route, self.work.draw(route, nbytes), done=done, hold=held)


def tensix(random: Random, *, credit: bool = False) -> Program:
    """Traffic on a small chip, whose queues have no limit or finite buffers of any figures."""
    some, (columns, rows) = random.choice, random.choice(((4, 3), (4, 5), (5, 3)))
    fields: dict[str, Any] = {
        "width": columns,
        "height": rows,
        "worker_columns": list(range(1, columns - 1)),
        "worker_rows": list(range(1, min(rows, 4))),
        "flit_bytes": some((32, 64, 256)),
        "tensix_dram.burst_bytes": some((64, 64, 100)),
        "tensix_noc.hop_ns": some((0, 1, 9)),
        "tensix_noc.outstanding": some((1, 2, 16)),
        "tensix_dram.access_ns": some((0, 30)),
        "flow_control": "credit" if credit else "unbounded",
    }
    if credit:
        depth = some((1, 2, 8, 16))
        fields |= {
            "packet_flits": some((1, 2, depth)) if depth > 1 else 1,
            "tensix_port.buffer_flits": depth,
            "tensix_memory_port.buffer_flits": some((1, 3, 8)),
            "tensix_port.virtual_channels": some((4, 5, 16)),
            "tensix_memory_port.virtual_channels": some((2, 4, 16)),
            "tensix_port.switch_allocation_ns": some((0, 1)),
            "tensix_memory_port.queue_flits": some((1, 2, 8)),
            "tensix_memory_port.reply_packets": some((1, 2, 16)),
            "allocator": some(("islip", "round_robin", "age")),
            "speculative": some((True, False)),
            "internal_speedup": some((1, 1, 2)),
        }
    return _Chip(random, fields).draw()


KINDS: dict[str, Callable[[Random], Program]] = {
    "tensix": tensix,
    "credit_tensix": partial(tensix, credit=True),
}
