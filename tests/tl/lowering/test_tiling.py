import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench.tl.lowering.tiling import grid_elements, grid_index, grid_starts, plan_gemm, tile_count, tile_sizes
from tests.naive import tiling as naive

dims = st.integers(1, 70)
tiles = st.integers(1, 40)


def test_a_dimension_takes_at_least_one_tile():
    assert [tile_count(dim, 32) for dim in (1, 31, 32, 33, 64, 65)] == [1, 1, 1, 2, 2, 3]


def test_the_last_tile_has_what_is_left():
    assert tile_sizes(70, 32).tolist() == [32, 32, 6]
    assert tile_sizes(64, 32).tolist() == [32, 32]
    assert tile_sizes(5, 32).tolist() == [5]


@settings(max_examples=60, deadline=None)
@given(dims, dims, dims, tiles, tiles, tiles)
def test_tokens_are_those_of_the_plain_loop(m, k, n, tile_m, tile_k, tile_n):
    plan = plan_gemm(m, k, n, tile_m, tile_k, tile_n)
    index = zip(plan.m.of.tolist(), plan.n.of.tolist(), plan.k.of.tolist(), strict=True)
    size = zip(*(axis.size[axis.of].tolist() for axis in (plan.m, plan.n, plan.k)), strict=True)
    got = list(zip(index, size, plan.last.tolist(), strict=True))
    assert got == list(naive.tokens(m, k, n, tile_m, tile_k, tile_n))


@settings(max_examples=60, deadline=None)
@given(dims, dims, tiles, tiles, st.booleans())
def test_a_tile_starts_at_its_first_element(rows, columns, tile_rows, tile_columns, transposed):
    plan = plan_gemm(rows, 1, columns, tile_rows, 1, tile_columns)
    offset = np.arange(rows * columns)
    matrix = offset.reshape(columns, rows).T if transposed else offset.reshape(rows, columns)
    tiles = [
        matrix[i : i + tile_rows, j : j + tile_columns]
        for i in range(0, rows, tile_rows)
        for j in range(0, columns, tile_columns)
    ]
    assert grid_starts(plan.m, plan.n, transposed).tolist() == [tile[0, 0] for tile in tiles]
    assert grid_elements(plan.m, plan.n).tolist() == [tile.size for tile in tiles]
    assert grid_index(plan.m, plan.n).tolist() == list(range(len(tiles)))
