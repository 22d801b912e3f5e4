from __future__ import annotations

import re
from collections import Counter
from itertools import product

import pytest

from kernbench.errors import InputError, UnreachableError
from kernbench.machine import Intent, RouteKind, load_machine
from kernbench.machine.families.mesh.places import MeshShape
from tests.machine.alone import transfer_fs


def place(router):
    """Row and column of `node[y][x].router` or `node[y][x].router2`."""
    return tuple(int(number) for number in re.findall(r"\[(\d+)\]", router))


def way(machine, src, dst):
    """The names of the nodes between two endpoints."""
    places = machine.places
    path = machine.routing.path(places.endpoint(*src), places.endpoint(*dst), Intent.ALL)
    return [machine.node_name[node] for node in path[1:-1]]


def _ways(machine, torus):
    w, h = machine.places.w, machine.places.h
    for src in [(0, 0), (h // 2, w - 1)]:
        for row in range(h):
            for col in range(w):
                path = machine.routing.path(
                    machine.places.endpoint(*src), machine.places.endpoint(row, col), Intent.ALL
                )
                yield src, (row, col), [place(machine.node_name[node]) for node in path[1:-1]]


@pytest.mark.parametrize("torus", [False, True])
def test_ways_follow_the_row_and_then_the_column(torus):
    machine = load_machine("mesh_8x8", {"torus": torus, "w": 5, "h": 4})
    for src, dst, way in _ways(machine, torus):
        if src == dst:
            continue
        turn = next(i for i, (_, col) in enumerate(way) if col == dst[1])
        assert {row for row, _ in way[: turn + 1]} == {src[0]}
        assert {col for _, col in way[turn:]} == {dst[1]}
        down, right = abs(src[0] - dst[0]), abs(src[1] - dst[1])
        hops = min(down, 4 - down) + min(right, 5 - right) if torus else down + right
        assert len(way) == hops + 1


@pytest.mark.parametrize("k", [4, 6, 8])
def test_the_ways_of_a_transpose_that_are_half_a_ring_long_go_both_ways_and_turn_as_others_do(k):
    """Packets that come to the turn from smaller columns, which rise, come from larger rows or go to smaller ones."""
    machine, steps = load_machine("torus_8x8", {"k": k}), Counter()
    for row, col in product(range(k), range(k)):
        if row == col:
            continue
        nodes = machine.routing.path(machine.places.endpoint(row, col), machine.places.endpoint(col, row), Intent.ALL)
        way = [place(machine.node_name[node]) for node in nodes[1:-1]]
        turn = way.index((row, row))
        along = (way[turn][1] - way[turn - 1][1] + 1) % k - 1
        down = (way[turn + 1][0] - way[turn][0] + 1) % k - 1
        assert along == -down
        steps[along] += len(way) == k + 1
    assert steps[1] == steps[-1] == k // 2


@pytest.mark.parametrize(("w", "h"), [(5, 4), (3, 2), (8, 1)])
def test_ways_on_a_one_way_torus_lead_to_rising_indices(w, h):
    machine = load_machine("torus_8x8", {"one_way": True, "w": w, "h": h})
    for src, dst, way in _ways(machine, True):
        right, down = (dst[1] - src[1]) % w, (dst[0] - src[0]) % h
        row = [(src[0], (src[1] + step) % w) for step in range(right + 1)]
        assert way == row + [((src[0] + step) % h, dst[1]) for step in range(1, down + 1)]


def test_a_one_way_torus_is_a_torus():
    with pytest.raises(InputError) as error:
        load_machine("mesh_8x8", {"one_way": True})
    assert str(error.value) == (
        "topology/mesh_8x8.yaml:3:1: one_way is true and torus is false, so no link leads back; set torus to true"
    )


def test_packets_are_kept_together_on_links_without_credits():
    assert load_machine("mesh_8x8").packet_flits is None
    assert load_machine("mesh_8x8", {"packet_flits": 4}).packet_flits is None
    for _ in range(2):  # the second comes from the cache
        assert load_machine("mesh_8x8", {"interleave": "packets", "packet_flits": 4}).packet_flits == 4
    with pytest.raises(InputError) as error:
        load_machine("mesh_8x8_credit", {"interleave": "packets"})
    assert str(error.value).endswith(
        "interleave is packets and flow_control is credit, where each virtual channel keeps its packet together and "
        "links interleave flits of several; give virtual_channels: 1, or flow_control: unbounded"
    )
    with pytest.raises(InputError) as error:
        load_machine("mesh_8x8", {"interleave": "packet"})
    assert str(error.value).endswith("interleave: got 'packet', expected 'flits' or 'packets'")


@pytest.mark.parametrize("shape", [{}, {"torus": True}, {"torus": True, "one_way": True}])
def test_a_way_stays_in_one_network_which_its_ends_decide(shape):
    both, one = (load_machine("mesh_8x8", {**shape, "w": 4, "h": 6, "networks": count}) for count in (2, 1))
    for index in range(24 * 24):
        src, dst = (divmod(end, 4) for end in divmod(index, 24))
        router = "router2" if (sum(src) + dst[1]) % 2 else "router"
        assert way(both, src, dst) == [name.replace("router", router) for name in way(one, src, dst)]


def test_nothing_changes_its_network_at_an_endpoint():
    machine = load_machine("mesh_8x8", {"k": 2, "networks": 2})
    routers = [node for node, kind in enumerate(machine.node_kind) if kind == "router"]
    with pytest.raises(
        UnreachableError, match=r" but through .*, which passes nothing on; name two parts of one network$"
    ):
        machine.routing.route(routers[0], routers[-1], Intent.ALL, RouteKind.MESSAGE)


def test_two_networks_have_all_links_twice():
    one, both = load_machine("torus_8x8", {"k": 3}), load_machine("torus_8x8", {"k": 3, "networks": 2})
    assert (both.edge_count, both.node_count) == (2 * one.edge_count, one.node_count + 9)
    for machine in (one, both):
        assert machine.node_name[-1] == "node[2][2]"
        assert len(set(machine.station_name)) == machine.edge_count


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("networks", 0, "greater than 0"),
        ("networks", 3, "less than or equal to 2"),
        ("outstanding", 0, "greater than 0"),
        ("outstanding", -1, "greater than 0"),
        ("outstanding", 1_000_001, "less than or equal to 1000000"),
        ("outstanding", 1.5, "a whole number"),
        ("issue_ns", -1, "greater than or equal to 0"),
        ("issue_ns", 2_000_000_000, "less than or equal to 1000000000"),
        ("acknowledged", 2, "boolean, unable to interpret input"),
        ("one_way", "falling", "boolean, unable to interpret input"),
    ],
)
def test_values_that_a_field_cannot_have(field, value, expected):
    with pytest.raises(InputError) as error:
        load_machine("mesh_8x8", {field: value})
    assert str(error.value) == f"override {field}: got {value!r}, expected {expected}"


