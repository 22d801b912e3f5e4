"""Hints and choices of compiled code change nothing."""

from __future__ import annotations

import pytest

from kernels_jit.compile.branches import choose, rarely
from kernels_jit.compile.jit import jit


@jit
def pick(number, one, other):
    return choose(rarely(number > 3), one, other)


@pytest.mark.parametrize("number", [-5, 3, 4, 1 << 40])
def test_the_first_is_chosen_if_the_condition_holds(number: int):
    assert pick(number, -7, 1 << 62) == (-7 if number > 3 else 1 << 62)
