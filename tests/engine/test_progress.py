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
from kernels_jit.layout.records import words_of
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
    "multicasts": ("closed", "reopened", "reserved", "revoked", "rebounds", "looked_ahead"),
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
    monkeypatch.setattr(memory, "_EVENTS", 1)
    monkeypatch.setattr(sessions, "empty_pool", lambda _machine: np.empty((r.BLOCK, 2), np.int64))


# Closed form


@pytest.mark.parametrize("service", [3, 20, 35, 100])
@pytest.mark.parametrize("rates", [(10, 20, 24), (24, 20, 10), (10, 10, 40), (10,) * 7])
def test_a_transfer_that_meets_nobody_is_done_in_closed_form(rates, service):
    """Reads and writes of any number of flits over links of many rates, before and behind quick and slow memories."""
    for channels, quantum, overhead_fs in ((2, 1, 0), (4, 16, 0), (4, 64, 60)):
        links = [(rate, 1, 0, 7) for rate in rates]
        machine = BareMachine([*links, *[(service, quantum, 0, 0)] * channels], len(rates), [1], flit_bytes=64)
        way = [0, *((link, 1, overhead_fs * (link == 2), 0) for link in range(1, len(rates)))]
        for kind, steps in (
            ("read", [(len(rates), channels, 0, 0), *way]),
            ("write", [*way, (len(rates), channels, 0, 0)]),
        ):
            machine.route(kind, steps)
        program = Program(machine)
        thread, done = program.thread("t"), program.counter("done")
        for nbytes in (1, 64, 65, 100, 128, 192, 200, 256, 257, 300, 320, 384, 400, 448, 512, 513, 576, 800):
            for route in (0, 1):
                thread.move(route, nbytes, stripe=nbytes % 3, done=done)
                thread.wait(done, 1, take=1)
        assert run_both(program).speculation.closed > 18


@pytest.mark.parametrize("mode", ["flit", "hybrid"])
def test_a_turn_may_take_the_shortest_time(mode):
    machine = BareMachine([LINK, LINK, (40, 64, 1, 0)], 2, [1], flit_bytes=64)
    machine.route("read", [2, 0])
    machine.route("write", [1, 2])
    program = Program(machine)
    for name, route in (("reads", 0), ("writes", 1)):
        thread = program.thread(name)
        for _ in range(5):
            thread.move(route, 200)
    run_both(program, mode)


def test_a_memory_with_the_shortest_turn_is_not_reserved():
    """Reads and writes take turns, each alone, and each turns the memory round."""
    machine = BareMachine([LINK, LINK, (40, 64, 1, 0)], 2, [1], flit_bytes=64)
    machine.route("read", [2, 0])
    machine.route("write", [1, 2])
    program = Program(machine)
    thread, done = program.thread("t"), program.counter("done")
    for number in range(6):
        thread.move(number % 2, 64, done=done)
        thread.wait(done, 1, take=1)
    assert run_both(program).speculation.closed == 0


# Landing bounds


def test_a_bound_knows_nothing_of_the_transfer_that_was_in_this_row_before(monkeypatch):
    """One that nobody awaits is known to land much later, when another begins and waits in a queue."""
    monkeypatch.setattr(memory, "_PASS_FLITS", 1)
    monkeypatch.setattr(memory, "_SLACK_FLITS", 0)
    machine = BareMachine([(10, 1, 0, 5000), LINK, LINK], 3, [1], flit_bytes=64)
    for link in range(3):
        machine.route("message", [link])
    program = Program(machine)
    done = program.counter("done")
    for delay, link, flits, awaited in ((0, 0, 1, NONE), (0, 2, 1, done), (50, 1, 50, NONE), (100, 1, 1, done)):
        thread = program.thread(f"at {delay} on {link}")
        thread.delay(program.duration(("fs", delay)))
        thread.move(link, 64 * flits, done=awaited)
    run_both(program, "flit")


def transfers_at_once(machine, *transfers):
    """Threads that begin at once: rows of (route, bytes, whether it is awaited)."""
    program = Program(machine)
    done = program.counter("done")
    for number, (route, nbytes, awaited) in enumerate(transfers):
        program.thread(f"t{number}").move(route, nbytes, done=done if awaited else NONE)
    return program


def test_the_last_flit_may_be_there_before_others():
    """It waits for a link, its channel being free, while the flit before it waits for a channel that others read from."""
    machine = BareMachine([(10, 1, 0, 1000), LINK, CHANNEL, CHANNEL], 2, [1], flit_bytes=64)
    memory_step = (2, 2, 0, 0)
    reads, others, link = machine.route("read", [memory_step, 0]), machine.route("read", [(2, 1, 0, 0), 1]), 0
    messages = machine.route("message", [link])
    run_both(
        transfers_at_once(machine, (others, 27 * 64, False), (messages, 50 * 64, False), (reads, 65, True)), "flit"
    )


