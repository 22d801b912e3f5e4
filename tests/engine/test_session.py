"""Times of runs against times by hand. Links take 10 fs for a flit and 1 fs to the next node."""

from itertools import pairwise

import numpy as np
import pytest

from kernbench.engine import Session, memory, progress, session
from kernbench.errors import DeadlockError, InputError, RunError
from kernbench.program.ops import EQ, NONE, ROW_WIDTH, Op
from kernbench.program.program import Program
from kernbench.program.rows import pack_row
from tests.engine.bare import BareMachine
from tests.naive.engine import NaiveEngine

LINK = (10, 1, 0, 1)  # fs a flit, quantum, turn, propagation
CHANNEL = (80, 256, 0, 0)
BOTH = pytest.mark.parametrize("mode", ["flit", "hybrid"])


def machine_of(*stations, links=None, slots=(1,)):
    return BareMachine(stations, len(stations) if links is None else links, slots)


def end_of_move(machine, nbytes, mode, **more):
    program = Program(machine)
    row = program.thread("t").move(0, nbytes, done=program.counter("c"), **more)
    run = Session(program, mode)
    run.run()
    assert run.op_end_fs.tolist() == NaiveEngine(program).run().end
    return int(run.op_end_fs[row])


@BOTH
@pytest.mark.parametrize(
    ("nbytes", "end"),
    [
        (0, 2),  # propagation alone
        (256, 22),  # one flit: 10 + 1 twice
        (3 * 256, 42),  # the second link serves each flit as it comes: two more services
        (2 * 256 + 128, 37),  # the last flit is half a flit: 5 on either link
    ],
)
def test_flits_follow_each_other_over_links(mode, nbytes, end):
    machine = machine_of(LINK, LINK)
    machine.route("message", [0, 1])
    assert end_of_move(machine, nbytes, mode) == end


@BOTH
@pytest.mark.parametrize(("flits", "is_counted"), [(4095, True), (4096, False), (1 << 25, False)])
def test_the_clock_ends_a_transfer_however_long_it_is(mode, flits, is_counted):
    machine = machine_of((1 << 50, 1, 0, 0))  # 2^12 flits are 2^62 fs
    machine.route("message", [0])
    if is_counted:
        assert end_of_move(machine, flits * 256, mode) == flits << 50
        return
    program = Program(machine)
    program.thread("t").move(0, flits * 256, done=program.counter("c"))
    with pytest.raises(RunError, match="the run goes beyond 4,611 s of simulated time"):
        Session(program, mode).run()


@BOTH
@pytest.mark.parametrize(("nbytes", "end"), [(1, 82), (32, 91), (33, 171), (128, 331)])
def test_a_flit_is_served_no_longer_than_a_full_one_where_a_burst_holds_several(mode, nbytes, end):
    machine = BareMachine([LINK, (80, 128, 0, 0)], 1, [1], flit_bytes=32)
    machine.route("write", [0, 1])
    assert end_of_move(machine, nbytes, mode) == end


@BOTH
@pytest.mark.parametrize(("nbytes", "end"), [(256, 52), (2 * 256, 62), (5 * 256, 92)])
def test_an_overhead_holds_the_first_flit_and_those_behind_it(mode, nbytes, end):
    machine = machine_of(LINK, LINK)
    machine.route("message", [0, (1, 1, 30, 0)])
    assert end_of_move(machine, nbytes, mode) == end


@BOTH
@pytest.mark.parametrize(("nbytes", "end"), [(256, 52), (2 * 256, 72)])
def test_a_whole_node_forwards_nothing_before_the_last_flit(mode, nbytes, end):
    machine = machine_of(LINK, LINK)
    machine.route("message", [0, (1, 1, 30, 1)])
    assert end_of_move(machine, nbytes, mode) == end


@BOTH
@pytest.mark.parametrize(
    ("nbytes", "end"),
    [
        (256, 11 + 80 + 7),
        (4 * 256, 41 + 80 + 7),  # four channels: the fourth flit finds its own idle
        (5 * 256, 11 + 80 + 80 + 7),  # the fifth waits for the first, which is done at 91
        (256 + 1, 21 + 80 + 7),  # a byte more is a burst more: 1 fs on the link would round up, a burst is 80
    ],
)
def test_a_write_ends_when_its_last_channel_has_committed_and_the_answer_is_back(mode, nbytes, end):
    machine = machine_of(LINK, *[CHANNEL] * 4, links=1)
    machine.route("write", [0, (1, 4, 0, 0)], tail_fs=7)
    assert end_of_move(machine, nbytes, mode) == (end if nbytes != 257 else 12 + 80 + 7)


