"""Programs of a grid on PEs."""

import re

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.triton.lowering.dealing import Dealing, program_ids


def test_cyclic_deals_in_turn_and_blocked_in_pieces():
    assert [part.tolist() for part in Dealing().deal((5, 1, 1), 2)] == [[0, 2, 4], [1, 3]]
    assert [part.tolist() for part in Dealing("blocked").deal((5, 1, 1), 2)] == [[0, 1, 2], [3, 4]]


def test_the_order_names_the_fastest_axis_first():
    grid = (2, 3, 1)
    (numbers,) = Dealing(order="yxz").deal(grid, 1)
    assert np.stack(program_ids(numbers, grid), axis=1)[:4].tolist() == [[0, 0, 0], [0, 1, 0], [0, 2, 0], [1, 0, 0]]


@pytest.mark.parametrize("rule", ["cyclic", "blocked"])
def test_each_program_runs_once(rule):
    dealt = Dealing(rule, "zyx").deal((3, 4, 5), 7)
    assert sorted(np.concatenate(dealt).tolist()) == list(range(60))


def test_unknown_rules_and_orders_are_refused():
    with pytest.raises(
        InputError, match=re.escape("programs cannot be dealt by the rule 'cyclc'; did you mean 'cyclic'?")
    ):
        Dealing("cyclc")
    with pytest.raises(InputError, match="programs cannot be dealt in the order 'xy'; give the axes x, y and z"):
        Dealing(order="xy")
