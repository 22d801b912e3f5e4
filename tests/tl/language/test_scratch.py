from __future__ import annotations

import pytest

from kernbench.tl.language.context_base import Scratch
from kernbench.tl.language.errors import ScratchError

BASE = 0x1000


def test_what_is_given_back_is_used_for_the_same_size_first():
    scratch = Scratch(BASE, 256)
    first, second = scratch.take(64), scratch.take(32)
    scratch.give_back(first, 64)
    assert scratch.take(64) == first
    assert scratch.take(32) == second + 32


def test_a_full_region_joins_neighbours_and_cuts_them():
    scratch = Scratch(BASE, 256)
    parts = [scratch.take(64) for _ in range(4)]
    for each in parts[1:3]:
        scratch.give_back(each, 64)
    assert scratch.take(96) == parts[1]
    assert scratch.take(32) == parts[1] + 96


def test_what_is_free_before_the_end_joins_what_was_never_taken():
    scratch = Scratch(BASE, 256)
    first, last = scratch.take(64), scratch.take(128)
    scratch.give_back(last, 128)
    assert scratch.take(192) == first + 64


def test_a_full_region_says_what_is_free_in_one_piece():
    scratch = Scratch(BASE, 256)
    first, _ = scratch.take(64), scratch.take(128)
    scratch.give_back(first, 64)
    with pytest.raises(ScratchError, match="96 bytes were asked for and 64 of 256 are free"):
        scratch.take(96)
