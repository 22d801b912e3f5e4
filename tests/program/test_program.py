"""A growing program: tables, durations, rows by thread."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.program.ops import NONE, Op
from kernbench.program.program import Program, Waited
from kernbench.program.rows import pack_row
from tests.engine.bare import BareMachine


@pytest.fixture
def program() -> Program:
    return Program(BareMachine([(1, 1, 0, 0)], 1, [1]))


def test_durations_are_rounded_once_each_and_kept(program: Program):
    first = program.duration(("ns", 1.5))
    assert program.duration_fs().tolist() == [0, 1_500_000]
    second = program.duration(("fs", 0.4), ("fs", 0.4))
    assert program.duration(("ns", 1.5)) == first
    assert (first, second) == (1, 2)
    assert program.duration_fs().tolist() == [0, 1_500_000, 1]


def test_an_unknown_figure_leaves_no_duration(program: Program):
    with pytest.raises(KeyError, match="warp"):
        program.duration(("warp", 9))
    assert program.durations == [()]


def test_flush_moves_rows_by_thread(program: Program):
    a, b = program.thread("a"), program.thread("b")
    b.mark(0)
    a.delay(0)
    a.mark(0)
    assert program.flush() == [(0, 0, 2), (1, 2, 3)]
    assert program.flush() == []
    a.until(5)
    program.flush()
    assert program.op[:, 0].tolist() == [Op.DELAY, Op.MARK, Op.MARK, Op.UNTIL]
    assert program.op_thread.tolist() == [0, 0, 1, 0]
    assert [a.find_row(row) for row in range(3)] == [0, 1, 3]
    with pytest.raises(IndexError, match="row 3 of thread a is not in the op table"):
        a.find_row(3)


def test_rows_that_repeat_share_entries(program: Program):
    a, b, tag = program.thread("a"), program.thread("b"), program.tag("code")
    rows = np.array([[tag, Op.MARK, 0, 0, 0, 0, 0, 0, 0], [0, Op.UNTIL, 5, 0, 0, 0, 0, 0, 0]])
    b.extend_encoded(rows, np.array([1, 0, 1, 1]))
    b.extend_encoded(rows[:1], np.array([0]))
    b.delay(0)
    a.mark(0)
    with pytest.raises(ValueError, match="thread a has packed rows; flush the program before it gets encoded ones"):
        a.extend_encoded(rows, np.array([0]))
    assert program.flush() == [(0, 0, 1), (1, 1, 7)]
    assert program.op[:, 0].tolist() == [Op.MARK, Op.UNTIL, Op.MARK, Op.UNTIL, Op.UNTIL, Op.MARK, Op.DELAY]
    assert program.op[:, 1].tolist() == [0, 5, 0, 5, 5, 0, 0]
    assert program.op_tag.tolist() == [0, 0, tag, 0, 0, tag, 0]
    assert program.op_thread.tolist() == [0] + [1] * 6
    assert len(program.op.values) == 1 + 2 + 1 + 1
    assert b.row_count == 6
    assert program.flush() == []
    b.extend_encoded(rows, np.array([1]))
    assert program.flush() == [(1, 7, 8)]
    assert b.find_row(6) == 7


def test_a_token_is_a_plan_written_as_rows(program: Program):
    thread = program.thread("t")
    stage = (Op.EXEC, 0, 0, NONE, 0, 0, 0, 0)
    row = pack_row(0, *stage)
    first, second = program.token(row, {"a": 1}), program.token(row * 2, {})
    third = program.plan(np.array([stage], np.int64), np.array([0, 1]), np.zeros(1, np.int32), {})
    fourth = program.token(row, {})
    thread.pipe(first)
    program.flush()
    assert (first, second, third, fourth) == (0, 1, 2, 3)
    assert program.plan_notes[0] == {"a": 1}
    assert program.plan_rows == [0, 1, 3, 4]
    tables = program.tables()
    assert tables.plan_start.tolist() == [0, 1, 2, 3, 4]
    assert (tables.token_start.tolist(), tables.token_end.tolist()) == ([0, 1, 3, 4], [1, 3, 4, 5])
    assert program.op_thread.tolist() == [NONE] * 5 + [thread.id]


def test_rows_may_bring_their_note(program: Program):
    thread = program.thread("t")
    mark = pack_row(0, Op.MARK, 0, 0, 0, 0, 0, 0, 0)
    thread.extend(mark)
    assert thread.extend(mark * 3, 2, {"a": 1}) == 1
    assert thread.notes == {3: {"a": 1}}


def test_code_is_of_what_has_been_flushed(program: Program):
    thread = program.thread("t")
    rows = np.array([[Op.EXEC, 0, 0, NONE, 0, 0, 0, 0]] * 3, np.int64)
    plan = program.plan(rows, np.array([0, 1, 3]), np.zeros(3, np.int32), {})
    thread.pipe(plan)
    assert len(program.tables().op) == 3
    program.flush()
    tables = program.tables()
    assert len(tables.op) == 4
    assert tables.plan_start.tolist() == [0, 2]
    assert tables.token_start.tolist() == [0, 1]
    assert tables.token_end.tolist() == [1, 3]
    assert program.plan_rows == [0]


def test_a_settled_program_has_the_same_rows_by_thread(program: Program):
    """A program that grew in turns, with plans and rows that ask."""
    first, second, _idle = (program.thread(name) for name in ("a", "b", "idle"))
    work = program.duration(("ns", 3))
    stages = np.array([[Op.EXEC, 0, work, NONE, 0, 0, 0, 0]] * 3)
    for turn in range(3):
        plan = program.plan(stages, np.array([0, 1, 3]), np.zeros(3, np.int32), {})
        first.pipe(plan, program.counter("done"))
        first.ask()
        second.delay(work)
        if turn == 1:
            second.add(0, 5)
        program.flush()
    asked, delayed = first.find_row(1), second.find_row(3)
    program.causes = {delayed: Waited(asked, 5, {}, asked), asked: Waited(NONE, 0, {}, NONE)}
    settled = program.settled()
    assert [len(thread.chunks) for thread in settled.threads] == [1, 1, 0]
    asked, delayed = (settled.threads[at].find_row(row) for at, row in ((0, 1), (1, 3)))
    assert settled.causes == {delayed: Waited(asked, 5, {}, asked), asked: Waited(NONE, 0, {}, NONE)}
    for old, new in zip(program.threads, settled.threads, strict=True):
        rows = [program.op[old.find_row(row)].tolist() for row in range(old.row_count)]
        expected = [[Op.MARK, *row[1:]] if row[0] == Op.ASK else row for row in rows]
        assert [settled.op[new.find_row(row)].tolist() for row in range(new.row_count)] == expected
    for start, end in zip(settled.token_start, settled.token_end, strict=True):
        assert (settled.op[start:end] == stages[0]).all()
        assert (settled.op_thread[start:end] == NONE).all()
    assert settled.plan_rows == settled.token_start[settled.plan_start[:-1]].tolist()
    assert settled.settled() is settled


def test_a_program_that_never_grew_is_settled(program: Program):
    program.thread("a").delay(program.duration(("ns", 1)))
    assert program.settled() is program
