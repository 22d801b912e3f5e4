"""Transfers of block accesses: whole lines, runs at one distance together, each byte that is asked for once."""

import numpy as np
import pytest

from kernbench.triton.lowering.descriptors import find_descriptors


def tile(rows, columns, stride, size=2):
    return (np.arange(rows)[:, None] * stride + np.arange(columns)[None, :]).reshape(-1) * size


def lines_of(found):
    """The lines that descriptors cover."""
    covered = [
        (start + run * stride + at) // 32
        for start, length, stride, runs in zip(*found, strict=True)
        for run in range(runs)
        for at in range(0, length, 32)
    ]
    return sorted(covered)


def test_a_run_is_one_transfer_of_its_lines():
    found = find_descriptors(np.arange(100) * 2, 2, 32, 2)
    assert found.start.tolist() == [0]
    assert found.nbytes.tolist() == [224]


def test_the_rows_of_a_tile_are_one_descriptor_of_two_dimensions():
    found = find_descriptors(tile(8, 32, 1024), 2, 32, 2)
    assert [column.tolist() for column in found] == [[0], [64], [2048], [8]]


def test_an_engine_of_one_dimension_takes_a_run_at_a_time():
    found = find_descriptors(tile(8, 32, 1024), 2, 32, 1)
    assert found.nbytes.tolist() == [64] * 8


def test_a_column_costs_a_line_for_each_element():
    assert find_descriptors(tile(8, 1, 1024), 2, 32, 2).nbytes.tolist() == [8 * 32]


@pytest.mark.parametrize("dims", [1, 2])
def test_all_lines_are_moved_once(dims):
    rng = np.random.default_rng(5)
    for _ in range(200):
        bytes_ = rng.choice(3000, rng.integers(1, 60)) * int(rng.choice([1, 2, 4]))
        found = find_descriptors(bytes_, 2, 32, dims)
        assert lines_of(found) == sorted({*(bytes_ // 32).tolist(), *((bytes_ + 1) // 32).tolist()})


def test_bytes_before_a_place_are_counted_to_the_byte():
    found = find_descriptors(tile(5, 48, 100), 2, 32, 2)
    every = [
        start + run * stride + at
        for start, length, stride, runs in zip(*found, strict=True)
        for run in range(runs)
        for at in range(length)
    ]
    for place in range(0, 1200, 7):
        assert found.bytes_before(np.full(len(found.start), place)).sum() == sum(at < place for at in every)