def test_flits_behind_the_last_of_a_channel_are_served_at_others(monkeypatch):
    """A read that waits for its memory: how many flits are behind its first says nothing of one channel."""
    monkeypatch.setattr(memory, "_SLACK_FLITS", 0)
    machine = pipeline(1).machine
    run_both(transfers_at_once(machine, (1, 80 * 64, False), (0, 8 * 64, True)), "flit")


def test_a_bound_is_not_compared_with_what_stands_before_the_bounds():
    program = draw_program("partial", 200)
    program.flush()
    session = Session(program, "flit")
    assert session.step()
    before = session._memory["bounds"] - words_of(r.BOUND)
    session._memory.words[before] = r.NEVER
    session.run()
    assert describe_difference(session, NaiveEngine(program).run()) is None


# Reservations


def test_a_channel_may_be_busy_with_what_has_landed_already():
    """It is known that two writes which nobody awaits will have landed, and no station counts them any longer."""
    machine = BareMachine([LINK, LINK, LINK, LINK, CHANNEL, CHANNEL], 4, [1], flit_bytes=64)
    memory_step = (4, 2, 0, 0)
    write, message = machine.route("write", [0, memory_step]), machine.route("message", [2])
    read = machine.route("read", [memory_step, 1])
    program = Program(machine)
    done = program.counter("done")
    writes, messages, reads = (program.thread(name) for name in ("writes", "messages", "reads"))
    for _ in range(2):
        writes.move(write, 64, stripe=1)
        messages.move(message, 3 * 64, done=done)
    reads.delay(program.duration(("fs", 40)))
    reads.move(read, 2 * 64, done=done)
    run_both(program)


def test_a_transfer_whose_acknowledgement_is_on_its_way_is_not_reopened():
    """Its arrival has been counted, and is not counted again when somebody else takes its link."""
    machine = BareMachine([LINK, CHANNEL], 1, [1], flit_bytes=64)
    write, message = machine.route("write", [0, 1], tail_fs=1000), machine.route("message", [0])
    program = Program(machine)
    program.thread("writes").move(write, 64, arrive=program.counter("arrived"), done=program.counter("acknowledged"))
    other = program.thread("other")
    other.delay(program.duration(("fs", 300)))
    other.move(message, 64)
    done = run_both(program).speculation
    assert (done.revoked, done.reopened) == (1, 0)


# Port queues


@pytest.mark.parametrize("flits", [32, 45, 80])
def test_a_flit_goes_before_a_queue_of_blocks_that_a_gate_holds_back(flits, monkeypatch):
    """Its own gate is open already. The pool has one block, which 32 flits fill."""
    shrink_pools(monkeypatch)
    machine = BareMachine([(1500, 1, 0, 1), LINK, LINK], 3, [1], flit_bytes=64)
    gated = (2, 1, 1000, 0)
    machine.route("message", [0, 1, gated])
    machine.route("message", [1, gated])
    program = Program(machine)
    done = program.counter("done")
    for route, delay, count in ((0, 0, 2), (1, 2700, flits)):
        thread = program.thread(f"route {route}")
        thread.delay(program.duration(("fs", delay)))
        thread.move(route, 64 * count, done=done)
    run_both(program, "flit")


# Batches: tokens that read over one link, and go on to two servers


def pipeline(
    tokens, *, reads=1, work=50, others=(), slots=(1, 1, 1, 1), busy=7, stripes=(0,), begins=0, servers=(1, 2), plans=1
):
    """Plans of tokens on server 0 and others, and other threads: rows of (delay, server or route, bytes)."""
    machine = BareMachine([LINK, LINK, *[CHANNEL] * 4], 2, slots, flit_bytes=64)
    memory_step = (2, 4, 0, 0)
    machine.route("read", [memory_step, 0])
    machine.route("read", [memory_step, 1])
    program = Program(machine)
    moves = [(2, 0, 256, stripes[k % len(stripes)], NONE, 0, NONE, program.duration(("fs", 0))) for k in range(reads)]
    stages = [exec_row(server, program.duration(("fs", work))) for server in servers]
    thread = program.thread("plan")
    thread.delay(program.duration(("fs", begins)))
    for _ in range(plans):
        thread.pipe(add_plan(program, [moves + stages] * tokens), NONE)
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


