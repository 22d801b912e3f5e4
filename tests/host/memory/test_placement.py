"""Layouts of tensors."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.host.memory.placement import STRATEGIES, DPPolicy, split, tile_grid


def test_a_strategy_that_does_not_exist() -> None:
    with pytest.raises(InputError) as error:
        DPPolicy(pe="row_wize")
    assert str(error.value) == (
        "DPPolicy pe='row_wize' is no strategy; did you mean 'row_wise'? Known: column_wise, replicate, row_wise, "
        "tiled_column_major, tiled_row_major"
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


def test_counts_are_whole_numbers() -> None:
    with pytest.raises(InputError) as error:
        DPPolicy(num_cubes=2.5)  # pyright: ignore[reportArgumentType]
    assert str(error.value) == "DPPolicy num_cubes=2.5 is no whole number; give one, or None for all"


def test_tiles_are_a_grid_as_square_as_can_be() -> None:
    assert [tile_grid(parts) for parts in (1, 2, 3, 4, 6, 8, 12, 16)] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 2),
        (2, 3),
        (2, 4),
        (3, 4),
        (4, 4),
    ]


def test_tiles_are_taken_row_by_row_or_column_by_column() -> None:
    def corners(strategy: str) -> list[tuple[int, int]]:
        blocks = split(DPPolicy(cube=strategy), (20, 30), cubes=6, pes=1)
        assert {(b.row_end - b.row_start, b.col_end - b.col_start) for b in blocks} == {(10, 10)}
        return [(b.row_start, b.col_start) for b in blocks]

    by_row = [(0, 0), (0, 10), (0, 20), (10, 0), (10, 10), (10, 20)]
    assert corners("tiled_row_major") == by_row
    assert corners("tiled_column_major") == sorted(by_row, key=lambda corner: corner[::-1])


def test_a_vector_has_no_tiles_but_pieces() -> None:
    blocks = split(DPPolicy(pe="tiled_row_major"), (10,), cubes=1, pes=4)
    assert [b.elements for b in blocks] == [3, 3, 3, 1]


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
