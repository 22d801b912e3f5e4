"""Agents: live threads that decide at run time, in the compiled loop and in the naive interpreter."""

from __future__ import annotations

import random

import pytest

from kernbench.engine import Session
from kernbench.engine.agents import Agents
from kernbench.machine import load_machine
from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.program import Program
from tests.engine.difference import describe_difference
from tests.naive.engine import NaiveEngine


def run_session(program, agents, mode="hybrid"):
    session = Session(program, mode)
    session.run(lambda thread: agents.on_ask(thread, session.ask_fs))
    return session


def run_naive(program, agents):
    program.flush()
    return NaiveEngine(program).run(agents.on_ask)


@pytest.fixture
def program():
    return Program(load_machine("ascend_tiny"))


def test_an_agent_is_called_when_it_has_asked_for_it(program):
    agents, calls = Agents(program), []
    agent = agents.agent("a", calls.append)
    agent.call_at(70)
    run_session(program, agents)
    assert calls == [70]


def test_a_plan_is_brought_forward_and_put_off(program):
    agents, calls = Agents(program), []

    def hurry(now):
        calls.append(("other", now))
        late.call_at(30 if now == 10 else 90)

    late = agents.agent("late", lambda now: calls.append(("late", now)))
    other = agents.agent("other", hurry)
    late.call_at(50)
    other.call_at(10)
    run_session(program, agents)
    assert calls == [("other", 10), ("late", 30)]
    other.call_at(40 + 50)


def test_a_cancelled_plan_is_passed_over(program):
    agents, calls = Agents(program), []
    gone = agents.agent("gone", calls.append)
    gone.call_at(20)
    agents.agent("other", lambda _now: gone.cancel()).call_at(10)
    run_session(program, agents)
    assert calls == []


def test_agents_of_one_instant_are_called_in_the_order_of_their_threads(program):
    agents, calls = Agents(program), []
    made = [agents.agent(str(i), lambda now, i=i: calls.append((i, now))) for i in range(5)]
    for agent in reversed(made):
        agent.call_at(33)
    run_session(program, agents)
    assert calls == [(i, 33) for i in range(5)]


def build(seed, *, hasty=False):
    """Agents that wake each other at random, and workers that move bytes and compute when they are told to.

    A `hasty` program says of no worker when it asks, so every call of an agent is an ask.
    """
    machine = load_machine("ascend_tiny")
    program, calls, rng = Program(machine), [], random.Random(seed)
    agents, places = Agents(program), machine.places
    cores = [places.core(cluster, lane) for cluster in range(2) for lane in range(3)]
    idle = {}

    def begin(number, now):
        thread, core, done = idle.pop(number)
        at, work_ns = now + rng.choice([0, 0, 900_000]), rng.randrange(1, 500)
        thread.until(at)
        route = machine.routing.route(core.node, places.l2, Intent.ALL, rng.choice([RouteKind.READ, RouteKind.WRITE]))
        thread.move(route, rng.randrange(1, 9000), stripe=rng.randrange(24), done=done, hold=core.engines["in"])
        thread.exec(core.server, program.duration(("ns", work_ns)), done)
        thread.wait(done, 2, take=2)
        thread.ask()
        agents.expect(thread, now if hasty else at + work_ns * 10**6)
        busy[number] = (thread, core, done)

    def end(number, now):
        calls.append(("core", number, now))
        idle[number] = busy.pop(number)

    def step(number, now):
        calls.append(("agent", number, now))
        if len(calls) > 200:
            return
        for core in list(idle):
            if rng.random() < 0.3:
                begin(core, now)
        for other in made:
            if rng.random() < 0.5:
                other.call_at(now + rng.randrange(0, 2_000_000))

    busy = {}
    for number, core in enumerate(cores):
        thread = agents.worker(core.name, lambda now, number=number: end(number, now))
        idle[number] = thread, core, program.counter(core.name)
    made = [agents.agent(str(i), lambda now, i=i: step(i, now)) for i in range(4)]
    made[0].call_at(5)
    return program, agents, calls


@pytest.mark.parametrize("mode", ["flit", "hybrid"])
def test_the_loop_and_the_interpreter_agree_on_random_agents(mode):
    saved = 0
    for seed in range(12):
        program, agents, calls = build(seed)
        session = run_session(program, agents, mode)
        other, others, others_calls = build(seed)
        naive = run_naive(other, others)
        assert calls == others_calls
        assert any(kind == "core" for kind, *_ in calls)
        assert describe_difference(session, naive) is None
        third, thirds, thirds_calls = build(seed, hasty=True)
        run_session(third, thirds, mode)
        assert calls == thirds_calls
        saved += third.row_count - program.row_count
    assert saved > 0, "it returns to the engine as often"