@BOTH
@pytest.mark.parametrize(("nbytes", "end"), [(256, 5 + 80 + 11), (4 * 256, 5 + 80 + 41), (5 * 256, 5 + 160 + 11)])
def test_a_read_asks_then_its_channels_answer_together(mode, nbytes, end):
    machine = machine_of(LINK, *[CHANNEL] * 4, links=1)
    machine.route("read", [(1, 4, 0, 0), 0], lead_fs=5)
    assert end_of_move(machine, nbytes, mode) == end


@BOTH
def test_reads_that_meet_take_turns_at_each_channel(mode):
    """Two channels of 80 fs a flit, links of 11: three rounds of flits of one read, two of another that comes 100 fs later.

    Flits of the first come to a channel at 0, 80 and 160 and are served at 0, 80 and 240, between them at 160 and 320 those
    that come at 100 and 180.
    """
    machine = machine_of(LINK, LINK, CHANNEL, CHANNEL, links=2)
    for link in range(2):
        machine.route("read", [(2, 2, 0, 0), link])
    program = Program(machine)
    first, second = program.thread("first"), program.thread("second")
    first.move(0, 6 * 256)
    second.delay(program.duration(("fs", 100)))
    second.move(1, 4 * 256)
    run = Session(program, mode)
    run.run()
    assert run.op_end_fs.tolist() == [320 + 2 * 10 + 1, 100, 400 + 2 * 10 + 1]


@BOTH
def test_a_channel_pays_for_turning(mode):
    machine = machine_of(LINK, (80, 256, 9, 0), links=1)
    read, write = machine.route("read", [1, 0]), machine.route("write", [0, 1])
    program = Program(machine)
    thread, counter = program.thread("t"), program.counter("c")
    for route in (read, write, write):
        thread.move(route, 256, done=counter)
        thread.wait(counter, 1, take=1)
    run = Session(program, mode)
    run.run()
    assert run.op_end_fs[[0, 2, 4]].tolist() == [91, 91 + 11 + 89, 91 + 100 + 91]


@BOTH
def test_the_lead_comes_before_the_first_flit_while_the_server_is_held(mode):
    machine = machine_of(LINK)
    machine.route("message", [0])
    program = Program(machine)
    thread, counter, lead = program.thread("t"), program.counter("c"), program.duration(("fs", 100))
    thread.move(0, 256, done=counter, hold=0, lead=lead)
    thread.move(0, 256, done=counter, hold=0, lead=lead)
    run = Session(program, mode)
    run.run()
    assert run.op_start_fs.tolist() == [0, 111]
    assert run.op_end_fs.tolist() == [111, 222]
    assert run.server_busy_fs.tolist() == [222]


def test_servers_serve_in_order_as_many_as_they_have_slots():
    program = Program(machine_of(LINK, slots=[2]))
    for name in "abc":
        program.thread(name).exec(0, program.duration(("fs", 10)))
    run = Session(program)
    assert run.run() == 20
    assert run.op_start_fs.tolist() == [0, 0, 10]


def plan_of(program, *tokens):
    rows = [
        (Op.EXEC, server, program.duration(("fs", fs)), NONE, 0, 0, 0, 0) for token in tokens for server, fs in token
    ]
    starts = np.cumsum([0] + [len(token) for token in tokens])
    table = np.array(rows, np.int64).reshape(-1, ROW_WIDTH)
    return program.plan(table, starts, np.zeros(len(rows), np.int32), {})


def test_tokens_walk_from_server_to_server_and_keep_the_one_they_hold():
    program = Program(machine_of(LINK, slots=[1, 1]))
    plan = plan_of(program, [(0, 10), (0, 10), (1, 5)], [(0, 10), (1, 50)])
    thread, counter = program.thread("t"), program.counter("c")
    row = thread.pipe(plan, counter)
    thread.wait(counter, 1)
    run = Session(program)
    assert run.run() == 80
    pipe = thread.find_row(row)
    assert run.op_end_fs[pipe] == run.op_end_fs[pipe + 1] == 80
    assert run.op_start_fs[:5].tolist() == [0, 10, 20, 20, 30]


def test_a_barrier_lets_everybody_go_when_the_last_has_come():
    program = Program(machine_of(LINK))
    barrier = program.counter("barrier")
    for fs in (5, 20, 10):
        thread = program.thread(f"after {fs}")
        thread.delay(program.duration(("fs", fs)))
        thread.add(barrier)
        thread.wait(barrier, 3)
    run = Session(program)
    run.run()
    assert run.op_end_fs[2::3].tolist() == [20, 20, 20]