def test_a_batch_is_split_where_it_began_and_not_in_rows_of_another():
    """The rows before it are reads as well, of a batch of another plan from another memory that is under way."""
    for delay in range(5, 240, 9):
        machine = BareMachine([LINK, LINK, *[CHANNEL] * 8], 2, [1] * 3, flit_bytes=64)
        for link in (0, 1):
            machine.route("read", [(2 + 4 * link, 4, 0, 0), link])
        program = Program(machine)
        still = program.duration(("fs", 0))
        for route, begins in ((1, min(delay, 70)), (0, 0)):
            thread = program.thread(f"plan of {route}")
            thread.delay(program.duration(("fs", begins)))
            reads = [(2, route, 256, 0, NONE, route, NONE, still)] * 3
            thread.pipe(add_plan(program, [reads]), NONE)
        other = program.thread("other")
        other.delay(program.duration(("fs", delay)))
        other.move(0, 64)
        run_both(program)


def test_a_batch_is_split_where_it_began_though_the_row_before_ends_then():
    """That is a read of another plan, and whoever queues behind it meets the batch."""
    machine = BareMachine([LINK, LINK, *[CHANNEL] * 8], 2, [1] * 2, flit_bytes=64)
    for link in (0, 1):
        machine.route("read", [(2 + 4 * link, 4, 0, 0), link])
    program = Program(machine)
    for route, begins, reads in ((1, 0, 1), (0, 5, 3)):
        thread = program.thread(f"plan of {route}")
        thread.delay(program.duration(("fs", begins)))
        read = (2, route, 256, 0, NONE, route, NONE, program.duration(("fs", 0)))
        thread.pipe(add_plan(program, [[read] * reads]), NONE)
    program.thread("other").move(0, 64, hold=1)
    assert run_both(program).speculation.split == 2


def test_tokens_that_are_taken_back_queue_again():
    """Somebody breaks the chain when all tokens have been handed out, and somebody else comes to where they begin."""
    for tokens in (7, 8, 9, 10):
        for delay in range(300, 81 * tokens, 23):
            run_both(pipeline(tokens, others=[(delay, 1, 0), (delay + 5, 0, 0), (delay + 6, 0, 0)]))


def test_reads_of_a_batch_may_begin_at_different_stripes():
    """And others that meet them may leave more at one channel than at another."""
    for delay in range(100, 700, 11):
        run_both(pipeline(12, reads=3, others=[(delay, 3, 65), (delay + 9, NONE, 192)], stripes=(0, 1, 3)))


def test_tokens_that_wait_in_a_chain_stay_there_when_a_batch_is_split():
    """Reads are quicker than what follows them: a line of tokens waits in the chain when somebody else reads."""
    for work in (100, 300):
        for delay in range(100, 2000, 47):
            run_both(pipeline(12, reads=1 + delay % 2, work=work, others=[(delay, 3, 64), (delay + 9, NONE, 192)]))


@pytest.mark.parametrize("order", [("plan", "other"), ("other", "plan")])
def test_who_comes_to_a_chain_at_the_instant_at_which_a_token_does_goes_by_the_order_of_events(order):
    """After the read of a token of the plan, or before it, if its own header arrives then: as their owners say."""
    for reads in range(1, 12):
        program = Program(pipeline(1).machine)
        stages = [exec_row(server, program.duration(("fs", 50))) for server in (1, 2)]
        tokens = [[(2, 0, 256, 0, NONE, 0, NONE, program.duration(("fs", 0))), *stages]] * 12
        lead = program.duration(("fs", reads * READ_FS - 1))
        header = (2, 1, 0, 0, NONE, 3, NONE, lead)
        plans = {"plan": tokens, "other": [[header, stages[0]]]}
        for name in order:
            program.thread(name).pipe(add_plan(program, plans[name]), NONE)
        run_both(program)


@pytest.mark.parametrize("reads", [1, 2])
def test_tokens_enter_a_chain_in_the_order_in_which_they_ask(reads):
    """One is on another server before the chain, while those behind it are batched and foreseen to come to the chain later."""
    split = 0
    for work in range(20, 8 * READ_FS, 17):
        program = Program(pipeline(1).machine)
        read = (2, 0, 256, 0, NONE, 0, NONE, program.duration(("fs", 0)))
        stage, detour = exec_row(2, program.duration(("fs", 50))), exec_row(1, program.duration(("fs", work)))
        tokens = [[read] * reads + ([detour, stage] if k == 1 else [stage]) for k in range(12)]
        program.thread("plan").pipe(add_plan(program, tokens), NONE)
        split += run_both(program).speculation.split
    assert split > 0


