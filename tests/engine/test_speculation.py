"""Speculation and roll-back of the loop: they happen, change no time, and leave the memory valid."""

from collections import Counter

import numpy as np
import pytest

from kernbench.engine import Session, memory
from kernbench.engine import session as sessions
from kernbench.program.ops import NONE
from kernbench.program.program import Program
from kernels_jit.layout import codes
from kernels_jit.layout import records as r
from tests.engine.bare import BareMachine
from tests.engine.difference import describe_difference
from tests.engine.invariants import at, find_broken, list_broken, list_transfers
from tests.engine.random_programs import add_plan, draw_program, exec_row
from tests.naive.engine import NaiveEngine

SEEDS = range(40)
NEEDED = {
    "crowded": ("closed", "reopened", "reserved", "revoked", "batched", "split", "chained", "broken", "requeued"),
    "pipelines": ("closed", "reopened", "reserved", "revoked", "batched", "split", "chained", "broken", "requeued"),
    "partial": ("closed", "reopened", "reserved", "revoked", "rebounds", "looked_ahead"),
}
LINK, CHANNEL = (10, 1, 0, 1), (40, 64, 0, 0)
READ_FS = 4 * 10 + 40 + 1  # of four flits over one link: each channel serves one


def run_both(program, mode="hybrid"):
    """A session that has run and equals the interpreter."""
    program.flush()
    session = Session(program, mode)
    session.run()
    assert describe_difference(session, NaiveEngine(program).run()) is None
    assert find_broken(session) is None
    return session


def draw_both(kind, seeds):
    """What was speculated in programs that equal the interpreter, summed."""
    total = Counter()
    for seed in seeds:
        program = draw_program(kind, seed)
        program.flush()
        session = Session(program)
        session.run()
        assert describe_difference(session, NaiveEngine(program).run()) is None, (kind, seed)
        assert find_broken(session) is None, (kind, seed)
        total.update(session.speculation._asdict())
    return total


@pytest.mark.slow
@pytest.mark.parametrize("kind", NEEDED)
def test_programs_speculate_and_roll_back(kind):
    total = draw_both(kind, SEEDS)
    assert [name for name in NEEDED[kind] if total[name] == 0] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", NEEDED)
def test_with_tiny_pools_as_well(kind, monkeypatch):
    shrink_pools(monkeypatch)
    total = draw_both(kind, range(100, 120))
    assert total["closed"] > 0
    assert total["revoked"] > 0


def shrink_pools(monkeypatch):
    monkeypatch.setattr(memory, "_JOBS", 1)
    monkeypatch.setattr(memory, "_TRANSFERS", 1)
    monkeypatch.setattr(sessions, "empty_pool", lambda _machine: np.empty((r.BLOCK, 2), np.int64))


# Batches: tokens that read over one link, and go on to two servers


def pipeline(tokens, *, reads=1, work=50, others=(), slots=(1, 1, 1, 1), busy=7, stripes=(0,)):
    """A plan of tokens on servers 0, 1 and 2, and other threads: rows of (delay, server or route, bytes)."""
    machine = BareMachine([LINK, LINK, *[CHANNEL] * 4], 2, slots, flit_bytes=64)
    memory_step = (2, 4, 0, 0)
    machine.route("read", [memory_step, 0])
    machine.route("read", [memory_step, 1])
    program = Program(machine)
    moves = [(2, 0, 256, stripes[k % len(stripes)], NONE, 0, NONE, program.duration(("fs", 0))) for k in range(reads)]
    stages = [exec_row(server, program.duration(("fs", work))) for server in (1, 2)]
    program.thread("plan").pipe(add_plan(program, [moves + stages] * tokens), NONE)
    for number, (delay, server, nbytes) in enumerate(others):
        thread = program.thread(f"other{number}")
        thread.delay(program.duration(("fs", delay)))
        if nbytes:
            thread.move(1, nbytes, hold=server)
        else:
            thread.exec(server, program.duration(("fs", busy)))
    return program


def test_tokens_are_batched_and_nothing_is_taken_back():
    done = run_both(pipeline(100)).speculation
    assert done.batched > 90
    assert (done.split, done.broken, done.reopened) == (0, 0, 0)


@pytest.mark.parametrize("server", [1, 2, 3])
@pytest.mark.parametrize("nbytes", [0, 64])
def test_a_batch_of_many_tokens_is_split_wherever_another_comes(server, nbytes):
    """Every few fs somebody asks for a server of the chain, or reads from the memory."""
    total = Counter()
    for delay in range(3000, 3400, 9):
        done = run_both(pipeline(60, reads=1 + delay % 2, others=[(delay, server, nbytes)])).speculation
        total.update(done._asdict())
        if nbytes:
            assert done.revoked > 0
    if nbytes or server < 3:
        assert total["split"] > 2 * 45  # of 45 batches, so tokens and not only reads


