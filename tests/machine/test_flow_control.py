"""Flow control: what a topology may say of it, the ports of routers, and channels that would wait for each other."""

import pytest

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.channel_dependencies import check_channels, find_cycle
from kernbench.machine.compile_cache import load_compiled, save_compiled
from kernbench.machine.intents import Intent
from kernbench.machine.load import compile_machine


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
    ("src", "dst", "sides"),
    [
        ((0, 1), (0, 3), [1, 1]),
        ((0, 6), (0, 1), [1, 2, 2]),
        ((0, 1), (0, 6), [1, 2, 2]),
        ((6, 6), (1, 1), [1, 2, 2, 1, 2, 2]),
    ],
)
def test_a_way_is_after_the_dateline_from_the_link_that_closes_the_ring(src, dst, sides):
    machine = load("torus_8x8")
    ends = machine.places.endpoint(*src), machine.places.endpoint(*dst)
    nodes = machine.routing.path(*ends, Intent.ALL)
    assert machine.places.sides(nodes) == [0, *sides, 0]


def test_half_the_channels_are_before_the_dateline():
    control = load("torus_8x8", virtual_channels=5).flow_control
    assert [list(control.channels_of(side, 5)) for side in range(3)] == [[0, 1, 2, 3, 4], [0, 1], [2, 3, 4]]
    small = load("torus_8x8", k=3, virtual_channels=5, dateline=False).flow_control
    assert [list(small.channels_of(side, 5)) for side in range(3)] == [[0, 1, 2, 3, 4]] * 3


@pytest.mark.parametrize(
    ("fields", "channels"),
    [({"virtual_channels": 1}, "channel 0"), ({"virtual_channels": 4, "dateline": False}, "channels 0 to 3")],
)
def test_a_ring_whose_channels_wait_for_each_other_is_named_hop_by_hop(fields, channels):
    with pytest.raises(InputError) as caught:
        load("torus_8x8", w=4, h=2, one_way=True, **fields)
    hops = ", ".join(f"node[0][{a}].router -> node[0][{(a + 1) % 4}].router on {channels}" for a in range(4))
    assert str(caught.value) == (
        "packets can wait for each other for ever, since each of these channels waits for the next and the last for the "
        f"first: {hops}; set virtual_channels to 2 or more and dateline to true, or torus to false"
    )


def test_a_column_may_be_the_ring_and_a_long_cycle_is_cut():
    with pytest.raises(
        InputError, match=r"first: node\[0\]\[0\].router -> node\[1\]\[0\].router .*, 4 more links; set"
    ):
        load("torus_8x8", w=1, h=12, virtual_channels=1)


@pytest.mark.parametrize("k", [2, 3])
def test_rings_on_which_no_way_has_two_hops_need_no_dateline(k):
    assert load("torus_8x8", k=k, virtual_channels=1).flow_control.ports[0].virtual_channels == 1


@pytest.mark.parametrize("one_way", [False, True])
def test_datelines_break_the_cycles_of_rings_of_any_length(one_way):
    for count in range(1, 20):
        assert load("torus_8x8", w=count, h=1, virtual_channels=2, one_way=one_way).flow_control


def test_a_cycle_is_found_among_ways():
    a, b, c = (("a", range(2)), ("b", range(2)), ("c", range(2)))
    assert find_cycle([[a, b], [b, c]]) is None
    assert find_cycle([[a, b], [b, c], [c, b]]) in ([b, c], [c, b])
    assert find_cycle([[a, b], [("b", range(2, 4)), a]]) is None
    with pytest.raises(InputError, match="on channels 0 to 1"):
        check_channels([[a, b], [b, a]], "do something")
