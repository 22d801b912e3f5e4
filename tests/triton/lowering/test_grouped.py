"""Numbers of a group equal those of each of its programs, or the group parts by a key for which they do."""

import numpy as np
import pytest

from kernbench.triton.lowering.grouped import DivergedError, Grouped, make_grouped

PROGRAMS = np.array([0, 1, 2, 5, 9])


def grouped(programs=PROGRAMS):
    return make_grouped(programs, np.zeros((), np.int64), np.dtype(np.int32))


FUNCTIONS = {
    "block": lambda p: p * 64 + np.arange(64),
    "wrap": lambda p: (p * 64 + np.arange(64)) % 200,
    "wrap_at_once": lambda p: (p + np.arange(64)) % 7,
    "divide": lambda p: (p * 64 + np.arange(64)) // 64,
    "divide_across": lambda p: (p * 8 + np.arange(64)) // 24,
    "mask": lambda p: p * 64 + np.arange(64) < 200,
    "masks": lambda p: ((p * 64 + np.arange(64))[:, None] < 200) & (np.arange(4)[None, :] < 3),
    "rows": lambda p: (p * 64 + np.arange(64))[:, None] * 128 + np.arange(32)[None, :],
    "scalars": lambda p: p // 3 * 8 + p % 3,
    "two": lambda p: (p // 2 * 16 + np.arange(16))[:, None] * 64 + (p % 2 * 16 + np.arange(16))[None, :],
    "minimum": lambda p: np.minimum(p * 64 + np.arange(64), 199),
    "where": lambda p: np.where(p * 64 + np.arange(64) < 200, p * 64 + np.arange(64), 0),
    "square": lambda p: (p * 64 + np.arange(64)) * (p * 64 + np.arange(64)),
    "negative": lambda p: -(p * 64 + np.arange(64)),
    "of_a_column": lambda p: (p * 64 + np.arange(64)).reshape(8, 8).T[1],
    "both": lambda p: (p * 64 + np.arange(64)) - p * 32,
    "narrow": lambda p: (p * 64 + np.arange(64)).astype(np.int64) + 1,
    "compare": lambda p: np.where(p < 2, p, 3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_program_has_its_own_numbers(name):
    function, waiting, done = FUNCTIONS[name], [PROGRAMS], []
    while waiting:
        part = waiting.pop()
        try:
            found = function(grouped(part))
        except DivergedError as diverged:
            waiting += [part[diverged.key == key] for key in np.unique(diverged.key)]
            continue
        for at, program in enumerate(part):
            expected = function(np.int32(program))
            got = found.base[at] + found.pattern if isinstance(found, Grouped) else found
            np.testing.assert_array_equal(got, expected)
        done += part.tolist()
    assert sorted(done) == PROGRAMS.tolist()


def test_a_branch_parts_the_group():
    with pytest.raises(DivergedError) as raised:
        bool(grouped() == 0)
    assert len(np.unique(raised.value.key)) == 2


def test_the_loops_of_a_group_have_one_length():
    assert list(range(grouped() * 0 + 3)) == [0, 1, 2]
    with pytest.raises(DivergedError):
        range(grouped())
