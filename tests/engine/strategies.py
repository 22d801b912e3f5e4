"""Random machines and programs: small, crowded, full of ties."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from kernbench.program.ops import NONE, ROW_WIDTH, Op
from kernbench.program.program import Program
from tests.engine.bare import BareMachine

LINKS, STRIPES = 6, 4
times = st.sampled_from([0, 1, 2, 3, 5, 10, 50, 100, 300])


@st.composite
def machines(draw):
    """Six links, one memory of four channels, four servers, up to six routes of every kind."""
    stations = [
        (draw(st.sampled_from([1, 2, 3, 10])), draw(st.sampled_from([1, 64])), 0, draw(times)) for _ in range(LINKS)
    ]
    stations += [(draw(st.sampled_from([8, 10])), 64, draw(st.sampled_from([0, 0, 7])), 0)] * STRIPES
    machine = BareMachine(stations, LINKS, [draw(st.integers(1, 2)) for _ in range(4)], flit_bytes=64)
    nodes = [(draw(times), int(draw(st.integers(0, 4)) == 0)) for _ in range(LINKS)]  # before each link
    memory = (LINKS, STRIPES, draw(times), 0)
    for _ in range(draw(st.integers(1, 6))):
        links = draw(st.permutations(range(LINKS)))[: draw(st.integers(1, LINKS))]
        steps = [(link, 1, *(nodes[link] if i else (0, 0))) for i, link in enumerate(links)]
        kind = draw(st.sampled_from(["read", "write", "message"]))
        if kind == "read":
            machine.route(kind, [memory, (links[0], 1, 0, 0), *steps[1:]], lead_fs=draw(times))
        else:
            machine.route(kind, steps + [memory] * (kind == "write"), tail_fs=draw(times))
    return machine


def _move(draw, program, counters, holds):
    return (
        draw(st.integers(0, len(program.machine.routing.routes) - 1)),
        draw(st.sampled_from([0, 1, 63, 64, 65, 200, 256, 512, 640])),
        {
            "stripe": draw(st.integers(0, 3)),
            "done": draw(counters),
            "hold": draw(holds),
            "arrive": draw(counters),
            "lead": program.duration(("fs", draw(times))),
        },
    )


def _plan(draw, program):
    return _stages(draw, program) if draw(st.booleans()) else _tokens(draw, program)


def _stages(draw, program):
    """Tokens that go the same way from server to server, some with more at the end."""
    rows, starts = [], [0]
    first, *servers = draw(st.permutations(range(4)))[: draw(st.integers(2, 4))]
    twice = [server for server in servers for _ in range(draw(st.sampled_from([1, 1, 2])))]
    route, nbytes, more = _move(draw, program, st.just(NONE), st.just(first))
    move = (Op.MOVE, route, nbytes, more["stripe"], NONE, first, NONE, more["lead"])
    reads = draw(st.integers(0, 2))
    for _ in range(draw(st.integers(2, 12))):
        rows.extend([move] * reads)
        if reads == 0 or draw(st.integers(0, 5)) == 0:
            rows.append((Op.EXEC, first, program.duration(("fs", draw(times))), NONE, 0, 0, 0, 0))
        rows.extend((Op.EXEC, server, program.duration(("fs", draw(times))), NONE, 0, 0, 0, 0) for server in twice)
        if draw(st.integers(0, 3)) == 0:
            route, nbytes, more = _move(draw, program, st.just(NONE), st.integers(-1, 3))
            rows.append((Op.MOVE, route, nbytes, more["stripe"], NONE, more["hold"], NONE, more["lead"]))
        starts.append(len(rows))
    return _planned(program, rows, starts)


def _tokens(draw, program):
    rows, starts, first = [], [0], draw(st.integers(0, 3))
    for _ in range(draw(st.integers(1, 4))):
        servers = [first, *draw(st.lists(st.integers(-1, 3), max_size=3))]
        for server in servers:
            if server == NONE or draw(st.booleans()):
                route, nbytes, more = _move(draw, program, st.just(NONE), st.just(server))
                row = (Op.MOVE, route, nbytes, more["stripe"], NONE, server, NONE, more["lead"])
                rows.extend([row] * draw(st.sampled_from([1, 1, 2, 4])))
            else:
                rows.append((Op.EXEC, server, program.duration(("fs", draw(times))), NONE, 0, 0, 0, 0))
        starts.append(len(rows))
    return _planned(program, rows, starts)


def _planned(program, rows, starts):
    table = np.array(rows, np.int64).reshape(-1, ROW_WIDTH)
    return program.plan(table, np.array(starts), np.zeros(len(rows), np.int32), {})


@st.composite
def programs(draw):
    """Up to four threads of every op; waits may never be met."""
    program = Program(draw(machines()))
    counters = [program.counter(f"c{i}") for i in range(3)]
    some = st.sampled_from([NONE, *counters])
    for t in range(draw(st.integers(1, 4))):
        thread = program.thread(f"t{t}")
        for _ in range(draw(st.integers(1, 7))):
            match draw(
                st.sampled_from(["delay", "exec", "move", "move", "move", "until", "add", "wait", "pipe", "mark"])
            ):
                case "delay":
                    thread.delay(program.duration(("fs", draw(times))))
                case "exec":
                    thread.exec(draw(st.integers(0, 3)), program.duration(("fs", draw(times))), draw(some))
                case "move":
                    route, nbytes, more = _move(draw, program, some, st.integers(-1, 3))
                    thread.move(route, nbytes, **more)
                case "until":
                    thread.until(draw(times))
                case "add":
                    thread.add(draw(st.sampled_from(counters)), draw(st.integers(-1, 2)))
                case "wait":
                    counter, compare = draw(st.sampled_from(counters)), draw(st.integers(0, 1))
                    thread.wait(counter, draw(st.integers(0, 2)), compare=compare, take=draw(st.integers(0, 1)))
                case "pipe":
                    thread.pipe(_plan(draw, program), draw(some))
                case "mark":
                    thread.mark(0)
    return program


@st.composite
def pipelines(draw):
    """Long plans whose tokens go the same way, and somebody who comes between, sooner or later."""
    machine = draw(machines())
    machine.server_slots = np.ones(4, np.int64)
    program = Program(machine)
    for t in range(draw(st.integers(1, 2))):
        thread = program.thread(f"plan{t}")
        for _ in range(draw(st.integers(1, 2))):
            thread.pipe(_pipeline(draw, program, t if draw(st.booleans()) else 0), NONE)
    for t in range(draw(st.integers(0, 3))):
        thread = program.thread(f"other{t}")
        for _ in range(draw(st.integers(1, 3))):
            thread.delay(program.duration(("fs", draw(st.integers(0, 4000)))))
            if draw(st.booleans()):
                thread.exec(draw(st.integers(0, 3)), program.duration(("fs", draw(times))), NONE)
            else:
                route, nbytes, more = _move(draw, program, st.just(NONE), st.integers(-1, 3))
                thread.move(route, nbytes, **more)
    return program


def _pipeline(draw, program, route):
    """Up to thirty tokens that read and go on over a line of servers; now and then one writes at the end."""
    rows, starts = [], [0]
    first, *servers = draw(st.permutations(range(4)))[: draw(st.integers(2, 4))]
    route = min(route, len(program.machine.routing.routes) - 1)
    move = (
        Op.MOVE,
        route,
        draw(st.sampled_from([64, 256, 512])),
        0,
        NONE,
        first,
        NONE,
        program.duration(("fs", draw(times))),
    )
    work = [program.duration(("fs", draw(st.integers(1, 300)))) for _ in range(3)]
    reads, writes = draw(st.integers(1, 3)), draw(st.sampled_from([3, 7, 100]))
    for token in range(draw(st.integers(2, 30))):
        rows.extend([move] * reads)
        rows.extend((Op.EXEC, server, draw(st.sampled_from(work)), NONE, 0, 0, 0, 0) for server in servers)
        if token % writes == writes - 1:
            rows.append((*move[:5], draw(st.integers(-1, 3)), *move[6:]))
        starts.append(len(rows))
    return _planned(program, rows, starts)