def test_a_batch_ends_when_jobs_run_out(monkeypatch):
    """Otherwise a batch of 64 tokens takes more jobs than a small pool has."""
    shrink_pools(monkeypatch)
    done = run_both(pipeline(200)).speculation
    assert done.batched > 100


def test_a_batch_is_split_where_it_began_and_not_where_one_before_did():
    """The transfer that did a batch of later rows is used again for one of earlier rows."""
    for delay in range(5000, 5200, 9):
        program = pipeline(12, reads=3)
        stages = [exec_row(server, program.duration(("fs", 50))) for server in (1, 2)]
        move = (2, 0, 256, 0, NONE, 0, NONE, program.duration(("fs", 0)))
        late, early = program.thread("late"), program.thread("early")
        late.delay(program.duration(("fs", 5000)))
        plans = [add_plan(program, [[move] * 3 + stages] * 5) for _ in range(2)]
        late.pipe(plans[delay % 2], NONE)
        early.pipe(plans[1 - delay % 2], NONE)
        other = program.thread("other")
        other.delay(program.duration(("fs", delay)))
        other.move(1, 64)
        run_both(program)


def test_tokens_that_are_taken_back_queue_again():
    """Somebody breaks the chain when all tokens have been handed out, and somebody else comes to where they begin."""
    for tokens in (7, 8, 9, 10):
        for delay in range(300, 81 * tokens, 23):
            run_both(pipeline(tokens, others=[(delay, 1, 0), (delay + 5, 0, 0), (delay + 6, 0, 0)]))


def test_each_read_of_a_batch_has_its_own_stripe():
    """Which shows when another transfer meets it."""
    for delay in range(100, 700, 11):
        run_both(pipeline(12, reads=3, others=[(delay, 3, 65), (delay + 9, NONE, 192)], stripes=(0, 1, 3)))


def test_tokens_of_a_server_with_more_slots_are_not_batched():
    """One slot is taken when the tokens begin, and free again before they end."""
    for busy in range(100, 400, 13):
        program = pipeline(12, others=[(0, 0, 0)], slots=(2, 1, 1, 1), busy=busy)
        run_both(program)


def test_after_each_event_of_a_batch_that_is_split_all_is_as_it_should_be():
    for delay in range(150, 700, 61):
        for server, nbytes in ((1, 0), (2, 0), (3, 64)):
            program = pipeline(12, reads=3, others=[(delay, server, nbytes)])
            program.flush()
            session = Session(program)
            while session.step():
                assert find_broken(session) is None, delay
            assert describe_difference(session, NaiveEngine(program).run()) is None


# Step by step


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["flit", "hybrid"])
@pytest.mark.parametrize("kind", ["crowded", "pipelines", "partial"])
@pytest.mark.parametrize("pools", ["usual", "tiny"])
def test_steps_do_what_a_run_does(kind, mode, pools, monkeypatch):
    """And between them the memory is as it should be, and nothing happens before the time that was told."""
    if pools == "tiny":
        shrink_pools(monkeypatch)
    for seed in range(200, 206):
        program = draw_program(kind, seed)
        program.flush()
        session, told, now, goes_on = Session(program, mode), 0, 0, True
        while goes_on:
            goes_on = session.step()
            assert find_broken(session) is None, (kind, seed, now)
            before, now = now, session._memory["now_fs"]
            assert now == before or now >= told, (kind, seed, now)
            peeked = session.peek()
            if peeked is not None:
                assert peeked >= max(told, now), (kind, seed, now)
                told = peeked
        assert session.peek() is None
        assert describe_difference(session, NaiveEngine(program).run()) is None, (kind, seed)
        whole = Session(program, mode)
        whole.run()
        assert session.events == whole.events


# That invariants can fail


def stop_halfway(mode):
    """A run of two readers and a pipeline that has two pending events and two bounds, or in hybrid mode a reservation."""
    program = pipeline(9, reads=2, others=[(3, 3, 512), (2, 2, 0), (9999, 2, 0)] if mode == "flit" else [(1000, 3, 0)])
    program.flush()
    session = Session(program, mode)
    memory = session._memory
    events, bounds = (2, 2) if mode == "flit" else (2, 0)
    while memory["now_fs"] == 0 or memory["heap_n"] != events or memory["bound_n"] < bounds:
        assert session.step()
    assert find_broken(session) is None
    return session


def change(table, kind, field, value, row=0):
    """Changes a field of a row of a table."""

    def corrupt(memory):
        memory.table(table, kind, row + 1)[field][row] = value

    return corrupt


def change_state(field, more):
    def corrupt(memory):
        memory[field] += more

    return corrupt


