"""Flow control: what a topology may say of it, the ports of routers, and channels that would wait for each other."""

from dataclasses import replace
from itertools import pairwise, product

import pytest

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.compile_cache import load_compiled, save_compiled
from kernbench.machine.intents import Intent, RouteKind
from kernbench.machine.load import compile_machine
from kernbench.machine.network.channel_dependencies import check_channels, find_cycle
from kernbench.machine.network.rings import Ring, check_rings, find_halves


def load(name="mesh_8x8", **fields):
    return load_machine(name, {"flow_control": "credit", **fields})


def test_queues_have_no_limit_unless_a_topology_says_so():
    assert load_machine("mesh_8x8").flow_control is None
    assert load_machine("sip_2x4x4").flow_control is None


def test_times_become_femtoseconds_and_the_cycle_is_that_of_the_fastest_link():
    machine = load(credit_ns=1.5, endpoint_gbs=512, outstanding_packets=7)
    control = machine.flow_control
    assert (control.ports[0].credit_fs, machine.cycle_fs, control.outstanding_packets) == (1_500_000, 500_000, 7)
    assert load(internal_speedup=4).cycle_fs == 250_000
    assert load().flow_control.outstanding_packets == 0


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("virtual_channels", 0, "override virtual_channels: got 0, expected greater than 0"),
        ("virtual_channels", 65, "override virtual_channels: got 65, expected less than or equal to 64"),
        ("buffer_flits", 0, "override buffer_flits: got 0, expected greater than 0"),
        ("packet_flits", 0, "override packet_flits: got 0, expected greater than 0"),
        ("outstanding_packets", 0, "override outstanding_packets: got 0, expected greater than 0"),
        ("flow_control", "none", "override flow_control: got 'none', expected 'unbounded' or 'credit'"),
        ("allocator", "lottery", "override allocator: got 'lottery', expected 'round_robin', 'islip' or 'age'"),
        ("reuse", "never", "override reuse: got 'never', expected 'tail_sent' or 'tail_credit'"),
        ("dateline", "x", "override dateline: got 'x', expected 'none', 'cross' or 'packet'"),
        ("dateline", True, "override dateline: got true, which older files have; write 'cross'$"),
        ("dateline", False, "override dateline: got false, which older files have; write 'none'$"),
        ("input_speedup", 9, "override input_speedup: got 9, expected less than or equal to 8"),
    ],
)
def test_figures_that_no_router_has(field, value, says):
    with pytest.raises(InputError, match="^" + says):
        load(**{field: value})


