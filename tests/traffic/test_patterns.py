"""Destinations of the traffic patterns."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.families.mesh.places import MeshPlaces
from kernbench.traffic.patterns import HOT_SHARE, find_pattern, node_names


def partners(pattern: str, **overrides: object) -> dict[int, int]:
    machine = load_machine("mesh_8x8", {"k": 4, **overrides})
    places = machine.places
    assert isinstance(places, MeshPlaces)
    nodes = np.arange(places.w * places.h)
    found = find_pattern(pattern, machine)(nodes, places.w, places.h, np.random.default_rng(0))
    return dict(zip(nodes.tolist(), found.tolist(), strict=True))


@pytest.mark.parametrize(
    ("pattern", "src", "dst"),
    [
        ("transpose", (1, 3), (3, 1)),
        ("bitcomp", (0, 1), (3, 2)),
        ("neighbor", (0, 1), (1, 2)),
        ("neighbor", (3, 3), (0, 0)),
        ("tornado", (0, 1), (1, 2)),
    ],
)
def test_permutations(pattern: str, src: tuple[int, int], dst: tuple[int, int]) -> None:
    assert partners(pattern)[src[0] * 4 + src[1]] == dst[0] * 4 + dst[1]


def test_tornado_goes_just_short_of_half_way() -> None:
    assert partners("tornado", k=8)[0] == 3 * 8 + 3
    assert partners("tornado", k=7)[0] == 3 * 7 + 3
    assert partners("tornado", w=5, h=1)[0] == 2


@pytest.mark.parametrize("pattern", ["transpose", "bitcomp", "neighbor", "tornado"])
def test_each_node_of_a_permutation_gets_from_one(pattern: str) -> None:
    found = partners(pattern)
    assert sorted(found.values()) == list(range(16))
    itself = [src for src, dst in found.items() if src == dst]
    assert itself == ([0, 5, 10, 15] if pattern == "transpose" else [])


@pytest.mark.parametrize(("pattern", "share"), [("uniform", 1 / 64), ("hotspot", HOT_SHARE + (1 - HOT_SHARE) / 64)])
def test_random_partners_are_all_nodes_alike_but_for_the_hot_one(pattern: str, share: float) -> None:
    src = np.repeat(np.arange(64), 2000)
    dst = find_pattern(pattern, load_machine("mesh_8x8"))(src, 8, 8, np.random.default_rng(3))
    arrivals = np.bincount(dst, minlength=64) / len(dst)
    assert arrivals[36] == pytest.approx(share, rel=0.05)
    assert np.delete(arrivals, 36) == pytest.approx((1 - share) / 63, rel=0.1)
    assert np.mean(dst == src) == pytest.approx(1 / 64, rel=0.1)


def test_names_by_index() -> None:
    assert node_names(load_machine("mesh_8x8", {"w": 3, "h": 2}))[4] == "node[1][1]"


@pytest.mark.parametrize(
    ("topology", "overrides", "pattern", "sentence"),
    [
        (
            "mesh_8x8",
            {},
            "unifrom",
            "unknown pattern 'unifrom'; did you mean 'uniform'? "
            "Known: bitcomp, hotspot, neighbor, tornado, transpose, uniform",
        ),
        (
            "tiny",
            {},
            "uniform",
            "patterns need the nodes of a mesh, and tiny is of family sip; try --topology mesh_8x8 or give flows",
        ),
        (
            "mesh_8x8",
            {"w": 4},
            "transpose",
            "pattern transpose needs as many columns as rows, and mesh_8x8 has 4 x 8 nodes; set k",
        ),
        (
            "mesh_8x8",
            {"k": 6},
            "bitcomp",
            "pattern bitcomp needs a number of nodes that is a power of two, and mesh_8x8 has 6 x 6 = 36; set k to 8",
        ),
        ("mesh_8x8", {"k": 1}, "uniform", "pattern uniform needs partners, and mesh_8x8 has one node; set k"),
        (
            "mesh_8x8",
            {"k": 2},
            "tornado",
            "with pattern tornado every node of mesh_8x8 (2 x 2) is its own partner; set k to 3 or more",
        ),
    ],
)
def test_patterns_that_make_no_sense(topology: str, overrides: dict[str, object], pattern: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        find_pattern(pattern, load_machine(topology, overrides))
    assert str(error.value) == sentence
