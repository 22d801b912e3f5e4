"""Kernels in turn by their acts, by hand; `tests/tanto/scripts` compares them with kernels that run."""

from __future__ import annotations

import numpy as np
import pytest

from kernels_jit.turns.acts import AWAIT, COPY, INCREASE, MEET, POP, PUSH, RESERVE, SET
from kernels_jit.turns.run_in_turn import run_in_turn

Act = tuple[int, int, int, int]
PRODUCER: list[Act] = [(RESERVE, 0, 1, -1), (PUSH, 0, 1, 0), (RESERVE, 0, 1, 0), (PUSH, 0, 1, 0), (RESERVE, 0, 1, 1)]
CONSUMER: list[Act] = [(AWAIT, 0, 1, 1), (POP, 0, 1, 0)]


def run(kernels: list[list[Act]], parts: list[int], math: tuple[int, ...] = ()) -> tuple[bool, list[list[int]]]:
    """Whether all come to their ends, and what each met; parts are tiles or first values."""
    ends = np.cumsum([len(one) for one in kernels])
    rows = [(end - len(one), end, 0, end - len(one), n in math) for n, (one, end) in enumerate(zip(kernels, ends))]  # noqa: B905
    table = np.array([[first, 0, 0] for first in parts], np.int64)
    met = np.full(ends[-1], -1, np.int64)
    acts = np.array([act for one in kernels for act in one], np.int64)
    done = run_in_turn(np.array(rows, np.int64), acts, np.arange(len(parts)), table, met)
    return done, [met[first:end].tolist() for first, end, *_ in rows]


def test_a_pipe_makes_its_producer_wait() -> None:
    assert run([PRODUCER, CONSUMER], [2])[0]
    assert not run([PRODUCER], [2])[0]
    assert not run([CONSUMER], [2])[0]


@pytest.mark.parametrize("acts", [[(RESERVE, 0, 1, 0)], [(PUSH, 0, 1, 0), (AWAIT, 0, 1, 2)]])
def test_a_count_that_its_row_does_not_have_is_told(acts: list[Act]) -> None:
    assert not run([acts], [2])[0]


def test_a_wait_meets_the_change_since_which_the_value_is_there() -> None:
    waits: list[Act] = [(MEET, 0, 2, 0)]
    makes: list[Act] = [(SET, 0, 1, 0), (INCREASE, 0, 1, 0), (SET, 0, 2, 0), (SET, 1, 2, 0), (COPY, 0, 1, 0)]
    assert run([waits, makes], [0, 0]) == (True, [[2], [-1] * 5])
    assert run([makes, waits], [0, 0]) == (True, [[-1] * 5, [2]])
    assert run([waits], [2])[1] == [[0]]


def test_a_value_that_is_lost_before_its_turn_was_met() -> None:
    waits: list[Act] = [(MEET, 0, 1, 0), (MEET, 0, 2, 0)]
    assert run([waits, [(SET, 0, 1, 0), (SET, 0, 2, 0)]], [0]) == (True, [[1, 2], [-1, -1]])


def test_a_value_that_is_lost_and_comes_back_was_met_the_first_time() -> None:
    makes: list[Act] = [(SET, 0, 1, 0), (SET, 0, 0, 0), (SET, 0, 1, 0)]
    assert run([[(MEET, 0, 1, 0)], makes], [0]) == (True, [[1], [-1] * 3])


def test_a_semaphore_has_32_bits() -> None:
    assert run([[(INCREASE, 0, 1, 0), (MEET, 0, 0, 0)]], [(1 << 32) - 1]) == (True, [[-1, 1]])


def test_kernels_that_move_data_come_first() -> None:
    """The math kernel sets 1 when the others have made and unmade it."""
    moves: list[Act] = [(SET, 0, 1, 0), (SET, 0, 0, 0)]
    found = run([[(SET, 0, 1, 0), (MEET, 0, 1, 0)], moves], [0], math=(0,))
    assert found == (True, [[-1, 3], [-1, -1]])
    assert run([[(SET, 0, 1, 0), (MEET, 0, 1, 0)], moves], [0]) == (True, [[-1, 1], [-1, -1]])
