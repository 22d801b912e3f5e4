from __future__ import annotations

import pytest

from kernbench.workloads.kernels.layout import TILE_BYTES, WIDE, Tile, find_tile

OWN = Tile(32, 64, 32)
LARGE = Tile(4096, 1024, 1024)  # of an engine that is slow with small tiles
SHAPES = [(1, 1, 1), (256, 512, 32), (8016, 512, 1), (4096, 128, 4), (4, 4096, 128), (3, 7, 5)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("streamed", ["a", "b"])
@pytest.mark.parametrize("itemsize", [1, 2, 4])
def test_a_tile_is_within_the_product_and_its_read_within_the_limit(shape, streamed, itemsize):
    rows, inner, cols = find_tile(Tile(*shape), itemsize, streamed, OWN)
    assert all(1 <= part <= whole for part, whole in zip((rows, inner, cols), shape, strict=True))
    read = (rows if streamed == "a" else cols) * inner * itemsize
    assert read <= TILE_BYTES


def test_long_reads_are_made_where_there_is_enough_to_read():
    rows, inner, _ = find_tile(Tile(4096, 128, 4), 2, "a", OWN)
    assert rows * inner * 2 == TILE_BYTES
    assert find_tile(Tile(4096, 4096, 4), 2, "a", OWN).m == WIDE


@pytest.mark.parametrize("shape", [*SHAPES, (5000, 5000, 3000)])
@pytest.mark.parametrize("streamed", ["a", "b"])
def test_a_tile_is_no_less_than_the_machines_own_where_the_product_is_as_large(shape, streamed):
    found = find_tile(Tile(*shape), 2, streamed, LARGE)
    assert all(min(whole, own) <= part <= whole for part, whole, own in zip(found, shape, LARGE, strict=True))
