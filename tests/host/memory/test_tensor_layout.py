"""Where PEs find the parts of a tensor."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.host.device.sip import Sip
from kernbench.host.memory.placement import STRATEGIES, DPPolicy
from kernbench.host.memory.tensor_layout import Layout
from kernbench.machine import load_machine
from kernbench.replay.store import MemoryStore


def place(policy: DPPolicy, shape: tuple[int, ...] = (4, 4)) -> Layout:
    return Sip(load_machine("tiny"), 0).place("x", shape, "f16", policy).layout


def found(layout: Layout, cube: int, pe: int) -> list[tuple[int, int | None, int | None, int]]:
    """(byte in the tensor, cube, PE, bytes) of each part as a PE is told."""
    return [(va - layout.va, s.cube, s.pe, s.nbytes) for va, s in layout.entries(cube, pe)]


def test_a_split_tensor_is_told_to_all_alike() -> None:
    layout = place(DPPolicy("row_wise", "column_wise"))
    parts = [(0, 0, 0, 8), (8, 0, 1, 8), (16, 1, 0, 8), (24, 1, 1, 8)]
    assert all(found(layout, cube, pe) == parts for cube in (0, 1) for pe in (0, 1))
    told = layout.targets(2)
    assert len({id(entries) for pes in told.values() for entries in pes.values()}) == 1


def test_a_copy_is_told_to_its_owner() -> None:
    layout = place(DPPolicy())
    assert [found(layout, cube, pe) for cube in (0, 1) for pe in (0, 1)] == [
        [(0, cube, pe, 32)] for cube in (0, 1) for pe in (0, 1)
    ]
    assert len(layout.shards) == 4


@pytest.mark.parametrize(
    ("policy", "of_cube_1_pe_0"),
    [
        (DPPolicy("row_wise", "replicate"), [(0, 0, 0, 16), (16, 1, 0, 16)]),
        (DPPolicy("replicate", "row_wise"), [(0, 1, 0, 16), (16, 1, 1, 16)]),
    ],
)
def test_of_a_split_with_copies_each_finds_the_nearest(policy: DPPolicy, of_cube_1_pe_0: list[object]) -> None:
    assert found(place(policy), 1, 0) == of_cube_1_pe_0


@pytest.mark.parametrize("pe", ["row_wise", "replicate"])
def test_all_pes_of_the_cubes_that_hold_a_tensor_are_told(pe: str) -> None:
    told = place(DPPolicy("row_wise", pe, num_cubes=1, num_pes=1)).targets(2)
    assert {cube: [*pes] for cube, pes in told.items()} == {0: [0, 1]}
    assert told[0][0] is told[0][1]


def test_empty_parts_are_told_to_nobody() -> None:
    layout = place(DPPolicy("row_wise", "row_wise"), (1, 4))
    assert found(layout, 1, 1) == [(0, 0, 0, 8)]
    assert layout.nbytes == 8


@pytest.mark.parametrize("cube", STRATEGIES)
@pytest.mark.parametrize("pe", STRATEGIES)
def test_numbers_go_to_memory_and_come_back(cube: str, pe: str) -> None:
    layout, locate = place(DPPolicy(cube, pe), (5, 3)), load_machine("tiny").places.memory_of
    array, store = np.arange(15, dtype=np.float16).reshape(5, 3), MemoryStore()
    layout.scatter(store, lambda: array, locate)
    assert (layout.gather(store, locate) == array).all()
