"""Rows for a thread that is still at earlier ones."""

from kernbench.engine import Session
from kernbench.machine import load_machine
from kernbench.program.ops import Op
from kernbench.program.program import Program
from kernbench.program.rows import pack_row
from kernbench.tl.lowering.queue_thread import QueueThread

NS = 1_000_000


def delay(program, ns, tag):
    return pack_row(program.tag(tag), int(Op.DELAY), program.duration(("ns", ns)), 0, 0, 0, 0, 0, 0)


def test_rows_that_come_during_the_run_follow_those_before():
    """Another thread adds two portions, at 10 and 20 ns, while the first rows take 50 ns, and one at 200 ns, long after all."""
    program, answers, added = Program(load_machine("tiny")), {}, []
    session, follower = Session(program), QueueThread(program, "follower", answers)
    writer, first = program.thread("writer"), program.source("k.py", 1)
    assert follower.extend(delay(program, 50, "begun"), first) == 0
    follower.close()
    for at in (10, 20, 200):
        writer.ask_at(at * NS)

    def answer(thread):
        if thread != writer.id:
            answers[thread]()
            return
        line = program.source("k.py", 2 + len(added))
        added.append(follower.extend(delay(program, 7, "more") + delay(program, 1, "more"), line))
        follower.close()

    session.run(answer)
    session.check_finished()
    rows = [follower.thread.find_row(row) for row in added]
    assert [int(session.op_issue_fs[row]) // NS for row in rows] == [50, 58, 200]
    assert [program.source_of(row) for row in rows] == [("k.py", 2), ("k.py", 3), ("k.py", 4)]
    assert session.now_fs == 208 * NS


def test_rows_that_are_there_before_the_run_need_no_ask():
    program = Program(load_machine("tiny"))
    follower = QueueThread(program, "follower", {})
    for _ in range(3):
        follower.extend(delay(program, 1, "begun"), 0)
    program.flush()
    assert program.op[:, 0].tolist() == [int(Op.DELAY)] * 3
