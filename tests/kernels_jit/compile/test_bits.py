"""Operations on words: what compiled code gets is what Python says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels_jit.compile.bits import GROUP, at_most, lowest_bit, quotient
from kernels_jit.compile.jit import jit
from kernels_jit.compile.pointers import pointer_to
from kernels_jit.layout.records import NEVER

EDGES = [0, 1, -1, NEVER - 1, NEVER, NEVER + 1, -(1 << 63), (1 << 63) - 1]
WORDS = st.one_of(st.sampled_from(EDGES), st.integers(-(1 << 63), (1 << 63) - 1))


@jit
def compare(words, first, limit):
    return at_most(pointer_to(words), first, limit)


@jit
def divide(number, divisor):
    return quotient(number, divisor)


@jit
def find_lowest(word):
    return lowest_bit(word)


@given(st.lists(WORDS, min_size=GROUP, max_size=3 * GROUP), st.data())
def test_a_group_of_words_is_compared_with_a_limit(words: list[int], data: st.DataObject):
    first = data.draw(st.integers(0, len(words) - GROUP))  # groups need not begin where a cache line does
    limit = data.draw(st.one_of(WORDS, st.sampled_from(words)))
    expected = sum((word <= limit) << at for at, word in enumerate(words[first : first + GROUP]))
    assert compare(np.array(words, np.int64), first, limit) == expected


@given(st.integers(0, (1 << 63) - 1), st.integers(1, (1 << 63) - 1))
def test_words_without_signs_are_divided(number: int, divisor: int):
    assert divide(number, divisor) == number // divisor
    assert divide(number, 1) == number


@given(WORDS.filter(bool))
def test_the_lowest_bit_of_a_word(word: int):
    number = find_lowest(word)
    assert word >> number & 1 == 1
    assert word & (1 << number) - 1 == 0
