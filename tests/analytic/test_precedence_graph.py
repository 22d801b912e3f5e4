"""What must come before what: each rule by the time it gives, exactly; and where nothing may be said."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.analytic import bounds
from kernbench.engine import Session
from kernbench.errors import DeadlockError, InputError
from kernbench.program.ops import NONE, ROW_WIDTH, Op
from kernbench.program.program import Program
from tests.engine.bare import BareMachine

pytestmark = pytest.mark.slow


@pytest.fixture
def machine():
    """Two links of 10 and 30 fs a flit, two single servers and a double one."""
    bare = BareMachine([(10, 64, 0, 2), (30, 64, 0, 3)], 2, [1, 1, 2], flit_bytes=64)
    bare.station_name, bare.server_name = ["a -> b", "b -> c"], ["x", "y", "z"]
    bare.server_kind = ["gemm", "math", "dma"]
    return bare


def lower(program):
    """The lower bound, and the time."""
    session = Session(program, "flit")
    session.run()
    session.check_finished()
    return bounds(program).lower_fs, session.now_fs


def fs(program, amount):
    return program.duration(("fs", amount))


def test_jobs_of_one_server_come_one_after_the_other(machine):
    program = Program(machine)
    thread = program.thread("t")
    thread.delay(fs(program, 7))
    for _ in range(3):
        thread.exec(0, fs(program, 5))
    assert lower(program) == (22, 22)


def test_a_double_server_orders_nothing_but_has_its_work(machine):
    program = Program(machine)
    for name in "abcd":
        program.thread(name).exec(2, fs(program, 5))
    assert lower(program) == (10, 10)
    assert bounds(program).binding == "dma z"


def test_a_wait_for_all_that_the_thread_itself_adds(machine):
    program = Program(machine)
    thread, done = program.thread("t"), program.counter("done")
    thread.exec(0, fs(program, 5), done)
    thread.exec(1, fs(program, 9), done)
    thread.wait(done, 1, take=1)  # either may be first: nothing is said
    thread.wait(done, 1, take=1)
    thread.delay(fs(program, 100))
    assert lower(program) == (109, 109)


def test_a_barrier(machine):
    program = Program(machine)
    met = program.counter("met")
    for i in range(3):
        thread = program.thread(f"t{i}")
        thread.delay(fs(program, 10 * i))
        thread.add(met)
        thread.wait(met, 3)
        thread.delay(fs(program, 4))
    assert lower(program) == (24, 24)


def test_the_nth_addition_of_one_other_thread(machine):
    program = Program(machine)
    sent = program.counter("sent")
    sender, receiver = program.thread("sender"), program.thread("receiver")
    for _ in range(4):
        sender.delay(fs(program, 10))
        sender.add(sent)
    receiver.wait(sent, 1, take=1)
    receiver.wait(sent, 1, take=1)
    receiver.delay(fs(program, 100))
    assert lower(program) == (120, 120)


def test_additions_that_may_replace_each_other_say_nothing(machine):
    program = Program(machine)
    some = program.counter("some")
    for i in range(2):
        thread = program.thread(f"t{i}")
        thread.delay(fs(program, 10 + 10 * i))
        thread.add(some)
    waiting = program.thread("waiting")
    waiting.wait(some, 1)
    waiting.delay(fs(program, 100))
    assert lower(program) == (100, 110)


def test_negative_additions_say_nothing(machine):
    program = Program(machine)
    some, thread, other = program.counter("some"), program.thread("t"), program.thread("u")
    other.add(some, -1)
    other.wait(some, -1)
    thread.delay(fs(program, 10))
    thread.add(some, 2)
    other.wait(some, 1)
    other.delay(fs(program, 5))
    assert lower(program) == (10, 15)


def test_messages_leave_over_one_link_in_order(machine):
    machine.route("message", [1, 0])
    program = Program(machine)
    thread = program.thread("t")
    thread.move(0, 64)
    thread.move(0, 65)
    thread.move(0, 64)
    assert lower(program) == (135, 135)  # 3 flits of 30 fs, then 30 + 3 + 10 + 2


def test_tokens_keep_their_order_on_single_servers(machine):
    program = Program(machine)
    stages = [(0, 5), (1, 11)]
    rows = [
        [Op.EXEC, server, fs(program, took), NONE] + [0] * (ROW_WIDTH - 4) for _ in range(3) for server, took in stages
    ]
    plan = program.plan(np.array(rows, np.int64), np.array([0, 2, 4, 6]), np.zeros(6, np.int32), {})
    done = program.counter("done")
    thread = program.thread("t")
    thread.pipe(plan, done)
    thread.wait(done, 1)
    thread.delay(fs(program, 1))
    assert lower(program) == (39, 39)
    assert bounds(program).binding == "critical path, most of it on math y"


def test_until_is_a_floor(machine):
    program = Program(machine)
    thread = program.thread("t")
    thread.delay(fs(program, 10))
    thread.until(50)
    thread.delay(fs(program, 1))
    assert lower(program) == (51, 51)


def test_nothing_to_do(machine):
    found = bounds(Program(machine))
    assert (found.lower_fs, found.upper_fs) == (0, 0)


def test_waiting_for_more_than_is_added(machine):
    program = Program(machine)
    done = program.counter("the end of it")
    thread = program.thread("t")
    thread.add(done)
    thread.wait(done, 1, take=1)
    thread.wait(done, 1)
    with pytest.raises(DeadlockError) as caught:
        bounds(program)
    assert str(caught.value) == (
        "deadlock: t waits for the end of it to come to 2 in all, but only 1 can be added before"
    )


def test_waiting_for_each_other(machine):
    program = Program(machine)
    first, second = program.counter("first"), program.counter("second")
    for name, awaited, added in (("t", first, second), ("u", second, first)):
        thread = program.thread(name)
        thread.wait(awaited, 1)
        thread.add(added)
    with pytest.raises(DeadlockError) as caught:
        bounds(program)
    assert str(caught.value) == "deadlock: row 0, of t, comes after itself"


def test_live_kernels_are_refused(machine):
    program = Program(machine)
    program.thread("t").ask()
    with pytest.raises(InputError) as caught:
        bounds(program)
    assert str(caught.value) == (
        "analytic mode has no events, so it cannot run kernels live; use mode hybrid, or record the kernels"
    )
