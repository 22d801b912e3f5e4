"""Random programs on a small NPU: transfers between cores and memories, plans of engines, and agents who hand out both."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from kernbench.engine.agents import Agents
from kernbench.library import find
from kernbench.machine import Intent, RouteKind
from kernbench.machine.families.ascend.places import CorePlace
from kernbench.machine.load import compile_machine
from kernbench.program.ops import NONE, Op
from kernbench.program.program import Program
from kernbench.program.thread import Thread
from tests.engine.live import LiveProgram, OnAsk
from tests.engine.plans import add_plan
from tests.engine.work import Work

KINDS_OF_ROUTES = (RouteKind.READ, RouteKind.READ, RouteKind.WRITE)
FLITS = (1, 2, 3, 10)  # of a transfer, and some bytes less
NS = (0, 0.001, 1, 3, 100, 500)
MOST_CALLS = 60  # of agents and workers of a program


def draw_fields(random: Random) -> dict[str, Any]:
    """Flits smaller and larger than the bursts of memories, which need not be multiples of each other."""
    some = random.choice
    return {
        "clusters": some((1, 2)),
        "aiv_per_cluster": some((1, 2)),
        "flit_bytes": some((1, 32, 48, 64, 512)),
        "l2.burst_bytes": some((1, 64, 100, 128, 1024)),
        "l2.channels": some((1, 3, 24)),
        "l2.channel_gbs": some((1, 198, 1000)),
        "gm_hbm.burst_bytes": some((32, 64)),
        "gm_hbm.channels": some((1, 2, 32)),
        "aic.read_gbs": some((0.5, 100, 300)),
        "aiv.write_gbs": some((0.5, 100, 300)),
    }


class _Cores:
    """Draws what cores of a machine do."""

    def __init__(self, random: Random, program: Program) -> None:
        self.random, self.program, self.machine = random, program, program.machine
        self.work = Work(self.machine)
        self.places = places = self.machine.places
        shape = places.ascend
        self.all = [places.core(c, lane) for c in range(shape.clusters) for lane in range(1 + shape.aiv_per_cluster)]

    def add(self, thread: Thread, core: CorePlace, done: int) -> int:
        """Append one to three transfers, jobs or plans, which count at `done`; returns how many."""
        random, started = self.random, self.random.randint(1, 3)
        for _ in range(started):
            kind = random.random()
            if kind < 0.6:
                _, route, nbytes, stripe, _, hold, _, lead = self.draw_move(core)
                thread.move(route, nbytes, stripe=stripe, done=done, hold=hold, lead=lead)
            elif kind < 0.8:
                thread.exec(random.choice(list(core.engines.values())), self.draw_duration(), done)
            else:
                thread.pipe(add_plan(self.program, self.draw_tokens(core)), done)
        return started

    def draw_move(self, core: CorePlace, hold: int | None = None) -> tuple[int, ...]:
        """A row that reads or writes one of the memories."""
        random, places = self.random, self.places
        memory = random.choice((places.l2, places.l2, places.gm_hbm))
        route = self.machine.routing.route(core.node, memory, Intent.ALL, random.choice(KINDS_OF_ROUTES))
        flit_bytes = self.machine.flit_bytes
        nbytes = random.choice(FLITS) * flit_bytes - random.choice((0, random.randrange(flit_bytes), flit_bytes))
        hold = random.choice((NONE, core.engines["in"])) if hold is None else hold
        size = self.work.draw(route, nbytes) if nbytes else 0
        return Op.MOVE, route, size, random.randrange(24), NONE, hold, NONE, self.draw_duration()

    def draw_tokens(self, core: CorePlace) -> list[list[tuple[int, ...]]]:
        """Tiles that come in, go over the other engines, and sometimes out."""
        first, *others = core.engines.values()
        rows = [(Op.EXEC, server, self.draw_duration(), NONE, 0, 0, 0, 0) for server in others]
        move = self.draw_move(core, first)
        return [[move, *rows] for _ in range(self.random.choice((1, 2, 6)))]

    def draw_duration(self) -> int:
        """The number of a duration."""
        return self.program.duration(("ns", float(self.random.choice(NS))))


def ascend(random: Random) -> Program:
    """A thread for each of some cores, which waits for what it began, or not."""
    program = Program(compile_machine(find("topology", "ascend_tiny"), draw_fields(random)))
    cores = _Cores(random, program)
    for core in random.sample(cores.all, random.randint(1, len(cores.all))):
        thread, done = program.thread(core.name), program.counter(f"done of {core.name}")
        for _ in range(random.randint(1, 5)):
            started = cores.add(thread, core, done)
            if random.random() < 0.8:
                thread.wait(done, started, take=started)
    return program


def agents(random: Random) -> Program:
    """Agents who wake each other, and give cores transfers, jobs and plans as these come to their end."""
    machine = compile_machine(find("topology", "ascend_tiny"), draw_fields(random))
    seed = random.random()
    return LiveProgram(machine, lambda program: _Chiefs(Random(seed), program).on_ask)


class _Chiefs:
    """A few agents and a worker for each core."""

    def __init__(self, random: Random, program: Program) -> None:
        self._random, self._program, self._cores = random, program, _Cores(random, program)
        self._agents, self._calls = Agents(program), 0
        self.on_ask: OnAsk = self._agents.on_ask
        self._idle: list[int] = []
        self._workers: list[tuple[Thread, int]] = []
        for number, core in enumerate(self._cores.all):
            thread = self._agents.worker(core.name, lambda now, number=number: self._end(number, now))
            self._workers.append((thread, program.counter(core.name)))
            self._idle.append(number)
        self._chiefs = [self._agents.agent(f"{n}", self._step) for n in range(random.randint(1, 4))]
        self._chiefs[0].call_at(random.choice((0, 5)))

    def _step(self, now: int) -> None:
        random, self._calls = self._random, self._calls + 1
        if self._calls > MOST_CALLS:
            return
        for number in list(self._idle):
            if random.random() < 0.4:
                self._begin(number, now)
        for chief in self._chiefs:
            if random.random() < 0.6:
                chief.call_at(now + random.choice((0, 1, random.randrange(2_000_000))))

    def _begin(self, number: int, now: int) -> None:
        self._idle.remove(number)
        thread, done = self._workers[number]
        at = now + self._random.choice((0, 0, 900_000))
        thread.until(at)
        started = self._cores.add(thread, self._cores.all[number], done)
        thread.wait(done, started, take=started)
        thread.ask()
        self._agents.expect(thread, at)

    def _end(self, number: int, _now: int) -> None:
        self._calls += 1
        self._idle.append(number)
        if self._calls <= MOST_CALLS:
            self._chiefs[0].call_at(self._agents.now_fs)


KINDS: dict[str, Callable[[Random], Program]] = {"ascend": ascend, "agents": agents}
