"""Functions that call each other: what they answer, what the cache keeps, and memory that they give back."""

from __future__ import annotations

import os

import numpy as np
import pytest

from kernels_jit import pointer
from kernels_jit.compile.jit import inner, jit
from kernels_jit.simulate.loop import run
from kernels_jit.layout.records import HEADER

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")


@inner
def bump(values, at, by):
    values[at] += by
    return values[at]


@inner
def left(values):
    return bump(values, 0, 1)


@inner
def right(values):
    return bump(values, 1, -2) if values[0] > 0 else values[0]


@jit
def copy(values):
    fresh = np.empty(values.size, np.int64)
    for k in range(values.size):
        fresh[k] = values[k]
    return fresh


@jit
def both(values, times):
    for _ in range(times):
        values = copy(values)
        left(values)
        right(values)
    return values, bump(values, 0, values[1])


def test_what_is_called_in_two_ways_acts_the_same_in_each():
    values, total = both(np.array([4, 10]), 3)
    assert (values.tolist(), total) == ([11, 4], 11)


def test_what_compiled_code_calls_can_be_called_from_python_too():
    values = np.array([4, 10])
    both(values, 1)
    assert (bump(values, 1, 5), left(values), copy(values).tolist()) == (15, 5, [5, 15])


def test_the_cache_keeps_what_python_calls_alone():
    both(np.array([4, 10]), 1)
    assert len(both.overloads) == 1  # type: ignore[attr-defined]
    assert right.overloads == {}  # type: ignore[attr-defined]


def test_arrays_that_nobody_holds_are_given_back():
    from numba.core.runtime.nrt import _nrt, rtsys

    def held():
        stats = rtsys.get_allocation_stats()
        return stats.alloc - stats.free

    values = np.array([4, 10])
    both(values, 1)
    _nrt.memsys_enable_stats()
    before = held()
    both(values, 50)
    assert held() == before


def test_the_loop_at_its_address_is_the_loop():
    @jit
    def call(loop, *arguments):
        return pointer.run_at(loop, *arguments)

    answers = []
    for function in (run, lambda *arguments: call(pointer.address_of_run(), *arguments)):
        m, table = np.zeros(HEADER, np.int64), np.zeros((1, 1), np.int64)
        status, pool = function(m, table, table, table, 0)
        answers.append((status, pool.tolist(), m.tolist()))
    assert answers[0] == answers[1]
