"""Meshes derived from places: relay rows and columns, the hole, the connections, and the default machine from eight places."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine import Intent, RouteKind, load_machine
from kernbench.machine.families.sip.cube_mesh import make_grid, relay
from kernbench.machine.load import load_spec

PLACES = st.lists(st.integers(0, 40_000).map(lambda um: um / 1000), min_size=1, max_size=8)


def documented_cube() -> str:
    """The section that docs/machine.md shows."""
    page = (library.shipped() / "docs" / "machine.md").read_text()
    return next(block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "pe_mm" in block)


def made(tmp_path, change=("", "")):
    """A topology like the default one but for the cube that is documented."""
    text = library.find("topology", "sip_2x4x4").read_text()
    before, _, rest = text.partition("cube:\n")
    path = tmp_path / "sip_2x4x4.yaml"
    path.write_text(before + documented_cube().replace(*change) + "\npe:" + rest.partition("\npe:")[2])
    return path


@pytest.mark.parametrize(
    ("places", "gap", "found"),
    [
        ([5.0], 1, (5.0,)),
        ([4.0, 1.0, 4.0], 3, (1.0, 4.0)),
        ([1.0, 4.0], 2.999, (1.0, 2.5, 4.0)),
        ([0.0, 1.0, 10.0], 3, (0.0, 1.0, 4.0, 7.0, 10.0)),
        ([0.0, 0.3], 0.1, (0.0, 0.1, 0.2, 0.3)),
        ([0.0, 1.0], 0.3, (0.0, 0.25, 0.5, 0.75, 1.0)),
    ],
)
def test_relays_stand_at_equal_distances(places, gap, found):
    assert relay(places, gap) == found


@given(PLACES, st.floats(0.5, 20))
def test_no_gap_is_too_wide_and_no_relay_is_idle(places, gap):
    found = relay(places, gap)
    own = sorted(set(places))
    assert set(own) <= set(found)
    assert all(0 < after - before <= gap + 0.001 for before, after in pairwise(found))
    for before, after in pairwise(own):
        between = sum(before < place < after for place in found)
        assert between * gap < after - before or not between


def test_the_documented_mesh_is_that_of_the_default_machine(tmp_path):
    one, other = load_spec(made(tmp_path)).cube.grid, load_spec("sip_2x4x4").cube.grid
    assert (one.x_mm, one.y_mm, one.hole, one.pe_routers, one.sides) == (
        other.x_mm, other.y_mm, other.hole, other.pe_routers, other.sides
    )  # fmt: skip
    made_machine, given_machine = load_machine(made(tmp_path)), load_machine("sip_2x4x4")
    assert made_machine.node_name == given_machine.node_name
    assert (made_machine.edge_weight == given_machine.edge_weight).all()


def test_a_shorter_wire_takes_relays(tmp_path):
    machine = load_machine(made(tmp_path), {"cube.max_gap_mm": 2, "sips.count": 1})
    grid = load_spec(made(tmp_path), {"cube.max_gap_mm": 2}).cube.grid
    assert (len(grid.x_mm), len(grid.y_mm)) == (1 + 2 + 5 + 2, 1 + 2 + 4 + 2)
    assert len(grid.routers()) == 90 - len(grid.hole)
    assert "# 2 makes a mesh of 9 x 10\n" in documented_cube()  # rows x columns
    places = machine.places
    path = machine.routing.path(places.pe(0, 0, 0).dma, places.hbm(0, 15, 7), Intent.PE_DMA)
    assert path[0] == places.pe(0, 0, 0).dma
    machine.routing.route(places.pe(0, 0, 0).dma, places.hbm(0, 15, 7), Intent.PE_DMA, RouteKind.READ)


def test_the_hole_is_strictly_inside_and_connections_are_in_the_middle():
    grid = make_grid([(0, 0), (3, 3)], 1, (0.0, 0.0, 2.0, 3.0), 2)
    assert grid.hole == {"r1c1", "r2c1"}
    assert grid.sides == {"N": ("r0c1", "r0c2"), "S": ("r3c1", "r3c2"), "W": ("r1c0", "r2c0"), "E": ("r1c3", "r2c3")}
    assert grid.pe_routers == ("r0c0", "r3c3")


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (
            {"cube.connections": 7},
            "connections is 7, but a side has 6 routers (r0c0, r0c1, r0c2, r0c3, r0c4, r0c5); give fewer",
        ),
        (
            {"cube.hbm_mm": "[0, 0, 12, 10]"},
            "pe_mm has [1.5, 1.25], which is inside hbm_mm [0.0, 0.0, 12.0, 10.0]; move one",
        ),
        ({"cube.pes": 9}, "pes is 9 but pe_mm places 8; place more"),
        (
            {"cube.rows": 6, "cube.hole": "[]"},
            "got rows, hole beside max_gap_mm, connections; a mesh is given or made from pe_mm",
        ),
        ({"cube.max_gap_mm": 0.2}, "max_gap_mm 0.2 takes more than 64 rows or columns; make it larger"),
        (
            {"cube.pe_mm": "[[1, 1], [1, 1]]", "cube.pes": 1},
            "pe_mm has a place twice: [1.0, 1.0], [1.0, 1.0]; move one",
        ),
    ],
)
def test_places_that_do_not_fit(tmp_path, overrides, said):
    with pytest.raises(InputError, match=rf"{re.escape('cube: ' + said)}$"):
        load_machine(made(tmp_path), overrides)


def test_what_is_missing_of_either_way(tmp_path):
    with pytest.raises(InputError, match=r"cube: max_gap_mm, connections missing; give them, or rows and the like$"):
        load_machine(made(tmp_path, ("max_gap_mm: 3.0", "#")), {"cube.connections": None})
    with pytest.raises(InputError, match=r"cube: ucie missing; give it, or pe_mm$"):
        load_machine("tiny", {"cube.ucie": None})


@pytest.mark.parametrize(("topology", "grid"), [("ring_1d", (6, 1)), ("torus_2d", (2, 3)), ("mesh_2d_no_wrap", (3, 2))])
def test_six_sips_are_never_fewer(topology, grid):
    w, h = grid
    machine = load_machine("tiny", {"sips.count": 6, "sips.topology": topology, "sips.w": w, "sips.h": h})
    assert (machine.places.sip_count, machine.places.sip_w, machine.places.sip_h) == (6, w, h)
    with pytest.raises(InputError, match=r"got w 2 x h 2, expected a product of count 6$"):
        load_machine("tiny", {"sips.count": 6, "sips.topology": topology, "sips.w": 2, "sips.h": 2})
