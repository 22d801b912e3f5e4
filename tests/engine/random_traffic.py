"""Random programs on the shipped machines: transfers among PEs, tile plans as of kernels, and contending transfers."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache
from random import Random
from typing import Any

import numpy as np

from kernbench.library import find
from kernbench.machine import Intent, RouteKind, load_machine
from kernbench.machine.families.sip.places import PePlace
from kernbench.machine.load import compile_machine
from kernbench.machine.machine import Machine
from kernbench.program.ops import NONE, Op
from kernbench.program.program import Program
from kernbench.program.thread import Thread
from tests.engine.plans import add_plan
from tests.engine.work import Work

WHOLE_SIZES = (256, 512, 1024, 4096)
PARTIAL_SIZES = (0, 1, 64, 130, 257, 300, 321, 600, 1000, 2049, 4000)
TILES = (1, 3, 8, 20)  # of a plan
NS = (0, 0, 0.001, 0.5, 1, 2, 10, 100, 1e6)
PARTS = ("dma_read", "dma_write", "tcm_read", "gemm_server", "math_server", "tcm_write")

Pe = tuple[int, int, int]
Row = tuple[int, ...]
_load = cache(load_machine)


@cache
def _load_mesh(k: int, torus: bool, one_way: bool, networks: int) -> Machine:
    return load_machine("mesh_8x8", {"k": k, "torus": torus, "one_way": one_way, "networks": networks})


def forget_routes(machine: Machine) -> Machine:
    """The same machine before anybody has asked for a route: so a program is the same whatever was drawn before."""
    fresh = copy(machine)
    fresh.routing = machine.routing.on(fresh)
    return fresh


class Traffic:
    """Draws what a few PEs of a machine do with a few memories."""

    def __init__(self, random: Random, machine: Machine, pes: int, many: float = 0) -> None:
        places = machine.places
        shape = places.sip_count, places.cubes_per_sip, places.pes_per_cube
        self.random, self.machine, self.program = random, machine, Program(machine)
        self.work = Work(machine)
        self.many = many  # the share of transfers to many
        self.arrivals = self.program.counter("arrivals") if many else NONE
        self.all: list[Pe] = list(np.ndindex(*shape))
        self.some = random.sample(self.all, min(len(self.all), pes))
        self.homes = random.sample(self.all, min(len(self.all), random.randint(1, 3)))
        self.sizes: tuple[int, ...] = random.choice(
            (PARTIAL_SIZES, PARTIAL_SIZES, PARTIAL_SIZES + WHOLE_SIZES, (*WHOLE_SIZES, 20_000))
        )

    def draw(self) -> Program:
        """A thread for each PE."""
        random = self.random
        plans, closed = random.choice((0, 0, 0.2, 0.5)), random.choice((0.3, 0.9, 1))
        for pe in self.some:
            place = self.machine.places.pe(*pe)
            thread, done = self.program.thread(f"{pe}"), self.program.counter(f"done of {pe}")
            for _ in range(random.randint(1, 10)):
                self.add_op(thread, place, done, plans, closed)
        return self.program

    def add_op(self, thread: Thread, place: PePlace, done: int, plans: float, closed: float) -> None:
        """A few transfers or a plan, mostly waited for; or a job or a message that disturbs others; or a pause."""
        random = self.random
        if random.random() < 0.1:
            thread.exec(self.draw_server(), self.draw_duration())
        if random.random() < 0.1:
            thread.delay(self.draw_duration())
        if random.random() < plans:
            thread.pipe(self.draw_plan(place), done)
            started = 1
        else:
            started = random.choice((1, 1, 1, 2, 4))
            for _ in range(started):
                self.add_move(thread, place, done)
        if random.random() < closed:
            thread.wait(done, started, take=started)

    def add_move(self, thread: Thread, place: PePlace, done: int) -> None:
        """A read, a write or a message; some hold their DMA channel, some count twice."""
        random = self.random
        if random.random() < self.many:
            self.add_multicast(thread, place, done)
            return
        kind = random.choice((RouteKind.READ,) * 6 + (RouteKind.WRITE,) * 2 + (RouteKind.MESSAGE,))
        channel = place.dma_read if kind == RouteKind.READ else place.dma_write
        route = self.draw_route(place, kind)
        thread.move(
            route,
            self.draw_size(route),
            stripe=random.randrange(8),
            done=done,
            hold=random.choice((NONE, NONE, channel)),
            arrive=random.choice((NONE,) * 7 + (done,)),
            lead=random.choice((0, 0, 0, self.draw_duration())),
        )

    def add_multicast(self, thread: Thread, place: PePlace, done: int) -> None:
        """A write to the slices of some PEs, or a message to them; some arrivals are counted as well."""
        random, places = self.random, self.machine.places
        kind = random.choice((RouteKind.WRITE, RouteKind.MESSAGE, RouteKind.ACKNOWLEDGED))
        nodes = {
            places.hbm(*pe) if kind == RouteKind.WRITE else places.pe(*pe).dma
            for pe in random.sample(self.all, random.randint(1, min(len(self.all), 12)))
            if pe != (place.sip, place.cube, place.pe)
        }
        if not nodes:
            return self.add_move(thread, place, done)
        route = self.machine.routing.multicast(place.dma, sorted(nodes), Intent.PE_DMA, kind)
        thread.multicast(
            route,
            self.draw_size(route),
            arrive=[random.choice((NONE, NONE, self.arrivals)) for _ in nodes],
            stripe=random.randrange(8),
            done=done,
            hold=random.choice((NONE, NONE, place.dma_write)),
            lead=random.choice((0, 0, 0, self.draw_duration())),
        )
        return None

    def draw_route(self, place: PePlace, kind: RouteKind) -> int:
        """A route to a memory of a few, or to another PE."""
        places = self.machine.places
        if kind == RouteKind.MESSAGE:
            others = [pe for pe in self.all if pe != (place.sip, place.cube, place.pe)]
            return self.machine.routing.route(
                place.dma, places.pe(*self.random.choice(others)).dma, Intent.PE_DMA, kind
            )
        home = self.random.choice(self.homes)
        return self.machine.routing.route(place.dma, places.hbm(*home), Intent.PE_DMA, kind)

    def draw_plan(self, place: PePlace) -> int:
        """Tiles that read their operands, are fetched and multiplied; some go on to the math engine, are stored and written."""
        random, tokens = self.random, []
        reads = [self.draw_read(place) for _ in range(random.randint(0, 2))]
        fetch, gemm, kept = (self.draw_duration() for _ in range(3))
        ends = random.choice((1, 2, 4, 100))
        for number in range(random.choice(TILES)):
            done = [row for row in reads if random.random() < 0.8]
            for _, route, nbytes, *_ in done:
                self.work.spend(route, nbytes)
            token = done or [_job(place.dma_read, kept)]
            token += [_job(place.tcm_read, fetch), _job(place.gemm_server, random.choice((gemm, gemm, fetch)))]
            if number % ends == ends - 1:
                token += [_job(place.math_server, kept), _job(place.tcm_write, fetch)]
                route = self.draw_route(place, RouteKind.WRITE)
                nbytes = self.draw_size(route)
                token.append((Op.MOVE, route, nbytes, random.randrange(8), NONE, place.dma_write, NONE, 0))
            tokens.append(token)
        return add_plan(self.program, tokens)

    def draw_read(self, place: PePlace) -> Row:
        """A stage that reads a tile."""
        route = self.draw_route(place, RouteKind.READ)
        nbytes = self.work.cut(route, self.random.choice(self.sizes), max(TILES))
        return (Op.MOVE, route, nbytes, self.random.randrange(8), NONE, place.dma_read, NONE, self.draw_duration())

    def draw_size(self, route: int) -> int:
        """The bytes of a transfer."""
        return self.work.draw(route, self.random.choice(self.sizes))

    def draw_server(self) -> int:
        """A server of any of the PEs."""
        return getattr(self.machine.places.pe(*self.random.choice(self.some)), self.random.choice(PARTS))

    def draw_duration(self) -> int:
        """The number of a duration."""
        return self.program.duration(("ns", float(self.random.choice(NS))))


def _job(server: int, duration: int) -> Row:
    return (Op.EXEC, server, duration, NONE, 0, 0, 0, 0)


def tiny(random: Random) -> Program:
    """Traffic on the smallest machine that has all parts."""
    return Traffic(random, forget_routes(_load("tiny")), random.randint(1, 4)).draw()


def sip(random: Random) -> Program:
    """Traffic on the default machine, of PEs near each other or far apart."""
    return Traffic(random, forget_routes(_load("sip_2x4x4")), random.choice((2, 4, 8, 8, 24))).draw()


def multicast_tiny(random: Random) -> Program:
    """As `tiny`, among transfers to many destinations."""
    return Traffic(random, forget_routes(_load("tiny")), random.randint(1, 4), random.choice((0.2, 0.5))).draw()


def multicast_trays(random: Random) -> Program:
    """As `trays`, among transfers to many destinations, whose paths need not be those of one tree."""
    return _draw_trays(random, random.choice((0.2, 0.5)))


def multicast_mesh(random: Random) -> Program:
    """As `mesh_8x8`, among transfers to many destinations."""
    return _draw_mesh(random, random.choice((0.2, 0.6)))


def mesh_8x8(random: Random) -> Program:
    """Messages on a small mesh or torus, whose links may lead one way, or on two of them side by side."""
    return _draw_mesh(random)


def _draw_mesh(random: Random, many: float = 0) -> Program:
    k, torus = random.randint(2, 4), random.random() < 0.6
    machine = _load_mesh(k, torus, torus and random.random() < 0.5, random.choice((1, 1, 2)))
    return add_messages(random, forget_routes(machine), k, k, many)


def add_messages(random: Random, machine: Machine, w: int, h: int, many: float = 0) -> Program:
    """Endpoints of a mesh that send to others or to themselves, one message after the other or all at once."""
    program, sizes = Program(machine), random.choice((PARTIAL_SIZES, WHOLE_SIZES, PARTIAL_SIZES + WHOLE_SIZES))
    endpoints = [machine.places.endpoint(row, column) for row in range(h) for column in range(w)]
    pauses = [program.duration(("ns", ns)) for ns in (0.0, 1.0, 10.0)]
    sources, work = random.sample(endpoints, random.randint(2, len(endpoints))), Work(machine)
    for source in sources + random.choices(sources, k=random.choice((0, 0, 1, 3))):
        thread, done, closed = program.thread(f"{source}"), program.counter(f"done of {source}"), random.random() < 0.7
        for _ in range(random.randint(1, 6)):
            kind = random.choice((RouteKind.MESSAGE, RouteKind.ACKNOWLEDGED))
            if random.random() < many:
                some = random.sample(endpoints, random.randint(1, len(endpoints)))
                route = machine.routing.multicast(source, some, Intent.ALL, kind)
                arrive = [random.choice((NONE, NONE, done)) for _ in some]
                lead = random.choice(pauses)
                thread.multicast(route, work.draw(route, random.choice(sizes)), arrive=arrive, done=done, lead=lead)
                continue
            route = machine.routing.route(source, random.choice(endpoints), Intent.ALL, kind)
            thread.move(route, work.draw(route, random.choice(sizes)), done=done, lead=random.choice(pauses))
            if closed:
                thread.wait(done, 1, take=1)
    return program


def credit(random: Random) -> Program:
    """Messages on a small mesh or torus of routers with finite buffers, of any figures."""
    return _draw_credit(random)


def credit_multicasts(random: Random) -> Program:
    """As `credit`, among transfers to many destinations, whose packets are cut to the buffers where they fork."""
    return _draw_credit(random, random.choice((0.2, 0.6)))


def credit_wide(random: Random) -> Program:
    """As `credit`, on routers with so many virtual channels that their lanes take more than a word of bits."""
    return _draw_credit(random, w=random.randint(3, 4), h=random.randint(3, 4), virtual_channels=16)


def credit_copies(random: Random) -> Program:
    """As `credit_multicasts`, crowded: short packets take virtual channels whose buffers are full still, and speculate."""
    some, shape = (
        random.choice,
        {"w": random.randint(2, 4), "h": random.randint(2, 3), "torus": False, "one_way": False},
    )
    channels = {"virtual_channels": some((2, 3)), "buffer_flits": some((1, 2, 3)), "credit_ns": some((2, 5))}
    heads = {"speculative": True, "allocator": some(("islip", "round_robin")), "reuse": "tail_sent"}
    return _draw_credit(random, 1, **shape, **channels, **heads, packet_flits=some((1, 2, 3)))


def credit_limited(random: Random) -> Program:
    """As `credit`, with short packets of which few may be under way, on routers whose buffers fill up; half of them long."""
    some = random.choice
    way = {"w": random.randint(3, 5), "h": random.randint(1, 2), "torus": False, "one_way": False}
    limits = {"outstanding_packets": some((1, 2, 3)), "packet_flits": some((1, 2, 3))}
    buffers = {"virtual_channels": some((1, 2)), "buffer_flits": some((1, 2)), "credit_ns": some((0, 5))}
    return _draw_credit(random, are_long=random.random() < 0.5, **way, **limits, **buffers)


def credit_crowded(random: Random) -> Program:
    """Messages of short packets that all endpoints of a few routers send at once: inputs have flits for several outputs."""
    return _draw_crowded(random)


def credit_age(random: Random) -> Program:
    """As `credit_crowded`, by age on a torus: some packets have a part of the virtual channels, which share switch inputs."""
    some = random.choice
    shape = {"w": some((4, 5)), "h": some((1, 2)), "torus": True, "one_way": some((True, False)), "dateline": "cross"}
    lanes = {"virtual_channels": some((3, 5)), "buffer_flits": some((1, 2, 4)), "input_speedup": 2, "allocator": "age"}
    return _draw_crowded(random, **shape, **lanes)


def _draw_crowded(random: Random, **given: object) -> Program:
    some, size = random.choice, random.randint(2, 3)
    shape = {"w": size, "h": random.randint(2, size), "torus": random.random() < 0.3, "one_way": False}
    even = {"link_gbs": 256, "endpoint_gbs": 256, "hop_ns": some((0, 1)), "networks": 1, "outstanding_packets": None}
    lanes = {"virtual_channels": some((3, 4, 8)), "buffer_flits": some((4, 8)), "packet_flits": some((1, 1, 2))}
    switch = {"credit_ns": some((0, 1)), "allocator": some(("islip", "round_robin", "islip", "age"))}
    fields = draw_credit_fields(random) | shape | even | lanes | switch | given
    machine = compile_machine(find("topology", "mesh_8x8"), fields)
    program, (w, h) = Program(machine), (fields["w"], fields["h"])
    endpoints = [machine.places.endpoint(row, column) for row in range(h) for column in range(w)]
    for source in endpoints:
        thread, done = program.thread(f"{source}"), program.counter(f"done of {source}")
        for _ in range(random.randint(8, 16)):
            route = machine.routing.route(source, some(endpoints), Intent.ALL, RouteKind.MESSAGE)
            thread.move(route, some(WHOLE_SIZES), done=done)
    return program


def credit_levels(random: Random) -> Program:
    """Messages that nothing waits for, on so many routers that windows are served together, level by level."""
    w = random.randint(2, 24)
    shape = {
        "w": w,
        "h": random.randint(70, 140) // w + 1,
        "one_way": False,
        "networks": 1,
        "outstanding_packets": None,
    }
    machine = compile_machine(find("topology", "mesh_8x8"), draw_credit_fields(random) | shape)
    program, work = Program(machine), Work(machine)
    endpoints = [machine.places.endpoint(row, column) for row in range(shape["h"]) for column in range(w)]
    for source in random.sample(endpoints, random.randint(4, 24)):
        thread, pause = program.thread(f"{source}"), program.duration(("ns", float(random.randint(0, 60))))
        for destination in random.sample(endpoints, random.randint(1, 3)):
            route = machine.routing.route(source, destination, Intent.ALL, RouteKind.MESSAGE)
            thread.move(route, work.draw(route, random.choice(PARTIAL_SIZES + WHOLE_SIZES)), lead=pause)
    return program


def _draw_credit(random: Random, many: float = 0, *, are_long: bool = False, **given: object) -> Program:
    fields = draw_credit_fields(random)
    if many:
        fields["outstanding_packets"] = None
    fields |= given
    machine = compile_machine(find("topology", "mesh_8x8"), fields)
    if are_long:
        return add_long_messages(random, machine, fields["w"], fields["h"])
    return add_messages(random, machine, fields["w"], fields["h"], many)


def draw_credit_fields(random: Random) -> dict[str, Any]:
    """Fields of a small mesh or torus of routers with finite buffers."""
    torus, some = random.random() < 0.4, random.choice
    even = random.random() < 0.5  # all times are whole cycles
    return {
        "w": random.randint(2, 5),
        "h": random.randint(1, 4),
        "torus": torus,
        "one_way": torus and random.random() < 0.3,
        "dateline": "cross" if even else None,
        "networks": some((1, 1, 1, 2)),
        "link_gbs": 256 if even else some((256, 100, 37)),
        "endpoint_gbs": 256 if even else some((256, 300, 64)),
        "hop_ns": some((0, 1, 2) if even else (0, 0.3, 1, 7.7)),
        "injection_ns": some((0, 1, 3)),
        "ejection_ns": some((0, 1, 2.5)),
        "flow_control": "credit",
        "virtual_channels": some((2, 3, 4, 8) if torus else (1, 1, 2, 3, 4, 8)),
        "buffer_flits": some((1, 2, 3, 4, 8, 16)),
        "packet_flits": some((1, 2, 3, 5, 16, 1000)),
        "credit_ns": some((0, 1, 2, 0.5, 5)),
        "routing_ns": some((0, 0, 1, 2.5)),
        "vc_allocation_ns": some((0, 1, 1, 2, 3.5)),
        "switch_allocation_ns": some((0, 1, 1, 2)),
        "traversal_ns": some((0, 1, 1, 2, 0.7)),
        "speculative": some((True, False)),
        "allocator": some(("islip", "islip", "round_robin", "age")),
        "allocator_iterations": some((1, 1, 2, 3)),
        "input_speedup": some((1, 1, 2, 3)),
        "internal_speedup": some((1, 1, 1, 2, 3)),
        "reuse": some(("tail_sent", "tail_credit")),
        "outstanding_packets": some((None, None, 1, 3)),
    }


def add_long_messages(random: Random, machine: Machine, w: int, h: int) -> Program:
    """A few endpoints that send long messages now and then, and one that sends short ones between."""
    program, work, some = Program(machine), Work(machine), random.choice
    endpoints = [machine.places.endpoint(row, column) for row in range(h) for column in range(w)]
    for number in range(random.randint(2, 4)):
        source, thread = some(endpoints), program.thread(f"{number}")
        done = program.counter(f"done of {number}")
        for _ in range(random.randint(1, 3)):
            thread.delay(program.duration(("ns", float(some((0, 0, 33, 400, random.randint(0, 2000)))))))
            route = machine.routing.route(source, some(endpoints), Intent.ALL, RouteKind.MESSAGE)
            size = some((25_600, 40_000, 64_001, 100_000)) if number > 0 else some((64, 1000))
            thread.move(route, work.draw(route, size), done=done)
            if random.random() < 0.8:
                thread.wait(done, 1, take=1)
    return program


def packets(random: Random) -> Program:
    """Messages on a small mesh or torus whose links keep packets together; some wait for slow endpoints."""
    torus, some = random.random() < 0.5, random.choice
    fields = {
        "w": random.randint(2, 4),
        "h": random.randint(1, 4),
        "torus": torus,
        "one_way": torus and random.random() < 0.4,
        "networks": some((1, 1, 1, 2)),
        "endpoint_gbs": some((256, 256, 300, 64)),
        "hop_ns": some((0, 1, 7.7)),
        "injection_ns": some((0, 1)),
        "interleave": "packets",
        "packet_flits": some((1, 2, 3, 5, 16, 1000)),
    }
    machine = compile_machine(find("topology", "mesh_8x8"), fields)
    return add_messages(random, machine, fields["w"], fields["h"], some((0, 0, 0.3)))


def credit_sip(random: Random) -> Program:
    """Traffic between parts of one or two small SIPs with finite buffers, of any figures."""
    return _draw_credit_sip(random)


def credit_sip_multicasts(random: Random) -> Program:
    """As `credit_sip`, among transfers to many destinations, whose packets are cut to the buffers where they fork."""
    return _draw_credit_sip(random, random.choice((0.2, 0.6)))


def credit_ends(random: Random) -> Program:
    """Messages to the DMA of a PE, and through it to other parts: in the same buffers some flits end and others go on."""
    some, shape = random.choice, {"sips.count": 1, "noc_port.virtual_channels": random.choice((2, 2, 3, 8))}
    machine = compile_machine(find("topology", "tiny"), _draw_credit_sip_fields(random) | shape)
    program, work = Program(machine), Work(machine)
    away = [
        f"sip0.cube{cube}.pe{pe}.pe_dma" for cube, pe in ((0, 0), (1, 0), (1, 1)) if cube < machine.places.cubes_per_sip
    ]
    near, sizes = "sip0.cube0.pe1.pe_", some((PARTIAL_SIZES, (64, 200, 500)))
    for number in range(some((1, 8, 14, 20))):
        source, to, intent = some(away), some(("dma", "tcm", "tcm", "ipcq")), Intent.PE_DMA
        if random.random() < 0.15:
            source, to, intent = f"{near}scheduler", "tcm", Intent.ALL
        thread = program.thread(f"{number}")
        route = machine.routing.route(machine.node_id[source], machine.node_id[near + to], intent, RouteKind.MESSAGE)
        for _ in range(random.randint(1, 6)):
            thread.delay(program.duration(("ns", float(random.randrange(9)))))
            thread.move(route, work.draw(route, some(sizes)))
    return program


def credit_hosts(random: Random) -> Program:
    """Transfers that stand one behind the other before a link to a PCIe endpoint, which stores whole messages."""
    fields = _draw_credit_sip_fields(random) | {"sips.count": 2, "pcie_ep.store_and_forward": True}
    some, many = random.choice, random.choice((0, 0.4))
    if many:
        fields["outstanding_packets"] = None
    machine = compile_machine(find("topology", "tiny"), fields)
    program, work, ways = Program(machine), Work(machine), {"switch": (0, 1), "sip0.io0.io_noc": (1,)}
    for number in range(some((1, 2, 4))):
        source, thread, done = some([*ways]), program.thread(f"{number}"), program.counter(f"done of {number}")
        pes = [machine.places.pe(sip, 0, pe).dma for sip in ways[source] for pe in (0, 1)]
        for _ in range(random.randint(1, 6)):
            if random.random() < many:
                to = random.sample(pes, random.randint(1, len(pes)))
                route = machine.routing.multicast(machine.node_id[source], to, Intent.ALL, RouteKind.MESSAGE)
                arrive = [some((NONE, done)) for _ in to]
                thread.multicast(route, work.draw(route, some(PARTIAL_SIZES)), arrive=arrive, done=done)
                continue
            kind = some((RouteKind.MESSAGE, RouteKind.ACKNOWLEDGED))
            route = machine.routing.route(machine.node_id[source], some(pes), Intent.ALL, kind)
            thread.move(route, work.draw(route, some(PARTIAL_SIZES)), done=some((NONE, done)))
            thread.delay(program.duration(("ns", float(some((0, 0, 3))))))
    return program


def _draw_credit_sip(random: Random, many: float = 0) -> Program:
    fields = _draw_credit_sip_fields(random)
    if many:
        fields["outstanding_packets"] = None
    machine = compile_machine(find("topology", "tiny"), fields)
    return Traffic(random, machine, random.randint(2, 8), many).draw()


def _draw_credit_sip_fields(random: Random) -> dict[str, Any]:
    """Fields of one or two small SIPs with finite buffers."""
    some = random.choice
    ports = {
        f"{name}_port.{field}": some(values)
        for name in ("noc", "ucie", "io", "memory")
        for field, values in (
            ("virtual_channels", (8, 9, 12)),
            ("buffer_flits", (1, 2, 4, 7, 16)),
            ("credit_ns", (0, 0.5, 1, 3.3)),
            ("routing_ns", (0, 0, 1)),
            ("vc_allocation_ns", (0, 0.5, 1)),
            ("switch_allocation_ns", (0, 0.5, 1)),
            ("traversal_ns", (0, 0.5, 1.2)),
        )
    }
    return ports | {
        "sips.count": some((1, 1, 2)),
        "sip.cubes.w": some((1, 2)),
        "flow_control": "credit",
        "packet_flits": some((1, 2, 3, 8, 100)),
        "speculative": some((True, False)),
        "allocator": some(("islip", "round_robin", "age")),
        "allocator_iterations": some((1, 2)),
        "input_speedup": some((1, 1, 2)),
        "internal_speedup": some((1, 1, 2)),
        "reuse": some(("tail_sent", "tail_credit")),
        "outstanding_packets": some((None, None, 1, 3)),
        "memory_port.queue_flits": some((1, 2, 4, 9)),
        "memory_port.reply_packets": some((1, 2, 16)),
        "noc.overhead_ns": some((0, 0, 1.5)),
        "hbm.turn_ns": some((0, 0, 3)),
        "hbm.overhead_ns": some((0, 0, 2)),
        "hbm.channels": some((1, 2, 8)),
        "hbm.channel_gbs": some((32, 100, 256)),
        "hbm.burst_bytes": some((64, 256, 256)),
        "pcie_ep.store_and_forward": some((True, False)),
    }


def trays(random: Random) -> Program:
    """Traffic between small SIPs that a switch or direct links join, with one or more IO chiplets."""
    return _draw_trays(random)


def _draw_trays(random: Random, many: float = 0) -> Program:
    (w, h), chiplets = random.choice(((2, 1), (3, 1), (4, 1), (2, 2), (3, 2))), random.randint(1, 3)
    topology = random.choice(("ring_1d", "torus_2d", "mesh_2d_no_wrap"))
    sides = random.choice(("NS", "NES", "SWNE"))
    machine = _load_tray(
        w, h, topology, random.choice(("switch", "direct", "direct")), chiplets, sides, random.random() < 0.3
    )
    return Traffic(random, forget_routes(machine), random.randint(2, 8), many).draw()


@cache
def _load_tray(w: int, h: int, topology: str, wiring: str, chiplets: int, sides: str, stores: bool) -> Machine:
    shape = {"sips.count": w * h, "sips.w": w, "sips.h": h, "sips.topology": topology, "sips.wiring": wiring}
    io = {"sip.io_chiplets": chiplets, "sip.io_sides": list(sides), "pcie_ep.store_and_forward": stores}
    return load_machine("tiny", {**shape, **io})


KINDS: dict[str, Callable[[Random], Program]] = {
    "tiny": tiny,
    "sip": sip,
    "trays": trays,
    "mesh_8x8": mesh_8x8,
    "packets": packets,
    "multicast_tiny": multicast_tiny,
    "multicast_trays": multicast_trays,
    "multicast_mesh": multicast_mesh,
    "credit": credit,
    "credit_multicasts": credit_multicasts,
    "credit_sip": credit_sip,
    "credit_sip_multicasts": credit_sip_multicasts,
    "credit_ends": credit_ends,
    "credit_hosts": credit_hosts,
    "credit_copies": credit_copies,
    "credit_crowded": credit_crowded,
    "credit_age": credit_age,
    "credit_limited": credit_limited,
    "credit_levels": credit_levels,
    "credit_wide": credit_wide,
}