def test_who_waits_for_what_and_since_when_is_said_when_nothing_can_happen():
    program = Program(machine_of(LINK))
    first, second = program.counter("tiles of pe0"), program.counter("credit")
    thread = program.thread("sip0.cube0.pe0.pe_cpu")
    thread.delay(program.duration(("ns", 3)))
    thread.wait(first, 2)
    program.thread("sip0.cube0.pe1.pe_cpu").wait(second, 0, compare=EQ)
    program.thread("sip0.cube0.pe2.pe_cpu").wait(second, 1, compare=EQ)
    run = Session(program)
    run.run()
    with pytest.raises(DeadlockError) as caught:
        run.check_finished()
    assert str(caught.value) == (
        "deadlock at 3 ns: sip0.cube0.pe0.pe_cpu waits for tiles of pe0 ≥ 2 (is 0) since 3 ns; "
        "sip0.cube0.pe2.pe_cpu waits for credit = 1 (is 0) since 0 ns"
    )
    run.check_finished(exclude={0, 2})


CLOCK = "4,611 s of simulated time, the most that the clock can count"


@pytest.mark.parametrize("ns", [5e12, 1e13, 1e30])
def test_a_duration_that_the_clock_cannot_count_is_refused(ns):
    program = Program(machine_of(LINK))
    program.thread("t").delay(program.duration(("ns", ns)))
    with pytest.raises(RunError) as caught:
        Session(program).run()
    assert str(caught.value) == f"an operation takes {ns:g} x ns, beyond {CLOCK}; ask for less"


@BOTH
@pytest.mark.parametrize("last", ["delay", "exec", "move"])
def test_a_run_that_goes_beyond_the_clock_is_refused(mode, last):
    machine = machine_of((1 << 50, 1, 0, 0), LINK, LINK)
    route = machine.route("message", [0, 1])
    program = Program(machine)
    thread = program.thread("t")
    thread.delay(program.duration(("ns", 4e12)))
    if last == "delay":
        thread.delay(program.duration(("ns", 4e12)))
    elif last == "exec":
        thread.exec(0, program.duration(("ns", 4e12)))
    else:
        thread.move(route, 1024 * 256)
    with pytest.raises(RunError) as caught:
        Session(program, mode).run()
    assert str(caught.value) == f"after 4,000,000,000,000 ns the run goes beyond {CLOCK}; make it shorter"


@BOTH
@pytest.mark.parametrize(("flits", "ends"), [(4000, True), (5000, False)])
def test_links_so_slow_that_no_pass_is_as_long_as_usual_serve_until_the_clock_ends(mode, flits, ends):
    """As many flits as a station usually may serve beyond a horizon take longer than 64 bits count."""
    fs = 2**20 * 10**9
    machine = machine_of((fs, 1, 0, 0), (fs, 1, 0, 0))
    machine.route("message", [0, 1])
    if ends:
        assert end_of_move(machine, flits * 256, mode) == (flits + 1) * fs
        return
    with pytest.raises(RunError, match="the run goes beyond"):
        end_of_move(machine, flits * 256, mode)


def test_a_run_in_which_a_transfer_is_lost_is_told_as_a_bug():
    machine = machine_of(LINK)
    machine.route("message", [0])
    program = Program(machine)
    program.thread("t").move(0, 256)
    run = Session(program)
    run._memory["in_flight"] += 1
    with pytest.raises(RuntimeError) as caught:
        run.run()
    assert str(caught.value) == "after 0 ns nothing is left to do while transfers are under way: 1"


def test_a_program_that_was_flushed_before_its_session_runs_all_the_same():
    program = Program(machine_of(LINK))
    program.thread("t").delay(program.duration(("fs", 5)))
    program.flush()
    assert Session(program).run() == 5
    assert Session(program).run() == 5


def test_an_unknown_mode_is_refused():
    with pytest.raises(InputError) as caught:
        Session(Program(machine_of(LINK)), "flits")
    assert str(caught.value) == "unknown mode 'flits'; did you mean 'flit'? Known: flit, hybrid"


