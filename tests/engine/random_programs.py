"""Random machines and programs, each drawn from a `random.Random` and reproducible from its kind and its seed.

Small machines are made of numbers (`bare`), large ones are those that we ship (`random_traffic`). Waits may never be met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from random import Random
from typing import NamedTuple

import numpy as np

from kernbench.machine.network.multicast_tree import find_tree
from kernbench.program.ops import NONE, Op
from kernbench.program.program import Program
from kernbench.program.thread import ZERO, Thread
from tests.engine import random_ascend, random_ends, random_tensix, random_traffic
from tests.engine.bare import BareMachine
from tests.engine.plans import add_plan

TIMES = (0, 1, 2, 3, 5, 10, 50, 100, 300)
LONGEST = 10**14  # a few hundred of these are still within the clock
LINKS, CHANNELS, SERVERS = 6, 4, 4
SIZES = (0, 1, 63, 64, 65, 200, 256, 512, 640)  # around multiples of 64
OPS = ("delay", "exec", "move", "move", "move", "until", "add", "wait", "pipe", "mark")


class Figures(NamedTuple):
    """Times that go together, in fs."""

    rates: tuple[int, ...]  # of links, for a flit
    channels: tuple[int, ...]  # of memories, for a flit
    wires: tuple[int, ...]  # to the next node
    overheads: tuple[int, ...]  # of nodes


FIGURES = (
    Figures((1, 2, 3, 10), (3, 8, 10), TIMES, TIMES),
    Figures((1, 10, 100, 1000), (10, 100), (0, 1, 50), (0, 10, 1000)),
    Figures((20, 50, 100), (3, 10), (0, 0, 3), (0, 5)),
    Figures((50, 100), (3, 10), (0, 0, 0, 3), (0,)),
    Figures((50, 100), (3, 50, 400), (0, 1, 3), (0, 0, 400)),
    Figures((500, 1000), (4000,), (1, 7, 15), (0, 0, 4000)),
)


Row = tuple[int, ...]
Step = tuple[int, int, int, int]  # station, stripes, overhead_fs, store_and_forward


def draw_program(kind: str, seed: int) -> Program:
    """The program of a kind and a seed: the same for ever."""
    return KINDS[kind](Random(f"{kind} {seed}"))


def draw_time(random: Random) -> int:
    """A time of which there are few, so that many things happen at once; now and then a very long one."""
    return LONGEST if random.random() < 0.002 else random.choice(TIMES)


# Crowded: few links, one memory


def draw_machine(random: Random) -> BareMachine:
    """Six links, one memory of four channels, four servers, up to six routes of every kind."""
    stations = [(random.choice((1, 2, 3, 10)), random.choice((1, 64)), 0, draw_time(random)) for _ in range(LINKS)]
    stations += [(random.choice((8, 10)), 64, random.choice((0, 0, 7)), 0)] * CHANNELS
    machine = BareMachine(stations, LINKS, [random.randint(1, 2) for _ in range(SERVERS)], flit_bytes=64)
    nodes = [(draw_time(random), int(random.random() < 0.2)) for _ in range(LINKS)]
    memory = (LINKS, CHANNELS, draw_time(random), 0)
    for _ in range(random.randint(1, 6)):
        links = random.sample(range(LINKS), random.randint(1, LINKS))
        add_route(machine, random.choice(("read", "write", "message")), links, nodes, memory, draw_time(random))
    return machine


def add_route(
    machine: BareMachine, kind: str, links: list[int], nodes: list[tuple[int, int]], memory: Step | None, more_fs: int
) -> int:
    """A route over links, and what its round trip adds to it.

    `nodes` are overhead_fs and store_and_forward of what lies before each link; ends of a route pay neither.
    """
    first, *later = links
    steps = [(first, 1, 0, 0), *((link, 1, *nodes[link]) for link in later)]
    if kind == "read":
        return machine.route(kind, [memory, *steps], lead_fs=more_fs)
    return machine.route(kind, steps + [memory] * (kind == "write"), tail_fs=more_fs)


def draw_move(random: Random, program: Program, nbytes: int, hold: int) -> Row:
    """A row that moves so many bytes and counts nothing."""
    route, stripe = random.randrange(program.machine.routing.route_count), random.randrange(10)
    return (Op.MOVE, route, nbytes, stripe, NONE, hold, NONE, draw_duration(random, program))


def draw_duration(random: Random, program: Program) -> int:
    """The number of a duration."""
    return program.duration(("fs", draw_time(random)))


def add_move(thread: Thread, row: Row, done: int, arrive: int) -> None:
    """Append a row that moves, with its counters."""
    _, route, nbytes, stripe, _, hold, _, lead = row
    thread.move(route, nbytes, stripe=stripe, done=done, hold=hold, arrive=arrive, lead=lead)


def exec_row(server: int, duration: int) -> Row:
    """A row that is a job of a server."""
    return (Op.EXEC, server, duration, NONE, 0, 0, 0, 0)


def draw_stages(random: Random, program: Program) -> list[list[Row]]:
    """Tokens that go the same way from server to server, some with more at the end."""
    first, *servers = random.sample(range(SERVERS), random.randint(2, SERVERS))
    servers = [server for server in servers for _ in range(random.choice((1, 1, 2)))]
    reads = [draw_move(random, program, random.choice(SIZES), first)] * random.randint(0, 2)
    tokens = []
    for _ in range(random.randint(2, 12)):
        token = list(reads)
        if not reads or random.random() < 0.2:
            token.append(exec_row(first, draw_duration(random, program)))
        token += [exec_row(server, draw_duration(random, program)) for server in servers]
        if random.random() < 0.25:
            token.append(draw_move(random, program, random.choice(SIZES), random.randint(NONE, SERVERS - 1)))
        tokens.append(token)
    return tokens


def draw_tokens(random: Random, program: Program) -> list[list[Row]]:
    """Tokens that begin on one server and then go where they like."""
    first, tokens = random.randrange(SERVERS), []
    for _ in range(random.randint(1, 4)):
        token: list[Row] = []
        for server in (first, *(random.randint(NONE, SERVERS - 1) for _ in range(random.randint(0, 3)))):
            if server == NONE or random.random() < 0.5:
                token += [draw_move(random, program, random.choice(SIZES), server)] * random.choice((1, 1, 2, 4))
            else:
                token.append(exec_row(server, draw_duration(random, program)))
        tokens.append(token)
    return tokens


def crowded(random: Random) -> Program:
    """Up to four threads of every op on few stations, full of ties."""
    program = Program(draw_machine(random))
    counters = [program.counter(f"c{i}") for i in range(3)]
    for t in range(random.randint(1, 4)):
        thread = program.thread(f"t{t}")
        for _ in range(random.randint(1, 7)):
            add_op(random, program, thread, counters)
    return program


def add_op(random: Random, program: Program, thread: Thread, counters: list[int]) -> None:
    """Append any op."""
    some = [NONE, *counters]
    match random.choice(OPS):
        case "delay":
            thread.delay(draw_duration(random, program))
        case "exec":
            thread.exec(random.randrange(SERVERS), draw_duration(random, program), random.choice(some))
        case "move":
            row = draw_move(random, program, random.choice(SIZES), random.randint(NONE, SERVERS - 1))
            add_move(thread, row, random.choice(some), random.choice(some))
        case "until":
            thread.until(draw_time(random))
        case "add":
            thread.add(random.choice(counters), random.randint(-1, 2))
        case "wait":
            compare, take = random.randint(0, 1), random.randint(0, 1)
            thread.wait(random.choice(counters), random.randint(0, 2), compare=compare, take=take)
        case "pipe":
            draw = random.choice((draw_stages, draw_tokens))
            thread.pipe(add_plan(program, draw(random, program)), random.choice(some))
        case "mark":
            thread.mark(0)


# Pipelines: long plans in a line of servers


def pipelines(random: Random) -> Program:
    """Long plans whose tokens go the same way, and somebody who comes between, sooner or later."""
    machine = draw_machine(random)
    machine.server_slots = np.ones(SERVERS, np.int64)
    program = Program(machine)
    for t in range(random.randint(1, 2)):
        thread = program.thread(f"plan{t}")
        for _ in range(random.randint(1, 2)):
            thread.pipe(add_plan(program, draw_pipeline(random, program)), NONE)
    for t in range(random.randint(0, 3)):
        thread = program.thread(f"other{t}")
        for _ in range(random.randint(1, 3)):
            thread.delay(program.duration(("fs", random.randint(0, 4000))))
            if random.random() < 0.5:
                thread.exec(random.randrange(SERVERS), draw_duration(random, program), NONE)
            else:
                row = draw_move(random, program, random.choice(SIZES), random.randint(NONE, SERVERS - 1))
                add_move(thread, row, NONE, NONE)
    return program


def draw_pipeline(random: Random, program: Program) -> list[list[Row]]:
    """Up to thirty tokens that read and go on over a line of servers; now and then one writes at the end."""
    first, *servers = random.sample(range(SERVERS), random.randint(2, SERVERS))
    move = draw_move(random, program, random.choice((64, 256, 512, random.choice(SIZES))), first)
    work = [program.duration(("fs", random.randint(1, 300))) for _ in range(3)]
    reads, writes, tokens = random.randint(1, 3), random.choice((3, 7, 100)), []
    for number in range(random.randint(2, 30)):
        token = [move] * reads + [exec_row(server, random.choice(work)) for server in servers]
        if number % writes == writes - 1:
            token.append((*move[:5], random.randint(NONE, SERVERS - 1), *move[6:]))
        tokens.append(token)
    return tokens


# Weaves: tokens that take different ways, all in step


def weaves(random: Random) -> Program:
    """Plans of tokens that go different ways over many servers in steps of 10 fs, and others who come in the same steps."""
    machine = draw_machine(random)
    machine.server_slots = np.ones(random.choice((4, 6, 14)), np.int64)
    program = Program(machine)
    durations = [program.duration(("fs", fs)) for fs in random.choice(((10,), (10, 20), (10, 10, 20, 50), (0, 10, 30)))]
    for t in range(random.randint(1, 3)):
        thread, done = program.thread(f"plan{t}"), program.counter(f"done{t}")
        for _ in range(random.randint(1, 3)):
            thread.pipe(add_plan(program, draw_weave(random, program, durations)), random.choice((NONE, done, done)))
            if random.random() < 0.5:
                add_between(random, program, thread)
        thread.wait(done, random.randint(0, 2))
        add_between(random, program, thread)
    for t in range(random.randint(0, 4)):
        thread = program.thread(f"other{t}")
        for _ in range(random.randint(1, 3)):
            thread.delay(program.duration(("fs", 10 * random.randint(0, 60))))
            add_between(random, program, thread)
    return program


def draw_weave(random: Random, program: Program, durations: list[int]) -> list[list[Row]]:
    """Tokens that read, or not, and go over a line of servers, which some leave early, or change, or come to again."""
    servers = len(program.machine.server_slots)
    first, *others = random.sample(range(servers), random.randint(2, servers))
    again, line = random.choice((0, 0, 0.3)), []
    for server in others:
        line.append(server)
        if random.random() < again:
            line.append(random.choice(line))
    reads = [draw_move(random, program, random.choice((64, 256, 512)), first)] * random.choice((0, 0, 1, 2))
    change, tokens = random.choice((0, 0, 0.1)), []
    for _ in range(random.choice((1, 2, 6, 12))):
        ways = [random.randrange(servers) if random.random() < change else server for server in line]
        ways = ways[: random.randint(0, len(ways))] if random.random() < change else ways
        begin = reads or [exec_row(first, random.choice(durations))]
        tokens.append([*begin, *(exec_row(server, random.choice(durations)) for server in ways)])
    return tokens


def add_between(random: Random, program: Program, thread: Thread) -> None:
    """Append work for any server, or a transfer that may have no bytes and take no time."""
    servers = len(program.machine.server_slots)
    if random.random() < 0.6:
        thread.exec(random.randrange(servers), program.duration(("fs", random.choice((0, 10, 10, 20)))))
    else:
        row = draw_move(random, program, random.choice((0, 0, 64, 65, 512)), random.randint(NONE, servers - 1))
        add_move(thread, row, NONE, NONE)


# Medleys: tokens of one plan that read differently


def medleys(random: Random) -> Program:
    """Plans of tokens that mostly read as the one before, and go on as it does, and others who come between."""
    machine = draw_banks(random)
    program = Program(machine)
    works = [program.duration(("fs", fs)) for fs in random.choice(((10, 20, 50), (0, 10, 30), (50, 200), (1, 7, 81)))]
    for t in range(random.choice((1, 1, 2))):
        thread = program.thread(f"plan{t}")
        thread.delay(program.duration(("fs", random.choice((0, 0, 1, 200)))))
        for _ in range(random.choice((1, 1, 2))):
            thread.pipe(add_plan(program, draw_medley(random, program, works)), NONE)
        add_between(random, program, thread)
    for t in range(random.randint(0, 3)):
        thread = program.thread(f"other{t}")
        for _ in range(random.randint(1, 3)):
            pause = random.choice((0, random.randint(0, 2000), 10 * random.randint(0, 100)))
            thread.delay(program.duration(("fs", pause)))
            add_between(random, program, thread)
    return program


def draw_banks(random: Random) -> BareMachine:
    """Up to three links, two memories, reads from either over one or two links, and a way for headers that take no time."""
    links = random.randint(2, 3)
    stations = [(random.choice((10, 20)), 1, 0, random.choice((0, 1, 7))) for _ in range(links)]
    stations.append((10, 1, 0, 0))
    homes: list[Step] = []
    for channels in (random.choice((1, 2, 4)), random.choice((1, 2, 4))):
        homes.append((len(stations), channels, random.choice((0, 0, 30)), 0))
        stations += [(10 * channels, 64, 0, 0)] * channels
    slots = [random.choice((1,) * 9 + (2,)) for _ in range(SERVERS)]
    machine, nodes = BareMachine(stations, links + 1, slots, flit_bytes=64), [(0, 0)] * links
    for _ in range(random.randint(2, 4)):
        way = random.sample(range(links), random.choice((1, 1, 2)))
        add_route(machine, "read", way, nodes, random.choice(homes), random.choice((0, 0, 10)))
    add_route(machine, "message", [links], [], None, 0)
    return machine


def draw_medley(random: Random, program: Program, works: list[int]) -> list[list[Row]]:
    """Up to thirty tokens of up to three shapes that begin on one server, mostly of the first."""
    first, *others = random.sample(range(SERVERS), SERVERS)
    line = [server for server in others[: random.randint(0, 3)] for _ in range(random.choice((1, 1, 1, 2)))]
    shapes = [draw_shape(random, program, works, first, line) for _ in range(random.randint(1, 3))]
    stripes, tokens = random.choice(((0,), (0,), (0, 1, 3))), []
    for _ in range(random.randint(2, 30)):
        shape = shapes[0] if random.random() < 0.8 else random.choice(shapes)
        tokens.append([vary_row(random, row, works, stripes) for row in shape])
    return tokens


def vary_row(random: Random, row: Row, works: list[int], stripes: tuple[int, ...]) -> Row:
    """The same stage with work of another duration, or the same transfer from another stripe on."""
    if row[0] == Op.EXEC:
        return exec_row(row[1], random.choice(works))
    return (*row[:3], random.choice(stripes), *row[4:])


def draw_shape(random: Random, program: Program, works: list[int], first: int, line: list[int]) -> list[Row]:
    """Reads on a server, perhaps more on others or none, then a line of servers, and perhaps a transfer at its end."""
    flits = random.choice((4, 4, 8, 3))
    read = draw_move(random, program, 64 * flits, first)
    token = [read] * random.choice((1, 1, 2, 3))
    if random.random() < 0.1:
        token = [exec_row(first, random.choice(works))]
    if random.random() < 0.2:
        server = random.choice((first, NONE, *range(SERVERS)))
        token += [draw_move(random, program, 64 * flits, server)] * random.choice((1, 3))
    way = line if random.random() < 0.9 else [random.randrange(SERVERS) for _ in line]
    token += [exec_row(server, random.choice(works)) for server in way]
    if random.random() < 0.1:
        last = token[-1][1] if token[-1][0] == Op.EXEC else first
        token.append(draw_move(random, program, random.choice((0, 64)), random.choice((last, NONE))))
    return token


# Streams: many sizes and stripes on one reserved route


def streams(random: Random) -> Program:
    """Transfers of mixed sizes one after the other on one route, by a thread or a plan, and somebody who comes between."""
    machine = draw_homes(random)
    machine.server_slots = np.ones(SERVERS, np.int64)
    program, flit_bytes = Program(machine), machine.flit_bytes
    thread, done = program.thread("stream"), program.counter("done")
    if random.random() < 0.5:
        tokens = draw_pipeline(random, program)
        striped = [
            [(*row[:3], random.randrange(8), *row[4:]) if row[0] == Op.MOVE else row for row in t] for t in tokens
        ]
        thread.pipe(add_plan(program, striped), NONE)
    else:
        route = random.randrange(machine.routing.route_count)
        sizes = [draw_size(random, flit_bytes, 4), random.randint(1, 8) * flit_bytes, 8 * flit_bytes]
        for _ in range(random.randint(3, 14)):
            row = draw_move(random, program, random.choice(sizes), NONE)
            add_move(thread, (row[0], route, *row[2:]), done, NONE)
            thread.wait(done, 1, take=1)
    for t in range(random.randint(0, 2)):
        other = program.thread(f"other{t}")
        for _ in range(random.randint(1, 3)):
            other.delay(program.duration(("fs", random.randint(0, 4000))))
            add_move(other, draw_move(random, program, draw_size(random, flit_bytes, 4), NONE), NONE, NONE)
    return program


# Partial: flits that are not full, memories of few and of many channels


def partial(random: Random) -> Program:
    """Threads that read and write sizes around multiples of the flit, closed loops and open ones."""
    return add_partial(random, draw_homes(random))


def wide(random: Random) -> Program:
    """The same on a machine of thousands of stations, most of which are not used."""
    return add_partial(random, spread(draw_homes(random), random.choice((30, 100, 700))))


def spread(machine: BareMachine, gap: int) -> BareMachine:
    """A machine with links between its links that nothing takes."""
    links = machine.edge_count
    rows = np.array(machine.stations).T
    rows = np.vstack([rows[:links].repeat(gap, axis=0), rows[links:]])
    rows = np.vstack([rows, rows[:1].repeat(-len(rows) % 512, axis=0)])  # no padding behind tables of one word for 64
    wider = BareMachine(rows, links * gap, machine.server_slots, machine.flit_bytes)
    for kind, steps, lead_fs, tail_fs in machine.routing.routes:
        moved = [(at * gap if at < links else at + links * (gap - 1), *more) for at, *more in steps]
        wider.route(kind, moved, lead_fs, tail_fs)
    return wider


def add_partial(random: Random, machine: BareMachine) -> Program:
    """Such threads on a machine."""
    program = Program(machine)
    shared = program.counter("shared")
    longest = random.choice((4,) * 30 + (40, 40, 400))  # flits of one transfer
    sizes = [draw_size(random, program.machine.flit_bytes, longest) for _ in range(random.choice((1, 2, 3, 3, 6)))]
    holds = random.choice(((NONE,), (NONE,), (NONE, *range(SERVERS))))
    pauses = random.choice((0, 0, 0.2))
    for t in range(random.choice((2, 3, 3, 4, 5))):
        thread, done = program.thread(f"t{t}"), program.counter(f"done{t}")
        closed, flying = random.random() < 0.9, 0
        for _ in range(random.randint(1, 8)):
            if random.random() < pauses:
                thread.delay(draw_duration(random, program))
                thread.exec(random.randrange(SERVERS), draw_duration(random, program))
            row = draw_move(random, program, random.choice(sizes), random.choice(holds))
            lead = row[7] if random.random() < pauses else ZERO
            add_move(thread, (*row[:7], lead), done, random.choice((NONE, NONE, shared)))
            flying += 1
            if closed or random.random() < 0.1:
                thread.wait(done, flying, take=flying)
                flying = 0
        if random.random() < 0.1:
            thread.wait(shared, random.randint(0, 4))
    return program


def draw_size(random: Random, flit_bytes: int, longest: int) -> int:
    """Some flits and a few bytes more or less, mostly not more than four flits."""
    flits = random.choice((0, 1, 1, 1, 2, 3, 5, random.randint(0, longest)))
    return max(
        0, flits * flit_bytes + random.choice((-1, 0, 1, 1, 1, 2, 2, flit_bytes // 4, random.randrange(flit_bytes)))
    )


def draw_homes(random: Random) -> BareMachine:
    """Up to seven links of different rates, up to three memories of up to eight channels each."""
    flit_bytes, links, figures = random.choice((64, 256)), random.randint(2, 7), random.choice(FIGURES)
    bursts = (1, flit_bytes // 4, flit_bytes // 2, flit_bytes, flit_bytes)
    quanta = random.choice(((1,), (1, 1, 1, flit_bytes), (1, 1, random.choice(bursts))))
    stations = [
        (random.choice(figures.rates), random.choice(quanta), 0, random.choice(figures.wires)) for _ in range(links)
    ]
    overheads, homes = random.choice((figures.overheads, (0,))), []
    for _ in range(random.choice((1, 1, 2, 3))):
        channels, burst = random.choice((1, 2, 3, 4, 4, 8)), random.choice(bursts)
        homes.append((len(stations), channels, random.choice(overheads), 0))
        stations += [(random.choice(figures.channels), burst, random.choice((0, 0, 0, 7)), 0)] * channels
    machine = BareMachine(stations, links, [random.randint(1, 2) for _ in range(SERVERS)], flit_bytes)
    chance = random.choice((0, 0, 0.15))
    nodes = [(random.choice(overheads), int(random.random() < chance)) for _ in range(links)]
    kinds = random.choice((("read",), ("read",), ("read", "read", "write"), ("read", "write", "message"), ("write",)))
    draw_links = random.choice((any_links, links_in_order, links_to_one_end, *[links_in_line] * 3))(random, links)
    for _ in range(random.randint(2, 6)):
        more_fs = random.choice((0, 0, random.choice(figures.wires)))
        add_route(machine, random.choice(kinds), draw_links(), nodes, random.choice(homes), more_fs)
    return machine


def links_in_line(random: Random, links: int) -> Callable[[], list[int]]:
    """Draws ways that begin anywhere in a line and go on to its end."""
    return lambda: list(range(random.randrange(links), links))


def any_links(random: Random, links: int) -> Callable[[], list[int]]:
    """Draws ways on which stations feed each other in circles."""
    return lambda: random.sample(range(links), random.randint(1, min(5, links)))


def links_in_order(random: Random, links: int) -> Callable[[], list[int]]:
    """Draws ways on which stations feed each other in no circle."""
    draw = any_links(random, links)
    return lambda: sorted(draw())


def links_to_one_end(random: Random, links: int) -> Callable[[], list[int]]:
    """Draws ways that begin anywhere and, once they have met, go on together: as the shortest ways to a place do."""
    onward = [random.randrange(max(0, link - random.choice((1, 1, 2))), link) for link in range(1, links)]

    def draw() -> list[int]:
        way = [random.randrange(links)]
        while way[-1] > 0:
            way.append(onward[way[-1] - 1])
        return way

    return draw


# Meetings: reads long and short at one memory


def meetings(random: Random) -> Program:
    """Reads of odd sizes that meet at the channels of one memory, or two, and writes that come between."""
    machine = draw_shared_homes(random)
    program, flit_bytes = Program(machine), machine.flit_bytes
    rounds = random.choice(((1, 2, 3), (1, 4, 10), (2, 30), (1, 2, 80)))  # of flits over all channels
    stripes, later = random.choice(((0,), (0, 1), range(8))), random.choice((0, 10, 100, 1000))
    for t in range(random.randint(2, 6)):
        thread, done = program.thread(f"t{t}"), program.counter(f"done{t}")
        awaited = random.choice((0.3, 1, 1))
        for _ in range(random.randint(1, 5)):
            if later:
                thread.delay(program.duration(("fs", random.randint(0, later))))
            route = random.randrange(machine.routing.route_count)
            channels = max(count for _, count, *_ in machine.routing.routes[route][1])
            flits = random.choice(rounds) * channels + random.choice((0, 0, 0, random.randint(-channels + 1, channels)))
            nbytes = flits * flit_bytes - random.choice((0, 0, random.randrange(flit_bytes)))
            done_by = done if random.random() < awaited else NONE
            thread.move(route, nbytes, stripe=random.choice(stripes), done=done_by)
            if done_by != NONE and random.random() < 0.7:
                thread.wait(done, 1, take=1)
    return program


def draw_shared_homes(random: Random) -> BareMachine:
    """A link for each of up to five requesters, some behind a link that they share, and a memory, or two, for all of them."""
    flit_bytes, figures = random.choice((64, 256)), random.choice(FIGURES)
    links, homes = random.randint(2, 5), list[Step]()
    stations = [(random.choice(figures.rates), 1, 0, random.choice(figures.wires)) for _ in range(links + 1)]
    for _ in range(random.choice((1, 1, 1, 2))):
        channels, burst = random.choice((1, 2, 3, 4, 8)), random.choice((1, flit_bytes // 2, flit_bytes))
        service = random.choice((*figures.channels, stations[0][0] * channels, 1))
        homes.append((len(stations), channels, random.choice((0, random.choice(figures.overheads))), 0))
        stations += [(service, burst, random.choice((0, 0, 0, 7)), 0)] * channels
    machine = BareMachine(stations, links + 1, [1] * SERVERS, flit_bytes)
    chance = random.choice((0, 0, 0.2))
    nodes = [(random.choice((0, random.choice(figures.overheads))), int(random.random() < chance)) for _ in stations]
    for link in range(links):
        way = random.choice(([link], [links, link]))
        add_route(machine, "read", way, nodes, random.choice(homes), random.choice((0, 0, 5, 40)))
    for _ in range(random.choice((0, 0, 1))):
        add_route(machine, "write", [random.randrange(links), links], nodes, random.choice(homes), 0)
    return machine


# Lanes: long transfers over a long line


def lanes(random: Random) -> Program:
    """Short and long transfers over a line of eight links and one memory, awaited or not, alone or not."""
    machine = draw_lane(random)
    program, flit_bytes = Program(machine), machine.flit_bytes
    flits, more = (
        random.choice(((1, 2, 3), (4, 5, 6, 8, 9), (5, 9, 40), (1, 2, 40, 70))),
        random.choice(((0,), (0, 1, -1, 32))),
    )
    for t in range(random.choice((1, 1, 2, 3))):
        thread, done = program.thread(f"t{t}"), program.counter(f"done{t}")
        awaited, closed = random.choice((0.5, 1, 1)), random.random() < 0.7
        for _ in range(random.randint(1, 8)):
            nbytes = random.choice(flits) * flit_bytes + random.choice(more)
            row = draw_move(random, program, nbytes, NONE)
            waits = random.random() < awaited
            add_move(thread, (*row[:7], ZERO), done if waits else NONE, NONE)
            if waits and closed:
                thread.wait(done, 1, take=1)
            elif random.random() < 0.5:
                thread.delay(program.duration(("fs", random.randint(0, 2000))))
    return program


def draw_lane(random: Random) -> BareMachine:
    """Eight links, one quicker or slower than the other or all alike, and a memory before or behind them."""
    flit_bytes, rate, slower = random.choice((64, 256)), random.choice((10, 50)), random.choice((0, 1, 10))
    wire, overheads = random.choice((1, 7, 300)), random.choice(((0,), (0, 0, 0, 20), (0, 0, 0, 1000)))
    links = [(rate + slower * link, 1, 0, wire) for link in range(8)]
    if random.random() < 0.3:
        random.shuffle(links)
    channels = random.choice((1, 2, 4, 4, 8))
    channel = (random.choice((3, rate, rate * channels * 3 // 4 + 1, rate * 10)), random.choice((1, flit_bytes)))
    machine = BareMachine([*links, *[(*channel, random.choice((0, 0, 1)), 0)] * channels], 8, [1] * SERVERS, flit_bytes)
    memory, chance = (8, channels, random.choice(overheads), 0), random.choice((0, 0, 0.1))
    nodes = [(random.choice(overheads), int(random.random() < chance)) for _ in links]
    kinds = random.choice((("read",), ("read", "write"), ("read", "write", "message")))
    for _ in range(random.randint(1, 4)):
        first = random.choice((0, 0, random.randrange(8)))
        add_route(machine, random.choice(kinds), list(range(first, random.choice((8, 8, first + 1)))), nodes, memory, 0)
    return machine


# Overtaking: reads whose last flit has a byte or two and comes before others


def overtaking(random: Random) -> Program:
    """Closed loops of reads from one quick memory that go on over a line of slow links, some of which pad a last flit."""
    program = Program(draw_line(random))
    flit_bytes, waits = program.machine.flit_bytes, program.counter("done by all")
    for t in range(random.choice((2, 3, 4))):
        thread, done = program.thread(f"t{t}"), random.choice((waits, program.counter(f"done{t}")))
        for _ in range(random.randint(1, 5)):
            route, nbytes = random.randrange(program.machine.routing.route_count), random.choice((1, 1, 5)) * flit_bytes
            thread.move(route, nbytes + random.choice((1, 1, 2)), stripe=random.randrange(4), done=done)
            thread.wait(done, 1, take=1)
    return program


def draw_line(random: Random) -> BareMachine:
    """A line of six links after a memory of a few channels, and routes that begin anywhere in it and go to its end."""
    flit_bytes, rates = (
        random.choice((64, 256)),
        random.choice(((50, 100), (50, 100), (20, 50, 100), (1, 10, 100, 1000))),
    )
    stations = [
        (random.choice(rates), random.choice((1, 1, 1, flit_bytes)), 0, random.choice((0, 0, 0, 3)))
        for _ in range(LINKS)
    ]
    channels = random.choice((4, 4, 4, 8))
    stations += [(random.choice((3, 3, 10)), flit_bytes, 0, 0)] * channels
    machine = BareMachine(stations, LINKS, [1], flit_bytes)
    memory, nodes = (LINKS, channels, random.choice((0, 5)), 0), [(0, 0)] * LINKS
    for _ in range(random.randint(2, 6)):
        add_route(machine, "read", links_in_line(random, LINKS)(), nodes, memory, 0)
    return machine


# Meshes: nodes in rows and columns


class Mesh:
    """The nodes and links of a little mesh or torus; some nodes have a memory.

    With `packets`, links keep packets together, and no node has an overhead and no memory several channels.
    """

    def __init__(self, random: Random, *, packets: bool = False) -> None:
        self.random = random
        self.columns, self.rows = random.randint(2, 4), random.randint(1, 3)
        self.nodes = range(self.columns * self.rows)
        self.wires = self._join(torus=random.random() < 0.5)
        self.find_way = random.choice((self.straight_way, self.winding_way))
        flit_bytes, figures = random.choice((64, 256)), random.choice(FIGURES)
        stations = [(random.choice(figures.rates), 1, 0, random.choice(figures.wires)) for _ in self.wires]
        self.homes: dict[int, Step] = {}
        for node in random.sample(self.nodes, random.randint(0, len(self.nodes))):
            channels, burst = 1 if packets else random.choice((1, 2, 4)), random.choice((1, flit_bytes))
            self.homes[node] = (len(stations), channels, 0 if packets else random.choice((0, draw_time(random))), 0)
            stations += [(random.choice(figures.channels), burst, random.choice((0, 0, 7)), 0)] * channels
        self.machine = BareMachine(stations, len(self.wires), [1] * SERVERS, flit_bytes)
        overheads = [0 if packets else random.choice((0, random.choice(figures.overheads))) for _ in self.nodes]
        self.charges = [(overheads[src], int(random.random() < 0.03)) for src, _ in self.wires]
        if packets:
            self.machine.packet_flits = random.choice((1, 2, 3, 5, 1000))

    def _join(self, torus: bool) -> dict[tuple[int, int], int]:
        """The links by the nodes that each joins."""
        joined = set()
        for node in self.nodes:
            row, column = divmod(node, self.columns)
            for down, right in ((0, 1), (1, 0)):
                if torus or (row + down < self.rows and column + right < self.columns):
                    other = (row + down) % self.rows * self.columns + (column + right) % self.columns
                    joined |= {(node, other), (other, node)} if other != node else set()
        return {pair: link for link, pair in enumerate(sorted(joined))}

    def draw_route(self, node: int) -> int:
        """A route from a node to another, or between it and the memory of another."""
        other = self.random.choice([n for n in self.nodes if n != node])
        kind = self.random.choice(("read", "write", "message")) if other in self.homes else "message"
        way = self.find_way(*((other, node) if kind == "read" else (node, other)))
        links = [self.wires[pair] for pair in pairwise(way)]
        return add_route(self.machine, kind, links, self.charges, self.homes.get(other), self.random.choice((0, 0, 10)))

    def draw_multicast(self, node: int) -> tuple[int, int]:
        """A route to some other nodes, or to the memories of some, and how many there are."""
        others = [other for other in self.nodes if other != node]
        if self.homes.keys() - {node} and self.random.random() < 0.5:
            others = sorted(self.homes.keys() - {node})
        some = self.random.sample(others, self.random.randint(1, len(others)))
        writes = [other in self.homes and self.random.random() < 0.8 for other in some]
        paths = [[self.wires[pair] for pair in pairwise(self.find_way(node, other))] for other in some]
        tree = find_tree(np.array([dst for _, dst in self.wires]), paths, writes)
        branches = []
        for links, parent, at, is_memory, forks in tree.branches:
            charged = [self.charges[link] if parent != NONE or link != links[0] else (0, 0) for link in links]
            steps = [(link, 1, *charge) for link, charge in zip(links, charged, strict=True)]
            steps += [self.homes[some[at]]] if is_memory else []
            branches.append((steps, parent, at, forks, self.random.choice((0, 0, 10)) if at != NONE else 0))
        return self.machine.multicast(branches, len(some)), len(some)

    def straight_way(self, src: int, dst: int) -> list[int]:
        """The nodes on the way along the row and then along the column; round a torus either way."""
        corner = src - src % self.columns + dst % self.columns
        row = [pair for pair in self.wires if pair[0] // self.columns == pair[1] // self.columns]
        column = [pair for pair in self.wires if pair[0] % self.columns == pair[1] % self.columns]
        return [*self._wind(row, src, corner), *self._wind(column, corner, dst)[1:]]

    def winding_way(self, src: int, dst: int) -> list[int]:
        """The nodes on any way that comes to no node twice."""
        return self._wind(self.wires, src, dst)

    def _wind(self, wires: Iterable[tuple[int, int]], src: int, dst: int) -> list[int]:
        way, seen = [src], {src}
        while way[-1] != dst:
            onward = [b for a, b in wires if a == way[-1] and b not in seen]
            if onward:
                way.append(self.random.choice(onward))
                seen.add(way[-1])
            else:
                way.pop()
        return way


def mesh(random: Random) -> Program:
    """Messages between the nodes of a little mesh or torus, and reads and writes of memories that some nodes have."""
    return _send(random, Mesh(random))


def packet_mesh(random: Random) -> Program:
    """The same where links keep packets together."""
    return _send(random, Mesh(random, packets=True))


def _send(random: Random, net: Mesh) -> Program:
    program, longest = Program(net.machine), random.choice((4, 4, 4, 40))
    for node in random.sample(net.nodes, random.randint(1, len(net.nodes))):
        routes = [net.draw_route(node) for _ in range(2)]
        thread, done, closed = program.thread(f"n{node}"), program.counter(f"done{node}"), random.random() < 0.6
        for _ in range(random.randint(1, 6)):
            nbytes = draw_size(random, net.machine.flit_bytes, longest)
            thread.move(random.choice(routes), nbytes, stripe=random.randrange(8), done=done)
            if closed:
                thread.wait(done, 1, take=1)
            if random.random() < 0.2:
                thread.delay(draw_duration(random, program))
    return program


# Multicasts: copies of flits on a little mesh


def multicasts(random: Random) -> Program:
    """Transfers to many nodes or memories of a little mesh or torus, among transfers to one."""
    net, longest = Mesh(random), random.choice((4, 4, 12, 40))
    chance = random.choice((0, 0.03, 0.2))
    stores = [int(node not in net.homes and random.random() < chance) for node in net.nodes]
    net.charges = [(overhead, stores[src]) for (src, _), (overhead, _) in zip(net.wires, net.charges, strict=True)]
    program, share = Program(net.machine), random.choice((0.2, 0.6, 1))
    counters = [program.counter(f"c{n}") for n in range(3)]
    slots = len(net.machine.server_slots)
    for node in random.sample(net.nodes, random.randint(1, len(net.nodes))):
        alone = [net.draw_route(node) for _ in range(2)]
        many = [net.draw_multicast(node) for _ in range(2)]
        thread, done, closed = program.thread(f"n{node}"), program.counter(f"done{node}"), random.random() < 0.6
        for _ in range(random.randint(1, 6)):
            nbytes, stripe = draw_size(random, net.machine.flit_bytes, longest), random.randrange(8)
            hold = random.choice((NONE, NONE, random.randrange(slots)))
            awaited = random.choice((done, done, NONE))
            if random.random() < share:
                route, count = random.choice(many)
                arrive = [random.choice((NONE, NONE, *counters)) for _ in range(count)]
                if random.random() < 0.2:
                    row = (Op.MOVE, route, nbytes, stripe, NONE, random.randrange(slots), NONE, ZERO)
                    thread.pipe(add_plan(program, [[row] * random.randint(1, 2)] * random.randint(1, 2)), awaited)
                else:
                    thread.multicast(route, nbytes, arrive=arrive, stripe=stripe, done=awaited, hold=hold)
            else:
                thread.move(random.choice(alone), nbytes, stripe=stripe, done=awaited, hold=hold)
            if closed and awaited != NONE:
                thread.wait(done, 1, take=1)
            if random.random() < 0.2:
                thread.delay(draw_duration(random, program))
        if random.random() < 0.2:
            thread.wait(random.choice(counters), random.randint(0, 2))
    return program


KINDS: dict[str, Callable[[Random], Program]] = {
    "crowded": crowded,
    "pipelines": pipelines,
    "weaves": weaves,
    "medleys": medleys,
    "streams": streams,
    "partial": partial,
    "wide": wide,
    "meetings": meetings,
    "lanes": lanes,
    "overtaking": overtaking,
    "mesh": mesh,
    "packet_mesh": packet_mesh,
    "multicasts": multicasts,
    **random_traffic.KINDS,
    **random_tensix.KINDS,
    **random_ascend.KINDS,
    **random_ends.KINDS,
}
SLOW = ("sip",)  # a hundred times as long as others
