"""Grids of SIPs."""

from __future__ import annotations

import pytest

from kernbench.ccl.topology import SIP_TOPO_MESH, SIP_TOPO_RING, SIP_TOPO_TORUS, find_grid, find_kind
from kernbench.errors import InputError


def test_kinds() -> None:
    names = ("ring_1d", "torus_2d", "mesh_2d", "mesh_2d_no_wrap")
    assert [find_kind(name) for name in names] == [SIP_TOPO_RING, SIP_TOPO_TORUS, SIP_TOPO_TORUS, SIP_TOPO_MESH]
    with pytest.raises(InputError) as error:
        find_kind("torus")
    assert str(error.value) == (
        "unknown SIP topology 'torus'; did you mean 'torus_2d'? Known: mesh_2d, mesh_2d_no_wrap, ring_1d, torus_2d"
    )


@pytest.mark.parametrize(
    ("count", "grid"), [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (6, (2, 3)), (12, (3, 4)), (16, (4, 4)), (64, (8, 8))]
)
def test_a_grid_follows_from_the_number(count: int, grid: tuple[int, int]) -> None:
    assert find_grid(count, "torus_2d") == find_grid(count, "mesh_2d_no_wrap") == grid
    assert find_grid(count, "ring_1d") == (count, 1)


def test_a_given_grid_or_half_of_one() -> None:
    assert find_grid(6, "torus_2d", 3, 2) == find_grid(6, "torus_2d", 3) == find_grid(6, "torus_2d", h=2) == (3, 2)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            (6, "torus_2d", 2, 2),
            "6 SIPs do not make a grid of 2 x 2; give sips_w and sips_h whose product is 6",
        ),
        ((6, "torus_2d", 4), "6 SIPs do not make a grid of a width of 4; give sips_w and sips_h whose product is 6"),
        (
            (6, "torus_2d", 0, 7),
            "6 SIPs do not make a grid of a height of 7; give sips_w and sips_h whose product is 6",
        ),
        (
            (7, "mesh_2d_no_wrap"),
            "7 SIPs make no grid of two rows or more for topology 'mesh_2d_no_wrap'; "
            "give sips_w and sips_h, another number of SIPs, or ring_1d",
        ),
        ((0, "ring_1d"), "there cannot be 0 SIPs; give 1 or more"),
    ],
)
def test_impossible_grids(arguments: tuple, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        find_grid(*arguments)
    assert str(error.value) == sentence
