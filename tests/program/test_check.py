"""The error sentences of illegal programs; each row and each plan is checked once."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.program.check import ProgramError, check_rows
from kernbench.program.ops import NONE, ROW_WIDTH, Op
from kernbench.program.program import Program
from kernbench.program.rows import pack_row
from kernbench.program.thread import Thread
from tests.engine.bare import BareMachine


@pytest.fixture
def program() -> Program:
    machine = BareMachine([(1, 1, 0, 0)] * 2, 2, [1, 2])
    machine.route("write", [0, 1])
    program = Program(machine)
    program.counter("c")
    return program


def plan(program: Program, *rows: tuple[int, ...], token_start: tuple[int, ...] = ()) -> int:
    table = np.array([row + (0,) * (ROW_WIDTH - len(row)) for row in rows], np.int64).reshape(-1, ROW_WIDTH)
    return program.plan(table, np.array(token_start or range(len(rows) + 1)), np.zeros(len(rows), np.int32), {})


ROWS = [
    (lambda t: t.delay(1), "row 0 (DELAY): duration is 1; it must be in [0, 1)"),
    (lambda t: t.exec(2, 0), "row 0 (EXEC): server is 2; it must be in [0, 2)"),
    (lambda t: t.exec(NONE, 0), "row 0 (EXEC): server is -1; it must be in [0, 2)"),
    (lambda t: t.exec(1, 0, 1), "row 0 (EXEC): counter is 1; it must be in [-1, 1)"),
    (lambda t: t.move(1, 8), "row 0 (MOVE): route is 1; it must be in [0, 1)"),
    (lambda t: t.move(0, -8), f"row 0 (MOVE): bytes is -8; it must be in [0, {(1 << 25) * 256 + 1})"),
    (lambda t: t.move(0, 1 << 40), f"row 0 (MOVE): bytes is {1 << 40}; it must be in [0, {(1 << 25) * 256 + 1})"),
    (lambda t: t.move(0, 8, hold=-2), "row 0 (MOVE): server is -2; it must be in [-1, 2)"),
    (lambda t: t.until(-1), f"row 0 (UNTIL): time is -1; it must be in [0, {1 << 60})"),
    (lambda t: t.add(NONE), "row 0 (ADD): counter is -1; it must be in [0, 1)"),
    (lambda t: t.wait(0, 1, compare=2), "row 0 (WAIT): compare is 2; it must be in [0, 2)"),
    (lambda t: t.pipe(0), "row 0 (PIPE): plan is 0; it must be in [0, 0)"),
    (lambda t: t.extend(pack_row(0, 10, 0, 0, 0, 0, 0, 0, 0)), "row 0 has opcode 10; known: 0 to 9"),
]


def many(program: Program) -> int:
    """A route from link 0 to two ends, one behind link 1."""
    return program.machine.routing.machine.multicast([([0], NONE, 0, 1, 0), ([1], 0, 1, 0, 0)], 2)


MANY = [
    (
        lambda t, route: t.multicast(route, 8, arrive=[NONE]),
        "row 2 comes where an arrival must be; a transfer to many is followed by an ARRIVE for each destination",
    ),
    (
        lambda t, route: t.multicast(route, 8, arrive=[NONE] * 3),
        "row 3 is an arrival without a transfer; a MOVE to many must come before",
    ),
    (lambda t, route: t.move(route + 1, 8), "row 0 takes a branch of a route to many; name the route itself"),
    (
        lambda t, route: t.move(route, 8, arrive=0),
        "row 0 counts the arrival of a transfer to many in its own row; count it in the rows that follow",
    ),
    (lambda t, route: t.multicast(route, 8, arrive=[0, 1]), "row 2 (ARRIVE): counter is 1; it must be in [-1, 1)"),
]


@pytest.mark.parametrize(("write", "sentence"), MANY, ids=[sentence.split(";")[0] for _, sentence in MANY])
def test_rows_of_transfers_to_many(program: Program, write, sentence: str) -> None:
    write(program.thread("t"), many(program))
    program.thread("u").delay(0)
    program.flush()
    with pytest.raises(ProgramError) as error:
        check_rows(program)
    assert str(error.value) == sentence


def test_a_transfer_to_many_is_legal_in_a_thread_and_in_a_plan(program: Program) -> None:
    route = many(program)
    program.thread("t").multicast(route, 8, arrive=[0, NONE])
    program.thread("t").pipe(plan(program, (Op.MOVE, route, 8, 0, NONE, 0, NONE, 0)))
    program.flush()
    check_rows(program)


@pytest.mark.parametrize(("write", "sentence"), ROWS, ids=[sentence.split(";")[0] for _, sentence in ROWS])
def test_rows(program: Program, write, sentence: str) -> None:
    write(program.thread("t"))
    program.flush()
    with pytest.raises(ProgramError) as error:
        check_rows(program)
    assert str(error.value) == sentence


EXEC, MOVE, WAIT = int(Op.EXEC), int(Op.MOVE), int(Op.WAIT)

PLANS = [
    ([], (0,), "has no tokens; do not pipe nothing"),
    ([(EXEC, 0, 0, NONE)], (0, 0, 1), "has a token without stages"),
    ([(WAIT, 0)], (0, 1), "has a stage that is neither EXEC nor MOVE"),
    ([(EXEC, 0, 0, 0)], (0, 1), "has a stage with a counter; tokens count by their plan"),
    ([(MOVE, 0, 8, 0, NONE, 0, 0, 0)], (0, 1), "has a stage with a counter; tokens count by their plan"),
    ([(MOVE, 0, 8, 0, NONE, NONE, NONE, 0)], (0, 1), "has tokens that do not all begin on one server"),
    ([(EXEC, 0, 0, NONE), (EXEC, 1, 0, NONE)], (0, 1, 2), "has tokens that do not all begin on one server"),
]


@pytest.mark.parametrize(("rows", "token_start", "sentence"), PLANS)
def test_plans(program: Program, rows, token_start, sentence: str) -> None:
    plan(program, (EXEC, 0, 0, NONE))
    plan(program, *rows, token_start=token_start)
    with pytest.raises(ProgramError) as error:
        check_rows(program)
    assert str(error.value) == f"plan 1 {sentence}"


def test_what_was_checked_is_not_looked_at_again(program: Program) -> None:
    thread: Thread = program.thread("t")
    plan(program, (EXEC, 0, 0, NONE))
    thread.delay(0)
    program.flush()
    check_rows(program)
    program.op.values[:, 1] = 7  # of both rows
    thread.delay(8)
    program.flush()
    with pytest.raises(ProgramError, match=r"row 2 \(DELAY\): duration is 8"):
        check_rows(program)
