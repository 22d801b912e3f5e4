"""Lanes of overlapping slices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernbench.trace.lanes import Lanes
from kernbench.trace.tables import NOWHERE

SLICES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 9)), max_size=20)


@given(SLICES)
def test_lanes_hold_what_follows_each_other_and_are_as_few_as_can_be(slices: list[tuple[int, int, int]]) -> None:
    track, start, length = np.array(slices, np.int64).reshape(-1, 3).T
    lane = Lanes().assign(track, start, start + length, np.full(len(track), NOWHERE))
    spans = [(int(t), int(b), int(b + n), int(at)) for (t, b, n), at in zip(slices, lane, strict=True) if n]
    for one in range(3):
        own = [span[1:] for span in spans if span[0] == one]
        for at in range(max((lane for *_, lane in own), default=-1) + 1):
            inside = sorted((begin, end) for begin, end, lane in own if lane == at)
            assert inside, "no lane is left out"
            assert all(before[1] <= after[0] for before, after in pairwise(inside))
        most = max((sum(begin <= time < end for begin, end, _ in own) for time, *_ in own), default=0)
        assert len({lane for *_, lane in own}) == most
    assert not lane[length == 0].any()


@given(SLICES, st.integers(0, 20))
def test_lanes_of_chunks_are_those_of_the_whole(slices: list[tuple[int, int, int]], cut: int) -> None:
    track, start, length = np.array(sorted(slices, key=lambda one: one[1]), np.int64).reshape(-1, 3).T
    nowhere = np.full(len(track), NOWHERE)
    lanes, found = Lanes(), list[int]()
    for chunk in (slice(None, cut), slice(cut, None)):
        found += lanes.assign(track[chunk], start[chunk], (start + length)[chunk], nowhere[chunk]).tolist()
    assert found == Lanes().assign(track, start, start + length, nowhere).tolist()


def test_what_lies_within_a_slice_is_in_its_lane() -> None:
    start, end = np.array([0, 5, 6]), np.array([10, 9, 8])
    lane = Lanes().assign(np.zeros(3, np.int64), start, end, np.array([NOWHERE, NOWHERE, 1]))
    assert lane.tolist() == [0, 1, 1]
