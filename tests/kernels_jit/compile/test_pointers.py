"""Pointers and records: what compiled code reads and writes is what numpy sees."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit
from kernels_jit.compile.pointers import offset, place_of, pointer_to, record_at, row_at, table_row_at
from kernels_jit.layout.records import record

PAIR = record("near", "far", words=3)
at_word, at_row, in_table = record_at(PAIR), row_at(PAIR), table_row_at(PAIR, 1)


@jit
def touch(words):
    m = pointer_to(words)
    at_word(m, 2).near = 5
    at_row(m, 1).far += 10
    pair = in_table(m, 2)
    pair.near, pair.far = pair.far, pair.near
    offset(m, 4)[0] = m[3] * 100
    return place_of(m, pair)


def test_records_stand_where_their_numbers_say():
    words = np.arange(16)
    words[1] = 6  # where the table begins
    assert touch(words) == 6 + 2 * 3
    expected = np.arange(16)
    expected[1], expected[2] = 6, 5
    expected[4] = 300  # the second field of row 1 was 14 and is written again
    expected[12], expected[13] = 13, 12
    assert words.tolist() == expected.tolist()


def test_records_of_numpy_are_read_in_place():
    @jit
    def swap(pairs):
        first = at_row(pointer_to(pairs), 1)
        first.near, first.far = first.far, first.near

    pairs = np.zeros(2, PAIR)
    pairs["near"], pairs["far"] = [1, 2], [3, 4]
    swap(pairs)
    assert pairs["near"].tolist() == [1, 4]
    assert pairs["far"].tolist() == [3, 2]
