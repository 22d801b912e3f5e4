"""Plans of templates against the same plans written out."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.machine import load_machine
from kernbench.program.ops import NONE, Op
from kernbench.program.plan_template import PlanTemplate, Stripes, placeholder
from kernbench.program.program import Program
from kernbench.program.rows import pack_row


def template(tokens: int) -> PlanTemplate:
    """Each token moves 64 bytes 100 further on (numbers: server, route, offset, channels), then runs for its own number."""
    move = [
        [Op.MOVE, placeholder(1), 64, 0, NONE, placeholder(0), NONE, 0],
        [Op.EXEC, placeholder(0), 0, NONE, 0, 0, 0, 0],
    ]
    rows = np.array(move * tokens, np.int64)
    rows[1::2, 2] = np.arange(tokens)
    places = [np.arange(0, 2 * tokens, 2), 100 * np.arange(tokens), np.full(tokens, 2)]
    stripes = Stripes(np.stack(places, axis=1), 32)
    tags = np.tile(np.array([1, 2], np.int32), tokens)
    return PlanTemplate.of(rows, np.arange(0, 2 * tokens + 1, 2), tags, stripes)


def written(
    tokens: int, server: int, route: int, offset: int, channels: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = []
    for token in range(tokens):
        stripe = (offset + 100 * token) // 32 % channels
        rows.append([Op.MOVE, route, 64, stripe, NONE, server, NONE, 0])
        rows.append([Op.EXEC, server, token, NONE, 0, 0, 0, 0])
    return np.array(rows, np.int64), np.arange(0, 2 * tokens + 1, 2), np.tile(np.array([1, 2], np.int32), tokens)


def tables(program: Program) -> list[list[int]]:
    program.flush()
    names = ("op", "op_tag", "op_thread", "plan_start", "token_start", "token_end", "plan_rows")
    return [np.array(getattr(program, name)).tolist() for name in names]


TOKEN = pack_row(0, Op.EXEC, 3, 0, NONE, 0, 0, 0, 0)
NUMBERS = [(1, 7, 0, 4), (2, 8, 33, 8), (1, 9, 4096, 4), (5, 7, 64, 1)]


@pytest.mark.parametrize("most", [1 << 16, 5])  # stages that wait; with 5 they are written in between
def test_plans_of_patterns_are_those_written_out(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernbench.program.program._MOST_STAGES", most)
    machine = load_machine("tiny")
    alike, plain = Program(machine), Program(machine)
    templates = {tokens: template(tokens) for tokens in (1, 3)}
    for i, (tokens, own) in enumerate(zip((3, 1, 3, 3), NUMBERS, strict=True)):
        numbers = alike.plan_from(templates[tokens], own, {"at": i}), plain.plan(*written(tokens, *own), {"at": i})
        assert numbers[0] == numbers[1]
        if i == 1:  # the other sorts keep their places
            for program in (alike, plain):
                program.token(TOKEN, {})
                program.plan(*written(2, 1, 2, 3, 4), {})
                program.token(TOKEN * 2, {})
    for program in (alike, plain):
        program.thread("t").pipe(0)
    assert tables(alike) == tables(plain)
    assert alike.plan_notes == plain.plan_notes


def test_equal_rows_of_a_plan_share_an_entry():
    """Three hundred tokens that run for one time on eight channels: eight transfers and one job."""
    rows, start, tags = written(300, 1, 7, 0, 8)
    rows[:, 3] = np.where(rows[:, 0] == Op.MOVE, 0, rows[:, 3])
    rows[1::2, 2] = 0
    places = np.stack([np.arange(0, 600, 2), 100 * np.arange(300), np.zeros(300, np.int64)], axis=1)
    shared = PlanTemplate.of(rows, start, tags, Stripes(places, 32))
    program = Program(load_machine("tiny"))
    for _ in range(2):
        program.plan_from(shared, (64, 8), {})
    program.flush()
    expected, *_ = written(300, 1, 7, 64, 8)
    expected[1::2, 2] = 0
    assert (program.op[:] == np.concatenate([expected] * 2)).all()
    assert len(program.op.values) == 2 * 9
    assert program.op.counts().sum() == 1200
    assert (shared.fill(np.array([64, 8]))[:] == expected).all()