def test_a_token_that_has_come_to_a_chain_in_this_event_is_not_taken_back():
    """The next one begins in the same event, and splits a batch of reads whose transfer tokens had before."""
    machine = BareMachine([LINK, LINK, *[CHANNEL] * 8], 2, [1] * 4, flit_bytes=64)
    for memory_of, link in ((2, 0), (6, 1), (6, 1)):
        machine.route("read", [(memory_of, 4, 0, 0), link])
    program = Program(machine)
    still, work = program.duration(("fs", 0)), program.duration(("fs", 20))
    read, again, other = ((2, route, 256, 0, NONE, server, NONE, still) for route, server in ((0, 0), (1, 1), (2, 0)))
    begins = [[read], [read], [read, again, again, again], [read], [other], [read], [read]]
    tokens = [[*begin, exec_row(2, work), exec_row(3, work)] for begin in begins]
    program.thread("plan").pipe(add_plan(program, tokens), NONE)
    done = run_both(program).speculation
    assert done.split > 0


def servers_in_turn(program, *tokens):
    """A plan of tokens that are served for 10 fs by each of these servers."""
    return add_plan(program, [[exec_row(server, program.duration(("fs", 10))) for server in token] for token in tokens])


@pytest.mark.parametrize("tokens", [[(0, 1)], [(0, 1, 2), (0, 1)]])
def test_the_chain_of_a_plan_ends_with_its_token(tokens):
    """Though the rows of another plan stand behind it, and go on where it ends."""
    program = Program(BareMachine([LINK], 1, [1] * 4))
    plans = [servers_in_turn(program, *tokens), servers_in_turn(program, (2, 3), (2, 3))]
    thread, done = program.thread("t"), program.counter("done")
    for plan in plans:
        thread.pipe(plan, done)
        thread.wait(done, 1, take=1)
    assert run_both(program).speculation.chained > 2


@pytest.mark.parametrize("stays", [1, 9])
def test_a_token_that_stays_on_the_last_server_of_a_chain_is_not_overtaken(stays):
    """It moves a header there, or is served more often than a chain has rows; those behind it leave."""
    machine = BareMachine([LINK], 1, [1] * 2)
    machine.route("message", [0])
    program = Program(machine)
    first, work = exec_row(0, program.duration(("fs", 10))), exec_row(1, program.duration(("fs", 30)))
    header = (2, 0, 0, 0, NONE, 1, NONE, program.duration(("fs", 7)))
    token = [first, *[work] * stays]
    program.thread("t").pipe(add_plan(program, [[*token, header], *[token[:9]] * 4]), NONE)
    run_both(program)


def test_a_stage_that_takes_no_time_is_in_no_chain():
    """Somebody whose header takes no time either asks for the server behind it before it is over."""
    machine = BareMachine([(10, 1, 0, 0)], 1, [1] * 4)
    machine.route("message", [0])
    program = Program(machine)
    header = (2, 0, 0, 0, NONE, 3, NONE, program.duration(("fs", 0)))
    begin, at_once, work = (exec_row(server, program.duration(("fs", fs))) for server, fs in ((3, 10), (1, 0), (2, 50)))
    for name, token in (("plan", [begin, at_once, work]), ("other", [header, work])):
        program.thread(name).pipe(add_plan(program, [token]), NONE)
    run_both(program)


def test_a_chain_is_not_longer_than_one_event_may_bring():
    program = Program(BareMachine([LINK], 1, [1] * 12))
    program.thread("t").pipe(servers_in_turn(program, *[range(12)] * 5), NONE)
    program.flush()
    session = Session(program)
    while session.step():
        assert find_broken(session) is None
    assert session.speculation.chained > 0


def test_the_heap_has_room_for_all_threads_that_wake_at_once(monkeypatch):
    """While a hundred jobs are pending."""
    shrink_pools(monkeypatch)
    program = Program(BareMachine([LINK], 1, [10] * 10))
    jobs, go = program.thread("jobs"), program.counter("go")
    for server in range(10):
        for _ in range(10):
            jobs.exec(server, program.duration(("fs", 100)))
    jobs.add(go, 1)
    for number in range(60):
        program.thread(f"waits {number}").wait(go, 1)
    run_both(program)


@pytest.mark.parametrize("mode", ["flit", "hybrid"])
def test_the_heap_has_room_for_all_transfers_that_land_at_once(mode, monkeypatch):
    """Each with two events."""
    shrink_pools(monkeypatch)
    machine = BareMachine([LINK] * 60, 60, [1], flit_bytes=64)
    program = Program(machine)
    thread, landed = program.thread("t"), program.counter("landed")
    for link in range(60):
        thread.move(machine.route("message", [link]), 64, done=landed, arrive=landed)
    run_both(program, mode)