def test_how_many_links():
    assert load_machine("mesh_8x8").edge_count == 2 * (2 * 8 * 7 + 64)
    assert load_machine("mesh_8x8", {"torus": True}).edge_count == 2 * (2 * 64 + 64)


@pytest.mark.parametrize(("w", "h", "links"), [(1, 1, 0), (2, 2, 4), (2, 1, 1), (3, 1, 3), (1, 3, 3), (2, 3, 9)])
def test_small_rings_have_no_double_links(w, h, links):
    machine = load_machine("mesh_8x8", {"torus": True, "w": w, "h": h})
    assert machine.edge_count == 2 * (links + w * h)
    ends = Counter(zip(machine.edge_src.tolist(), machine.edge_dst.tolist(), strict=True))
    assert set(ends.values()) == {1}
    assert all(src != dst for src, dst in ends)


def test_a_message_between_neighbours():
    """Three links at 256 GB/s: 4 flits of 1 ns each on the first, one more ns on each further one, and 1 ns along each."""
    machine = load_machine("mesh_8x8")
    places = machine.places
    route = machine.routing.route(places.endpoint(0, 0), places.endpoint(0, 1), Intent.ALL, RouteKind.MESSAGE)
    assert transfer_fs(machine, route, 1024) == 9_000_000


def test_every_field_counts_where_it_says():
    fields = {"link_gbs": 128, "hop_ns": 3, "injection_ns": 5, "ejection_ns": 7, "endpoint_gbs": 512, "flit_bytes": 64}
    machine = load_machine("mesh_8x8", fields)
    places = machine.places
    route = machine.routing.route(places.endpoint(0, 0), places.endpoint(2, 1), Intent.ALL, RouteKind.MESSAGE)
    flits = 10
    ends, hops = 5 + 7 + 2 * 64 / 512, 3 * (3 + 64 / 128)
    assert transfer_fs(machine, route, flits * 64) == (ends + hops + (flits - 1) * 64 / 128) * 1_000_000


def test_sides_may_be_long_and_differ():
    machine = load_machine("torus_8x8", {"k": 64})
    assert (machine.places.w, machine.places.h, machine.node_count) == (64, 64, 2 * 4096)
    wide = load_machine("mesh_8x8", {"k": 3, "w": 5}).places
    assert (wide.w, wide.h, wide.mesh.torus) == (5, 3, False)


def _write_rectangle(directory, sides):
    path = directory / "rectangle.yaml"
    path.write_text(
        f"family: mesh\ndescription: a rectangle\n{sides}torus: false\nflit_bytes: 256\n"
        "link_gbs: 256\nhop_ns: 1\ninjection_ns: 1\nejection_ns: 1\n"
    )
    return path


def test_a_rectangle_needs_no_square(tmp_path):
    places = load_machine(_write_rectangle(tmp_path, "w: 2\nh: 8\n")).places
    assert (places.w, places.h) == (2, 8)