def change_at(place, kind, field, value):
    """Changes a field of the record whose place is in a field of the state."""

    def corrupt(memory):
        at(memory, kind, memory[place])[field] = memory[place] if value is None else value

    return corrupt


def change_flying(field, value):
    """Changes a field of a transfer that is in the network."""

    def corrupt(memory):
        places = [p for p in list_transfers(memory) if at(memory, r.TRANSFER, p)["from_step"] != NONE]
        at(memory, r.TRANSFER, places[0])[field] = value

    return corrupt


def change_event(kind, field):
    """Changes the first pending event of a kind."""

    def corrupt(memory):
        events = memory.table("heap", r.EVENT, memory["heap_n"])
        events[field][np.flatnonzero(events["key"] >> codes.KIND_SHIFT == kind)[0]] += 1

    return corrupt


def repeat_event(memory):
    """Lets the first event be pending twice."""
    memory["heap_n"] += 1
    events = memory.table("heap", r.EVENT, memory["heap_n"])
    events[-1] = events[0]


def lose_job(memory):
    """Takes a job from those that are free."""
    memory["job_free"] = int(at(memory, r.JOB, memory["job_free"])["next"])
    memory["job_free_n"] -= 1


def change_job(memory):
    """Changes the owner of the first token in a chain."""
    at(memory, r.JOB, int(memory.table("plans", r.PLAN, 1)["chain_first"][0]))["owner"] += 1


@pytest.mark.parametrize(
    ("mode", "corrupt", "says"),
    [
        ("flit", change_at("job_free", r.JOB, "next", None), "the chain of free jobs comes to"),
        ("flit", change_at("transfer_free", r.TRANSFER, "next", None), "the chain of free transfers comes to"),
        ("flit", change_state("job_free_n", 1), "jobs are counted as free and"),
        ("flit", change_state("transfer_free_n", -1), "transfers are counted as free and"),
        ("flit", change("heap", r.EVENT, "fs", 0, row=1), "event 1 comes before the one above it"),
        ("flit", change_state("now_fs", 10_000), "is pending at 10"),
        ("flit", change("bounds", r.BOUND, "fs", 0, row=1), "bound 1 comes before the one above it"),
        ("flit", change_state("bound_n", -1), "is awaited in the network and has 0 bounds"),
        ("flit", change_flying("closed", 1), "is in the network and done in closed form"),
        ("hybrid", change_event(codes.DONE, "key"), "an event of a transfer at"),
        ("flit", change_event(codes.SERVED, "index"), "an event of a job at"),
        ("hybrid", change_job, "a token of plan 0 has the owner"),
        ("flit", repeat_event, "events of kind"),
        ("hybrid", change("servers", r.SERVER, "last", 8), "the queue of server 0 ends at"),
        ("flit", lose_job, "jobs are in use and"),
        ("hybrid", change("stations", r.STATION, "users", 1), "station 0 counts 1 users and has 0"),
        ("hybrid", change("stations", r.STATION, "users", 1), "station 0 is reserved and has 1 users"),
        ("hybrid", change("reservations", r.RESERVATION, "held", 0), "is reserved for route 0, which does not hold it"),
        ("hybrid", change("plans", r.PLAN, "left", -1), "plan 0 has -1 tokens left"),
        ("hybrid", change("plans", r.PLAN, "chain_rows", 0), "is in a chain that plan 0 does not have"),
        ("hybrid", change("servers", r.SERVER, "used", 1, row=1), "server 1 is in a chain and has jobs of its own"),
        ("hybrid", change("servers", r.SERVER, "used", 2), "server 0 has 2 of 1 slots taken"),
        ("hybrid", change("servers", r.SERVER, "used", 0), "server 0 has a free slot and a job that queues"),
    ],
)  # fmt: skip
def test_an_invariant_that_does_not_hold_is_found(mode, corrupt, says):
    session = stop_halfway(mode)
    corrupt(session._memory)
    assert any(says in broken for broken in list_broken(session)), list(list_broken(session))


def test_a_reservation_of_a_free_transfer_is_found():
    session = stop_halfway("hybrid")
    memory = session._memory
    memory.table("reservations", r.RESERVATION, 1)["transfer"] = memory["transfer_free"]
    assert find_broken(session) == "route 0 is reserved by a transfer that is free"


@pytest.mark.parametrize(
    ("field", "more", "says"),
    [
        ("end_fs", 0, "is complete while its transfer is under way"),
        ("start_fs", 1, "have begun before it is complete"),
        ("start_fs", 9 * 4 - 1, "have begun though their tokens queue"),
    ],
)
def test_times_of_rows_that_have_not_begun_are_found(field, more, says):
    session = stop_halfway("flit")
    session._times[field][more] = 1
    assert any(says in broken for broken in list_broken(session)), list(list_broken(session))