def test_tokens_of_a_server_with_more_slots_are_not_batched():
    """One slot is taken when the tokens begin, and free again before they end."""
    for busy in range(100, 400, 13):
        program = pipeline(12, others=[(0, 0, 0)], slots=(2, 1, 1, 1), busy=busy, begins=1)
        run_both(program)


def test_tokens_that_read_on_no_server_are_not_batched():
    """All of them may read at once."""
    program = Program(pipeline(1).machine)
    read = (2, 0, 256, 0, NONE, NONE, NONE, program.duration(("fs", 0)))
    stages = [exec_row(server, program.duration(("fs", 100))) for server in (0, 1, 2)]
    program.thread("plan").pipe(add_plan(program, [[stages[0], read, *stages[1:]]] * 12), NONE)
    assert run_both(program).speculation.chained > 0


def test_tokens_that_only_read_are_not_batched():
    """There is no chain to which they go on."""
    assert run_both(pipeline(12, servers=())).speculation.closed == 12


@pytest.mark.parametrize(("route", "nbytes", "server"), [(1, 256, 0), (0, 512, 0), (0, 256, 3)])
def test_reads_that_differ_are_not_one_batch(route, nbytes, server):
    """Those of one token, and of one token after the other, all of which begin on one server."""
    program = Program(pipeline(1).machine)
    still = program.duration(("fs", 0))
    read, other = (2, 0, 256, 0, NONE, 0, NONE, still), (2, route, nbytes, 0, NONE, server, NONE, still)
    stages = [exec_row(server, program.duration(("fs", 50))) for server in (1, 2)]
    turns = [[read, *stages], [other, *stages]] if server == 0 else [[read, *stages], [read, other, *stages]]
    for number, tokens in enumerate(([[read, other, *stages]] * 12, turns * 6)):
        program.thread(f"plan{number}").pipe(add_plan(program, tokens), NONE)
    run_both(program)


def test_a_stage_is_no_read_whatever_its_numbers():
    """They are those of the read before it, column by column."""
    machine = BareMachine([LINK], 1, [1, 1], flit_bytes=1)
    program = Program(machine)
    work, lead = program.duration(("fs", 50)), program.duration(("fs", 0))
    server = route = machine.route("message", [0])
    token = [(2, route, work, 0, NONE, 0, NONE, lead), exec_row(server, work), exec_row(1, work)]
    program.thread("plan").pipe(add_plan(program, [token] * 5), NONE)
    run_both(program)


def test_a_batch_ends_with_its_plan():
    """The next in the queue is a plan of the same reads."""
    for delay in range(200, 500, 9):
        run_both(pipeline(4, plans=2, others=[(delay, 1, 0)]))


def test_of_two_batches_of_a_plan_one_is_split():
    """A token reads twice from another memory while those behind it are batched, and somebody reads from there."""
    for delay in range(200, 600, 13):
        machine = BareMachine([LINK, LINK, *[CHANNEL] * 8], 2, [1] * 4, flit_bytes=64)
        for link in (0, 1):
            machine.route("read", [(2 + 4 * link, 4, 0, 0), link])
        program = Program(machine)
        read, other = ((2, route, 256, 0, NONE, route, NONE, program.duration(("fs", 0))) for route in (0, 1))
        stages = [exec_row(server, program.duration(("fs", 20))) for server in (2, 3)]
        tokens = [[read, *([other, other] if k == 2 else []), *stages] for k in range(12)]
        program.thread("plan").pipe(add_plan(program, tokens), NONE)
        thread = program.thread("other")
        thread.delay(program.duration(("fs", delay)))
        thread.move(1, 64)
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
@pytest.mark.parametrize("kind", ["crowded", "pipelines", "partial", "multicasts"])
@pytest.mark.parametrize("pools", ["usual", "tiny"])
def test_steps_do_what_a_run_does(kind, mode, pools, monkeypatch):
    """And between them the memory is as it should be, and nothing happens before the time that was told."""
    if pools == "tiny":
        shrink_pools(monkeypatch)
    for seed in range(200, 202):
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
        ("issue_fs", 9 * 4 - 1, "have begun though their tokens queue"),
    ],
)
def test_times_of_rows_that_have_not_begun_are_found(field, more, says):
    session = stop_halfway("flit")
    session._times[field][more] = 1
    assert any(says in broken for broken in list_broken(session)), list(list_broken(session))