@pytest.mark.parametrize(
    ("sides", "missing"),
    [("", "w, columns"), ("w: 2\n", "h, rows"), ("h: 2\n", "w, columns"), ("k: null\nh: 2\n", "w, columns")],
)
def test_a_mesh_without_a_side_is_refused(tmp_path, sides, missing):
    path = _write_rectangle(tmp_path, sides)
    with pytest.raises(InputError) as error:
        load_machine(path)
    assert str(error.value) == f"{path}:1:1: k is not given, nor {missing}; give k for a square, or w and h"


def test_nodes_by_name_or_index():
    places = load_machine("mesh_8x8", {"w": 5, "h": 3}).places
    assert places.find_endpoint("node[2][1]") == places.find_endpoint("11") == places.endpoint(2, 1)


EXTENT = "it has no SIPs, only the endpoints node[0][0] to node[7][7], by index 0 to 63"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("node[8][0]", f"the machine has no node[8][0]; {EXTENT}"),
        ("64", f"the machine has no node 64; {EXTENT}"),
        ("1" * 5000, f"got '{'1' * 57}...', expected a node like node[1][2] or its index; {EXTENT}"),
        ("r0c0", f"got 'r0c0', expected a node like node[1][2] or its index; {EXTENT}"),
    ],
)
def test_names_that_are_no_nodes(name, sentence):
    with pytest.raises(InputError) as error:
        load_machine("mesh_8x8").places.find_endpoint(name)
    assert str(error.value) == sentence


def test_what_needs_packages_learns_that_there_are_none():
    places = load_machine("mesh_8x8").places
    for ask, missing in (
        (lambda: places.pcie_ep(0), "sip0.io0.pcie_ep"),
        (lambda: places.pe(0, 0, 0), "sip0.cube0.pe0"),
    ):
        with pytest.raises(InputError) as error:
            ask()
        assert str(error.value) == f"the machine has no {missing}; {EXTENT}"


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


def test_how_endpoints_send_comes_back_from_the_cache(tmp_path, monkeypatch):
    from kernbench.machine import load

    monkeypatch.setenv("KERNBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(load, "_recent", type(load._recent)())
    sending = {"acknowledged": True, "issue_ns": 2.5, "outstanding": 3}
    shape = {"torus": True, "one_way": True, "networks": 2}
    first = load_machine("mesh_8x8", {**sending, **shape})
    load._recent.clear()
    again = load_machine("mesh_8x8", {**sending, **shape})
    assert again is not first
    assert again.shape == first.shape == MeshShape(8, 8, True, True, 2, True, 2_500_000, 3)


def test_a_field_of_another_family_is_refused():
    with pytest.raises(InputError, match=r"^unknown topology field 'hbm.channels'"):
        load_machine("mesh_8x8", {"hbm.channels": 4})


def _crossed(machine, sources) -> Counter:
    """How many ways to any other endpoint cross each link between routers, by its edge."""
    places, crossed = machine.places, Counter()
    ends = [places.endpoint(row, col) for row in range(places.h) for col in range(places.w)]
    for src in sources:
        for dst in ends:
            if dst != src:
                crossed.update(machine.routing.edges_between(src, dst, Intent.ALL)[1:-1])
    return crossed


@pytest.mark.parametrize(("w", "h"), [(8, 8), (4, 6), (6, 10), (8, 1), (5, 4)])
def test_both_directions_of_a_torus_carry_alike(w, h):
    """Ways half around a ring are shared by both directions: uniform traffic loads all links of a dimension equally."""
    machine = load_machine("torus_8x8", {"w": w, "h": h})
    crossed = _crossed(machine, [machine.places.endpoint(row, col) for row in range(h) for col in range(w)])
    rows, columns = set[int](), set[int]()
    for edge, count in crossed.items():
        (row, _), (to_row, _) = (place(machine.node_name[end[edge]]) for end in (machine.edge_src, machine.edge_dst))
        (rows if row == to_row else columns).add(count)
    assert len(rows) == 1
    assert len(columns) == (h > 1)


def test_in_each_of_two_networks_both_directions_of_a_torus_carry_alike():
    """64 links of each carry half of 256 ways, of which each has one hop a dimension on average."""
    machine = load_machine("torus_8x8", {"k": 4, "networks": 2})
    crossed = _crossed(machine, [machine.places.endpoint(row, col) for row in range(4) for col in range(4)])
    assert list(crossed.values()) == [256 // 2 * 2 // 64] * 2 * 64


def test_the_way_half_around_follows_from_both_ends():
    """From (0, 0) to rising columns and falling rows, from (0, 1) to falling ones both times."""
    machine = load_machine("torus_8x8", {"k": 4})
    ways = []
    for src in ((0, 0), (0, 1)):
        there = (src[0] + 2, src[1] + 2)
        path = machine.routing.path(machine.places.endpoint(*src), machine.places.endpoint(*there), Intent.ALL)
        ways.append([place(machine.node_name[node]) for node in path[1:-1]])
    assert ways == [[(0, 0), (0, 1), (0, 2), (3, 2), (2, 2)], [(0, 1), (0, 0), (0, 3), (3, 3), (2, 3)]]
