from __future__ import annotations

from collections import Counter

import pytest

from kernbench.errors import InputError
from kernbench.machine import Intent, RouteKind, load_machine
from kernbench.machine.sip_spec import parse_router
from tests.machine.alone import transfer_fs


def _ways(machine, torus):
    w, h = machine.places.w, machine.places.h
    for src in [(0, 0), (h // 2, w - 1)]:
        for row in range(h):
            for col in range(w):
                path = machine.routing.path(
                    machine.places.endpoint(*src), machine.places.endpoint(row, col), Intent.ALL
                )
                yield src, (row, col), [parse_router(machine.node_name[node]) for node in path[1:-1]]


@pytest.mark.parametrize("torus", [False, True])
def test_ways_follow_the_row_and_then_the_column(torus):
    machine = load_machine("mesh_8x8", {"mesh.torus": torus, "mesh.w": 5, "mesh.h": 4})
    for src, dst, way in _ways(machine, torus):
        if src == dst:
            continue
        turn = next(i for i, (_, col) in enumerate(way) if col == dst[1])
        assert {row for row, _ in way[: turn + 1]} == {src[0]}
        assert {col for _, col in way[turn:]} == {dst[1]}
        down, right = abs(src[0] - dst[0]), abs(src[1] - dst[1])
        hops = min(down, 4 - down) + min(right, 5 - right) if torus else down + right
        assert len(way) == hops + 1


def test_how_many_links():
    assert load_machine("mesh_8x8").edge_count == 2 * (2 * 8 * 7 + 64)
    assert load_machine("mesh_8x8", {"mesh.torus": True}).edge_count == 2 * (2 * 64 + 64)


@pytest.mark.parametrize(("w", "h", "links"), [(1, 1, 0), (2, 2, 4), (2, 1, 1), (3, 1, 3), (1, 3, 3), (2, 3, 9)])
def test_small_rings_have_no_double_links(w, h, links):
    machine = load_machine("mesh_8x8", {"mesh.torus": True, "mesh.w": w, "mesh.h": h})
    assert machine.edge_count == 2 * (links + w * h)
    ends = Counter(zip(machine.edge_src.tolist(), machine.edge_dst.tolist(), strict=True))
    assert set(ends.values()) == {1}
    assert all(src != dst for src, dst in ends)


def test_a_message_between_neighbours():
    """Three links at 256 GB/s: 4 flits of 1 ns each on the first, one more ns on each further one, and the wires."""
    machine = load_machine("mesh_8x8")
    places = machine.places
    route = machine.routing.route(places.endpoint(0, 0), places.endpoint(0, 1), Intent.ALL, RouteKind.MESSAGE)
    assert transfer_fs(machine, route, 1024) == 6_000_000 + 10 * (500 + 2000 + 500)


def test_what_needs_packages_learns_that_there_are_none():
    places = load_machine("mesh_8x8").places
    extent = "it has no SIPs, only the endpoints r0c0 to r7c7"
    with pytest.raises(InputError, match=f"^the machine has no sip0.io0.pcie_ep; {extent}$"):
        places.pcie_ep(0)
    with pytest.raises(InputError, match=f"^the machine has no sip0.cube0.pe0; {extent}$"):
        places.pe(0, 0, 0)
    with pytest.raises(InputError, match=f"^the machine has no r8c0; {extent}$"):
        places.endpoint(8, 0)


def test_a_mesh_comes_back_from_the_cache(tmp_path, monkeypatch):
    from kernbench.machine import load

    monkeypatch.setenv("KERNBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(load, "_recent", type(load._recent)())
    first = load_machine("mesh_8x8")
    load._recent.clear()
    again = load_machine("mesh_8x8")
    assert again is not first
    assert (again.shape, again.digest, again.places.endpoint(3, 4)) == (
        first.shape,
        first.digest,
        first.places.endpoint(3, 4),
    )


def test_a_field_of_another_family_is_refused():
    with pytest.raises(InputError, match=r"^unknown topology field 'hbm.channels'"):
        load_machine("mesh_8x8", {"hbm.channels": 4})
