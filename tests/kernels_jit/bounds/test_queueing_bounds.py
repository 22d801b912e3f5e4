"""Queues against every choice of their loads."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_jit.bounds.queueing_bounds import NEVER, Classes, Legs, Queues, find_spans

pytestmark = pytest.mark.slow

LOADS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(-5, 30)), max_size=6)


def longest(loads):
    """The least end of any loads that one server has to do: first head, all work, shortest tail."""
    chosen = [some for n in range(1, len(loads) + 1) for some in combinations(loads, n)]
    ends = (min(h for h, _, _ in some) + sum(t for _, t, _ in some) + min(q for _, _, q in some) for some in chosen)
    return max(ends, default=-NEVER)


def ways(floors):
    count = len(floors)
    none = np.zeros(0, np.int64)
    return Classes(np.zeros(count + 1, np.int64), none, none, np.zeros(count, np.int64), np.array(floors, np.int64))


@given(LOADS, st.integers(0, 40))
def test_a_queue_is_no_shorter_than_any_of_its_loads_together(loads, path):
    count = len(loads)
    numbers = np.arange(count)
    queues = Queues(
        *(np.array([count]), np.array([0, 1]), np.array([0, count]), np.array([1])),
        *(numbers, numbers, numbers, np.ones(count, np.int64), np.zeros(count, np.int64)),
    )
    none, service = np.zeros((1, count), np.int64), np.array([[time for _, time, _ in loads]], np.int64).reshape(1, -1)
    found = find_spans(
        ways([*(head for head, _, _ in loads), path]),
        ways([tail for _, _, tail in loads]),
        queues,
        Legs(none, none, service, none),
        np.zeros((1, 1), np.int64),
    )
    assert found.tolist() == [[max(path, longest(loads))]]
