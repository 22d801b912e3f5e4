"""The visit order, the ports and the window, on small networks."""

import itertools

import numpy as np

from kernbench.engine.network import NetworkBuilder
from kernbench.program.ops import NONE, ROW_WIDTH, Op
from kernels_jit.layout.records import NEVER
from kernels_jit.loop.visit_order import look_ahead
from tests.engine.bare import BareMachine


def network_of(stations, routes, sizes=None, used=None):
    machine = BareMachine(stations, len(stations), [1])
    for route in routes:
        machine.route("message", route)
    used = range(len(routes)) if used is None else used
    rows = np.zeros((len(used), ROW_WIDTH), np.int64)
    rows[:, 0], rows[:, 1], rows[:, 2] = Op.MOVE, list(used), sizes or 256
    builder = NetworkBuilder(machine)
    assert builder.add_entries(rows, 0)
    network = builder.build()
    assert not builder.add_entries(rows, 0)
    return network


def rank_of(network):
    """Place of each station in the order of visits."""
    return np.argsort(network.order)


def test_a_station_comes_after_all_that_feed_it():
    network = network_of([(10, 1, 0, 1)] * 4, [[3, 1, 0], [2, 1, 0]])
    rank = rank_of(network)
    assert rank[3] < rank[1] < rank[0]
    assert rank[2] < rank[1]
    assert network.window_fs == NEVER


def test_a_ring_is_swept_in_windows_of_its_slowest_edge():
    """0 → 1 → 2 → 0: the edge out of station 1 takes 50 + 7; all faster edges form no cycle."""
    network = network_of([(10, 1, 0, 1), (50, 1, 0, 7), (20, 1, 0, 1)], [[0, 1], [1, 2], [2, 0]])
    assert network.window_fs == 57
    rank = rank_of(network)
    assert rank[2] < rank[0] < rank[1]


def test_the_smallest_flit_on_an_edge_sets_the_window():
    network = network_of([(10, 1, 0, 1)] * 2, [[0, 1], [1, 0]], sizes=256 + 64)
    assert network.window_fs == -(-64 * 10 // 256) + 1


def test_a_station_has_a_port_for_each_that_feeds_it_and_routes_not_used_have_none():
    network = network_of([(10, 1, 0, 1)] * 4, [[3, 1, 0], [2, 1], [0, 2]], used=[0, 1])
    assert np.diff(network.port_start).tolist() == [1, 2, 0, 0]
    assert network.step["port"].tolist() == [NONE, 2, 0, NONE, 1, NONE, NONE, NONE]


def test_stripes_enter_and_leave_by_ports_side_by_side():
    network = network_of([(10, 1, 0, 1)] * 6, [[0, (2, 4, 0, 0)], [(2, 4, 0, 0), 1]])
    assert np.diff(network.port_start).tolist() == [0, 4, 1, 1, 1, 1]
    write, read = network.step[1], network.step[3]
    fields = ["port", "ports_per_stripe"]
    assert write[fields].tolist() == (4, 1)
    assert read[fields].tolist() == (0, 0)


def test_a_step_before_which_messages_gather_needs_no_port():
    network = network_of([(10, 1, 0, 1)] * 2, [[0, (1, 1, 5, 1)]])
    assert network.port_start[-1] == 0
    rank = rank_of(network)
    assert rank[0] < rank[1]


def test_routes_that_come_one_by_one_make_the_network_that_they_make_together():
    stations = [(10, 1, 0, 1), (30, 1, 0, 2), (20, 1, 0, 3), (10, 1, 0, 1), (40, 1, 0, 9)]
    lists = [[0, 1, 2], [3, 1], [2, 4, 0], [4, 3], [1, 4]]
    together = network_of(stations, lists)
    machine = BareMachine(stations, len(stations), [1])
    builder = NetworkBuilder(machine)
    orders = []
    for number, route in enumerate(lists):
        machine.route("message", route)
        rows = np.zeros((1, ROW_WIDTH), np.int64)
        rows[0, :3] = Op.MOVE, number, 256
        assert builder.add_entries(rows, 0)
        network = builder.build()
        orders.append(network.order)
        rank, keys = rank_of(network), network.pairs
        against = rank[keys % 5] >= rank[keys // 5]
        latencies = np.array([s[0] + s[3] for s in stations])[keys % 5]
        assert latencies[against].min(initial=NEVER) >= network.window_fs
    assert network.step.tolist() == together.step.tolist()
    assert network.route.tolist() == together.route.tolist()
    assert network.pairs.tolist() == together.pairs.tolist()
    assert network.port_start.tolist() == together.port_start.tolist()
    assert network.window_fs == together.window_fs
    assert any(a is b for a, b in itertools.pairwise(orders))


def find_ahead(order, *rest):
    ahead = np.empty(len(order), np.int64)
    look_ahead(order, *rest, ahead)
    return ahead.tolist()


def test_stations_look_ahead_by_the_latency_of_the_shortest_way_from_where_routes_begin():
    """0 and 4 begin routes; 1 is fed by 0 in 11, 2 by 1 in 32 and by 4 in 49."""
    stations = [(10, 1, 0, 1), (30, 1, 0, 2), (20, 1, 0, 3), (10, 1, 0, 1), (40, 1, 0, 9)]
    network = network_of(stations, [[0, 1, 2, 3], [4, 2]])
    ways = network.order, network.before_start, network.before, network.latency_fs, network.sources
    assert network.sources.tolist() == [True, False, False, False, True]
    assert find_ahead(*ways, 1000) == [0, 11, 43, 66, 0]
    assert find_ahead(*ways, 50) == [0, 11, 43, 50, 0]


def test_a_station_fed_against_the_order_does_not_look_ahead():
    network = network_of([(10, 1, 0, 1), (50, 1, 0, 7), (20, 1, 0, 1), (10, 1, 0, 1)], [[3, 0, 1], [1, 2], [3, 2, 0]])
    assert network.window_fs == 57
    ways = network.order, network.before_start, network.before, network.latency_fs, network.sources
    assert find_ahead(*ways, 1000)[1:3] == [0, 0]