def test_a_kept_machine_has_its_flow_control(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNBENCH_CACHE", str(tmp_path))
    machine = compile_machine(library.find("topology", "mesh_8x8_credit"), {"allocator": "age", "reuse": "tail_credit"})
    save_compiled("key", machine)
    assert load_compiled("key").flow_control == machine.flow_control


def test_ports_are_east_west_south_north_and_the_endpoint():
    machine = load(k=3)
    middle = machine.find_node("node[1][1].router")
    leaving = [edge for edge in range(machine.edge_count) if machine.edge_src[edge] == middle]
    there = [machine.node_name[machine.edge_dst[edge]] for edge in sorted(leaving, key=lambda e: machine.edge_port[e])]
    assert there == ["node[1][2].router", "node[1][0].router", "node[2][1].router", "node[0][1].router", "node[1][1]"]
    corner = machine.find_node("node[0][0].router")
    ports = [int(machine.edge_port[edge]) for edge in range(machine.edge_count) if machine.edge_src[edge] == corner]
    assert sorted(ports) == [0, 1, 2]


# Datelines


@pytest.mark.parametrize(
    ("src", "dst", "behind", "of_packet"),
    [
        ((0, 1), (0, 3), [1, 1], [1, 1]),
        ((0, 6), (0, 1), [1, 2, 2], [2, 2, 2]),
        ((0, 1), (0, 6), [1, 2, 2], [2, 2, 2]),
        ((6, 6), (1, 1), [1, 2, 2, 1, 2, 2], [2, 2, 2, 2, 2, 2]),
        ((6, 6), (4, 1), [1, 2, 2, 1, 1], [2, 2, 2, 1, 1]),
    ],
)
def test_a_packet_has_the_second_half_behind_the_dateline_or_on_all_of_a_ring_whose_dateline_it_crosses(
    src, dst, behind, of_packet
):
    machine = load("torus_8x8")
    ends = machine.places.endpoint(*src), machine.places.endpoint(*dst)
    nodes = machine.routing.path(*ends, Intent.ALL)
    assert machine.places.halves(nodes, "cross") == [0, *behind, 0]
    assert machine.places.halves(nodes, "packet") == [0, *of_packet, 0]


def test_a_dateline_is_of_packets_but_where_they_go_around_rings_one_way():
    assert load("torus_8x8").flow_control.dateline == "packet"
    assert load("torus_8x8", one_way=True).flow_control.dateline == "cross"
    assert load("torus_8x8", dateline="cross").flow_control.dateline == "cross"


def test_a_multicast_has_the_second_half_on_all_of_a_ring_if_one_of_its_ways_crosses_the_dateline():
    """Of node 6 on a ring of 8: to 7 before the dateline, to 1 behind it, and to 4 the other way."""
    machine = load("torus_8x8", h=1, dateline="packet")
    endpoint = machine.places.endpoint
    to = [endpoint(0, column) for column in (1, 4, 7)]
    route = machine.routing.multicast(endpoint(0, 6), to, Intent.ALL, RouteKind.MESSAGE)
    tables = machine.routing.tables()
    steps = slice(tables.start[route], tables.start[route + tables.branches[route]])
    halves = zip(tables.station[steps].tolist(), tables.channels[steps].tolist(), strict=True)
    found = {machine.station_name[link]: half for link, half in halves if half}
    ways = (((6, 7), 2), ((7, 0), 2), ((0, 1), 2), ((6, 5), 1), ((5, 4), 1))
    assert found == {f"node[0][{a}].router -> node[0][{b}].router": half for (a, b), half in ways}


def test_a_dateline_divides_the_channels_into_halves():
    control = load("torus_8x8", virtual_channels=5).flow_control
    assert [list(control.channels_of(half, 5)) for half in range(3)] == [[0, 1, 2, 3, 4], [0, 1], [2, 3, 4]]
    small = load("torus_8x8", k=3, virtual_channels=5, dateline="none").flow_control
    assert [list(small.channels_of(half, 5)) for half in range(3)] == [[0, 1, 2, 3, 4]] * 3


@pytest.mark.parametrize(
    ("fields", "first", "channels"),
    [
        ({"virtual_channels": 1}, 0, "channel 0"),
        ({"virtual_channels": 4, "dateline": "none"}, 0, "channels 0 to 3"),
        ({"virtual_channels": 4, "dateline": "packet"}, 1, "channels 2 to 3"),
    ],
)
def test_a_ring_whose_channels_wait_for_each_other_is_named_hop_by_hop(fields, first, channels):
    with pytest.raises(InputError) as caught:
        load("torus_8x8", w=4, h=2, one_way=True, **fields)
    nodes = [(first + hop) % 4 for hop in range(5)]
    hops = ", ".join(f"node[0][{a}].router -> node[0][{b}].router on {channels}" for a, b in pairwise(nodes))
    assert str(caught.value) == (
        "packets can wait for each other for ever, since each of these channels waits for the next and the last for the "
        f"first: {hops}; set virtual_channels to 2 or more and dateline to cross, or torus to false"
    )


def test_a_column_may_be_the_ring_and_a_long_cycle_is_cut():
    with pytest.raises(
        InputError, match=r"first: node\[0\]\[0\].router -> node\[1\]\[0\].router .*, 4 more links; set"
    ):
        load("torus_8x8", w=1, h=12, virtual_channels=1)


@pytest.mark.parametrize("k", [2, 3])
def test_rings_on_which_no_way_has_two_hops_need_no_dateline(k):
    assert load("torus_8x8", k=k, virtual_channels=1).flow_control.ports[0].virtual_channels == 1


@pytest.mark.parametrize(("dateline", "one_way"), [("packet", False), ("cross", False), ("cross", True)])
def test_datelines_break_the_cycles_of_rings_of_any_length(dateline, one_way):
    for count in range(1, 20):
        assert load("torus_8x8", w=count, h=1, virtual_channels=2, dateline=dateline, one_way=one_way).flow_control


@pytest.mark.parametrize("dateline", ["packet", "cross", "none"])
def test_the_longest_ways_on_a_ring_show_each_cycle_that_all_ways_show(dateline):
    """The ways of all pairs of nodes, of both halves of equally long ones: none of them are left out by the check."""
    for count, one_way in product(range(3, 10), (False, True)):
        control = replace(load("torus_8x8", one_way=True).flow_control, dateline=dateline)
        ring = Ring(
            [str(node) for node in range(count)], (1,) if one_way else (1, -1), count - 1 if one_way else count // 2
        )
        ways = []
        for start, step, hops in product(range(count), ring.steps, range(1, ring.hops + 1)):
            nodes = [(start + step * hop) % count for hop in range(hops + 1)]
            halves = find_halves([(0, node) for node in nodes], dateline)
            ways.append(
                [(link, control.channels_of(half, 4)) for link, half in zip(pairwise(nodes), halves, strict=True)]
            )
        if find_cycle(ways) is None:
            check_rings([ring], control, 4, "")
        else:
            with pytest.raises(InputError):
                check_rings([ring], control, 4, "")


def test_a_cycle_is_found_among_ways():
    a, b, c = (("a", range(2)), ("b", range(2)), ("c", range(2)))
    assert find_cycle([[a, b], [b, c]]) is None
    assert find_cycle([[a, b], [b, c], [c, b]]) in ([b, c], [c, b])
    assert find_cycle([[a, b], [("b", range(2, 4)), a]]) is None
    with pytest.raises(InputError, match="on channels 0 to 1"):
        check_channels([[a, b], [b, a]], "do something")
