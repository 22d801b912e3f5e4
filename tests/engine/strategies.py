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
