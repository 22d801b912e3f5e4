"""Layouts of tensors."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.host.policy import STRATEGIES, DPPolicy, split


def test_a_strategy_that_does_not_exist() -> None:
    with pytest.raises(InputError) as error:
        DPPolicy(pe="row_wize")
    assert str(error.value) == (
        "DPPolicy pe='row_wize' is no strategy; did you mean 'row_wise'? Known: column_wise, replicate, row_wise"
    )


def test_nobody_to_hold_the_tensor() -> None:
    with pytest.raises(InputError) as error:
        DPPolicy(num_pes=0)
    assert str(error.value) == "DPPolicy num_pes=0 leaves nobody to hold the tensor; give 1 or more"


def test_a_sip_is_not_part_of_a_policy() -> None:
    with pytest.raises(TypeError, match="sip"):
        DPPolicy(sip="replicate")  # pyright: ignore[reportCallIssue]


def test_uneven_rows_leave_smaller_and_empty_parts() -> None:
    blocks = split(DPPolicy(pe="row_wise"), (5, 3), cubes=1, pes=4)
    assert [(b.row_start, b.row_end) for b in blocks] == [(0, 2), (2, 4), (4, 5), (5, 5)]
    assert [b.first_element for b in blocks] == [0, 6, 12, 15]
    assert blocks[3].elements == 0


def test_one_dimension_can_be_split_both_ways() -> None:
    for pe in ("row_wise", "column_wise"):
        blocks = split(DPPolicy(cube=pe, pe=pe), (10,), cubes=2, pes=2)
        assert [b.elements for b in blocks] == [3, 2, 3, 2]


@pytest.mark.parametrize("cube", STRATEGIES)
@pytest.mark.parametrize("pe", STRATEGIES)
def test_parts_cover_the_tensor_once_and_lie_end_to_end(cube: str, pe: str) -> None:
    seen = np.zeros((7, 5), int)
    first = 0
    for block in split(DPPolicy(cube, pe), (7, 5), cubes=3, pes=2):
        seen[block.row_start : block.row_end, block.col_start : block.col_end] += 1
        assert block.first_element == first
        assert (block.cube is None) == (cube == "replicate")
        first += block.elements
    assert (seen == 1).all()
    assert first == 35
