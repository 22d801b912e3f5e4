"""Blocks of a weight are those that a placement puts in each PE, and each element is in one of them."""

from __future__ import annotations

import pytest

from kernbench.host.memory.placement import split
from kernbench.workloads.kernels.cuts import Cut, Grid, list_cuts, place

SIZES = [(4096, 4096), (17, 33), (128, 5), (3, 200), (1, 1)]
MACHINES = [(16, 8), (2, 2), (6, 4), (1, 8)]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("machine", MACHINES)
def test_blocks_are_those_of_the_placement(sizes, machine):
    (out, features), (cubes, pes) = sizes, machine
    for cut in list_cuts(cubes, pes):
        grid = Grid(cubes, pes, cut)
        for placed in split(place(grid), sizes, cubes, pes):
            assert placed.cube is not None
            assert placed.pe is not None
            block = grid.block(out, features, placed.cube, placed.pe)
            assert block.rows == (placed.row_start, placed.row_end)
            assert block.columns == (placed.col_start, placed.col_end)
            if placed.elements:
                assert block.first == placed.first_element
            rows, columns = grid.block_shape(out, features)
            assert placed.row_end - placed.row_start <= rows == grid.slot_rows(out)
            assert placed.col_end - placed.col_start <= columns


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("machine", MACHINES)
def test_holders_of_rows_have_all_features_once(sizes, machine):
    (out, features), (cubes, pes) = sizes, machine
    for cut in list_cuts(cubes, pes):
        for first in range(0, out, 7):
            rows = (first, min(first + 7, out))
            found = Grid(cubes, pes, cut).holders(out, features, rows)
            covered = sorted(row for blocks in found for row in range(*blocks[0].rows) if rows[0] <= row < rows[1])
            assert covered == list(range(*rows))
            for blocks in found:
                assert sorted(column for block in blocks for column in range(*block.columns)) == list(range(features))


def test_all_pes_have_room_for_as_many_rows_of_parts():
    assert Grid(16, 8, Cut(1, 8)).rows_of_parts(4096) == 4096 * 8
    assert Grid(16, 8, Cut(1, 8)).rows_of_parts(17) == 2 * 16 * 8
    assert Grid(16, 8, Cut(16, 1)).rows_of_parts(17) == 3 * 16 * 8