@BOTH
def test_a_thread_that_asks_gets_more_rows_and_new_routes_join_what_is_in_flight(mode):
    """The same work written down beforehand and given piece by piece takes the same time to the tick."""

    def write(program, thread, counter, piece):
        thread.move(piece, 40 * 256)
        thread.move(piece, 256, done=counter)
        thread.wait(counter, 1, take=1)

    def machine():
        made = machine_of(*[LINK] * 6)
        for links in ([0, 1, 2], [1, 2, 3, 4], [4, 3, 0], [5, 2, 1, 0, 4]):
            made.route("message", links)
        return made

    whole = Program(machine())
    thread, counter = whole.thread("t"), whole.counter("c")
    for piece in range(4):
        write(whole, thread, counter, piece)
    want = Session(whole, mode)
    want.run()

    piecewise = Program(machine())
    asking, counter = piecewise.thread("t"), piecewise.counter("c")
    asking.ask()
    pieces = iter(range(4))

    def on_ask(number):
        assert number == asking.id
        for piece in pieces:
            write(piecewise, asking, counter, piece)
            asking.ask()
            return

    got = Session(piecewise, mode)
    got.run(on_ask)
    kept = piecewise.op[:, 0] != Op.ASK
    assert got.op_end_fs[kept].tolist() == want.op_end_fs.tolist()


@BOTH
@pytest.mark.parametrize("seed", range(4))
def test_routes_that_many_threads_bring_at_once_are_laid_together(mode, seed, monkeypatch):
    """Six threads ask in turn, and each piece has a transfer, or a plan with one, on a route that nobody has taken before."""
    rng = np.random.default_rng(seed)
    ways = [rng.permutation(8)[: rng.integers(2, 6)].tolist() for _ in range(24)]
    nbytes, delays = rng.integers(1, 12 * 256, 24).tolist(), rng.integers(0, 40, 24).tolist()

    def run(write_ahead):
        machine = machine_of(*[LINK] * 8)
        program = Program(machine)
        threads = [program.thread(f"t{i}") for i in range(6)]
        counters = [program.counter(f"c{i}") for i in range(6)]

        def write(i, piece):
            at = 6 * piece + i
            route = machine.route("message", ways[at])
            threads[i].delay(program.duration(("fs", delays[at])))
            if piece % 2:
                stages = pack_row(0, Op.EXEC, 0, 0, NONE, 0, 0, 0, 0)
                stages += pack_row(0, Op.MOVE, route, nbytes[at], 0, NONE, NONE, NONE, 0)
                threads[i].pipe(program.token(stages, {}), counters[i])
            else:
                threads[i].move(route, nbytes[at], done=counters[i])
                threads[i].move(route, 256)
            threads[i].wait(counters[i], 1, take=1)

        pieces = [iter(range(4)) for _ in threads]

        def on_ask(number):
            for piece in pieces[number]:
                write(number, piece)
                threads[number].ask()
                return

        for i, thread in enumerate(threads):
            if write_ahead:
                for piece in range(4):
                    write(i, piece)
            else:
                thread.ask()
        session = Session(program, mode)
        session.run(on_ask)
        session.check_finished()
        rows = [thread.find_row(row) for thread in threads for row in range(thread.row_count)]
        return session.op_end_fs[[row for row in rows if program.op[row, 0] != Op.ASK]].tolist()

    ahead = run(write_ahead=True)
    written = []
    write = memory.Memory.write_network
    monkeypatch.setattr(
        memory.Memory, "write_network", lambda self, *given, **named: written.append(write(self, *given, **named))
    )
    assert run(write_ahead=False) == ahead
    assert len(written) < len(ways)


@BOTH
@pytest.mark.slow
def test_pools_and_queues_grow_without_a_trace(mode):
    machine = machine_of(*[LINK] * 5)
    for first in range(4):
        machine.route("message", [first, 4])
    program = Program(machine)
    counter = program.counter("c")
    for t in range(120):
        thread = program.thread(f"t{t}")
        for _ in range(5):
            thread.move(t % 4, 5 * 256 + t, done=counter)
    run = Session(program, mode)
    run.run()
    naive = NaiveEngine(program).run()
    assert run.op_end_fs.tolist() == naive.end
    assert run.counter_value.tolist() == naive.counter == [600]


@BOTH
def test_a_route_that_only_bare_headers_take_may_join_later(mode):
    machine = machine_of(LINK, LINK)
    machine.route("message", [0])
    program = Program(machine)
    thread, counter = program.thread("t"), program.counter("c")
    thread.move(0, 256)
    thread.ask()

    def on_ask(number):
        thread.move(machine.route("message", [0, 1], lead_fs=3), 0, done=counter)

    run = Session(program, mode)
    run.run(on_ask)
    assert run.op_end_fs[-1] == 5


