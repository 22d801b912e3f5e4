"""Values that are computed when they are first needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from kernbench.replay.deferred import Deferred, DeferredBlock


def test_a_value_is_computed_once_and_not_before_it_is_needed() -> None:
    computed: list[int] = []
    value = Deferred(lambda: computed.append(1) or [7])
    assert not value.is_made
    assert computed == []
    assert value.make() is value.make()
    assert value.is_made
    assert computed == [1]


def test_a_value_that_failed_is_computed_again() -> None:
    left = [MemoryError()]

    def compute() -> int:
        if left:
            raise left.pop()
        return 7

    value = Deferred(compute)
    with pytest.raises(MemoryError):
        value.make()
    assert not value.is_made
    assert value.make() == 7


def test_a_part_of_a_block_is_a_view_of_its_array() -> None:
    arrays = [np.arange(4, dtype=np.uint8), np.arange(10, 18, dtype=np.uint8)]
    deferred = Deferred[Sequence[np.ndarray]](lambda: arrays)
    block = DeferredBlock(deferred, 1, 0, 8)
    part = block[2:][1:4]
    assert (len(block), len(part)) == (8, 3)
    assert not part.is_made
    assert part.make().tolist() == [13, 14, 15]
    assert block.is_made
    assert np.shares_memory(part.make(), arrays[1])
    assert part.make().flags.writeable
    assert not part.keep().make().flags.writeable
    assert not part.keep()[:1].make().flags.writeable