def test_hybrid_counts_flits_only_where_transfers_meet():
    machine = machine_of(*[LINK] * 3)
    for links in ([0, 1], [2, 1]):
        machine.route("message", links)

    def events(starts):
        program = Program(machine)
        for route, start in enumerate(starts):
            thread, counter = program.thread(str(route)), program.counter("c")
            thread.until(start)
            thread.move(route, 100 * 256, done=counter)
        run = Session(program, "hybrid")
        run.run()
        assert run.op_end_fs.tolist() == NaiveEngine(program).run().end
        assert run.flit_hops == 400
        return run.events

    assert events([0, 10_000]) < 10
    assert events([0, 500]) > 400


@BOTH
def test_a_transfer_that_has_landed_is_not_disturbed_while_its_answer_is_on_the_way(mode):
    machine = machine_of(LINK, *[CHANNEL] * 4, links=1)
    machine.route("write", [0, (1, 4, 0, 0)], tail_fs=1000)
    program = Program(machine)
    landed, done = program.counter("landed"), program.counter("done")
    for start in (0, 500):
        thread = program.thread(f"at {start}")
        thread.until(start)
        thread.move(0, 256, arrive=landed, done=done)
    run = Session(program, mode)
    run.run()
    assert run.op_end_fs[[1, 3]].tolist() == [1091, 1591]
    assert run.counter_value.tolist() == [2, 2]
    if mode == "hybrid":
        assert run.events < 10


def test_progress_is_told_on_the_way(monkeypatch):
    monkeypatch.setattr(session, "WORK_A_CALL", 100)
    monkeypatch.setattr(progress, "_EVERY_S", 0)
    monkeypatch.setattr(memory, "_SLACK_FLITS", 10)
    monkeypatch.setattr(memory, "_PASS_FLITS", 90)
    machine = machine_of(LINK)
    machine.route("message", [0])
    program = Program(machine)
    program.thread("t").move(0, 10_000 * 256)
    told = []
    run = Session(program, "flit")
    run.run(on_progress=lambda *progress: told.append(progress))
    assert run.flit_hops == 10_000
    assert told == sorted(told)
    assert len(told) > 10
    assert {known for _, known, _ in told} == {10_000}
    assert told[0][0] < 200


def note_calls(monkeypatch, run, work):
    """The memory's fields after each call of the loop for so much work, until a run has ended."""
    monkeypatch.setattr(session, "WORK_A_CALL", work)
    monkeypatch.setattr(progress, "_EVERY_S", 0)
    fields, found = ("now_fs", "events", "looks", "pass_fs", "resume"), []
    run.run(on_progress=lambda *_: found.append({field: run._memory[field] for field in fields}))
    return found


def test_the_loop_comes_back_within_a_pass(monkeypatch):
    machine = machine_of(*[LINK] * 50)
    routes = [machine.route("message", [link]) for link in range(50)]
    program = Program(machine)
    for route in routes:
        program.thread(f"{route}").move(route, 100 * 256)
    run = Session(program, "flit")
    found = note_calls(monkeypatch, run, 150)
    assert sum(each["pass_fs"] != NONE for each in found) > 20
    assert max(after["events"] - before["events"] for before, after in pairwise(found)) <= 250
    assert run.op_end_fs.tolist() == NaiveEngine(program).run().end


def test_the_loop_comes_back_between_the_rows_of_a_thread(monkeypatch):
    program = Program(machine_of(LINK))
    thread, counter = program.thread("t"), program.counter("c")
    for _ in range(1000):
        thread.add(counter, 1)
    run = Session(program)
    found = note_calls(monkeypatch, run, 100)
    assert [each["resume"] for each in found].count(0) == 10
    assert run.counter_value.tolist() == [1000]


def test_progress_is_told_between_asks(monkeypatch):
    """A live run returns at each ask, long before a call of the loop has done all its events."""
    monkeypatch.setattr(progress, "_EVERY_S", 0)
    machine = machine_of(LINK)
    machine.route("message", [0])
    program = Program(machine)
    thread, left, told = program.thread("t"), iter(range(3)), []
    thread.ask()

    def on_ask(_number):
        for _ in left:
            thread.move(0, 10 * 256)
            thread.ask()
            return

    Session(program).run(on_ask, lambda *found: told.append(found))
    assert list(dict.fromkeys(known for _, known, _ in told)) == [10, 20, 30]


def test_progress_is_told_at_intervals(monkeypatch):
    now_s = iter([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    monkeypatch.setattr(progress, "perf_counter", lambda: next(now_s))
    reporter = progress.ProgressReporter(Program(machine_of(LINK)))
    assert [reporter.is_due for _ in range(3)] == [False, False, True]
    reporter.report(lambda *_: None, np.zeros(1), 0)
    assert [reporter.is_due for _ in range(2)] == [False, False]
