"""Routers with finite buffers: batches that another simulator has run, conservation, throttling, packets that stand still."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benches.accuracy.routers import RECORDED, ROUTERS, flows_of, texts_of
from kernbench.engine import Session, progress
from kernbench.engine import session as session_module
from kernbench.errors import DeadlockError, LimitError, RunError
from kernbench.limits import memory_budget
from kernbench.machine import load_machine
from kernbench.machine.intents import Intent, RouteKind
from kernbench.machine.network.flow_control import Dateline
from kernbench.machine.network.flow_control_spec import MeshFlowControlSpec, build_mesh_flow_control
from kernbench.program.program import Program
from kernbench.traffic.curve import run_curve
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.injection_process import InjectionProcess
from kernbench.traffic.lower import Traffic
from kernbench.traffic.run import run_flows
from kernels_jit.layout import records
from tests.engine.difference import describe_difference, describe_waits, find_difference
from tests.engine.fresh import draw_seeds
from tests.engine.invariants import find_broken
from tests.engine.random_programs import draw_program
from tests.naive.engine import NaiveEngine

FLIT = 256
LOOK = 97  # events between two looks at the memory


def load(name: str = "mesh_8x8_credit", **fields):
    return load_machine(name, fields)


def run(machine, *texts: str):
    return run_flows(machine, parse_flows(texts), "flit")


@pytest.mark.parametrize(("batch", "router", "makespan", "total"), RECORDED)
def test_a_batch_ends_in_the_recorded_cycles(batch, router, makespan, total):
    """Each node makes a packet a cycle until its list is used up."""
    result = run(load(packet_flits=64, **ROUTERS[router]), *texts_of(batch))
    last: dict[tuple[int, int], int] = {}
    for (src, dst, _), end_fs in zip(flows_of(batch), result.end_fs.tolist(), strict=True):
        last[src, dst] = max(last.get((src, dst), 0), end_fs)
    assert result.makespan_ns == makespan
    assert sum(last.values()) == total * 10**6


TWO_ROUTING = {"routing_ns": 2, "virtual_channels": 1, "speculative": False}
TWO_CROSSING = {"traversal_ns": 2, "buffer_flits": 16, "speculative": False}
# Ends of flows, in cycles, of the same simulator on 4 x 4 nodes; all flits are there at 0.
RECORDED_FLOWS = [
    (TWO_ROUTING, ["4:6:2", "4:6:2", "13:5:2"], [21, 26, 22]),
    ({"allocator": "round_robin", "virtual_channels": 2}, ["7:5:2", "8:5:2", "8:5:2", "10:5:2"], [12, 16, 18, 15]),
    (TWO_CROSSING, ["0:3:4"], [26]),
    (TWO_CROSSING, ["0:3:4"] * 3, [26, 32, 37]),
]


@pytest.mark.parametrize(("fields", "flows", "ends"), RECORDED_FLOWS)
def test_flows_end_in_the_recorded_cycles(fields, flows, ends):
    texts = [f"{src}:{dst}:{int(flits) * FLIT}" for src, dst, flits in (flow.split(":") for flow in flows)]
    assert run(load(k=4, **fields), *texts).end_fs.tolist() == [end * 10**6 for end in ends]


@pytest.mark.parametrize(("start", "end"), [(3, 20), (4, 21), (5, 22), (6, 20)])
def test_a_head_waits_for_those_that_are_being_routed(start, end):
    """It comes to the router in the middle in cycle 8 and would be routed until 11; another comes 2 cycles after its start."""
    result = run(load(w=3, h=3, routing_ns=3), f"3:5:{FLIT}", f"4:1:{FLIT}@{start}")
    assert result.end_fs[0] == end * 10**6


@pytest.mark.parametrize(("start", "end"), [(2, 17), (3, 18), (4, 19), (5, 17)])
def test_a_flit_waits_for_those_in_the_crossbar(start, end):
    """In the middle it gets the switch in cycle 7, and another one 2 cycles after its start; both cross for 3 cycles."""
    result = run(load(w=3, h=3, traversal_ns=3), f"3:5:{FLIT}", f"4:1:{FLIT}@{start}")
    assert result.end_fs[0] == end * 10**6


@pytest.mark.parametrize("stage", ["vc_allocation_ns", "switch_allocation_ns"])
def test_an_allocator_of_several_cycles_decides_in_each(stage):
    """Otherwise flits would follow each other after 3 cycles, and a packet would wait for one that comes before it."""
    machine = load(w=3, h=3, speculative=False, packet_flits=32, buffer_flits=32, **{stage: 3})
    ends = [run(machine, f"3:5:{flits * FLIT}").makespan_ns for flits in (1, 32)]
    assert ends[1] - ends[0] == 31
    met = [run(machine, f"3:5:{FLIT}", f"4:1:{FLIT}@{start}").end_fs[0] for start in range(10)]
    assert met == [ends[0] * 10**6] * 10


@pytest.mark.slow
@pytest.mark.parametrize(("flits", "share", "latency"), [(1, 0.15, 27.4749), (1, 0.3, 29.3133), (20, 0.2, 70.7513)])
def test_uniform_traffic_takes_the_recorded_latency(flits, share, latency):
    """The mean of BookSim 2, whose packets are others, in cycles."""
    machine = load(packet_flits=64, **ROUTERS["eight channels"])
    (point,) = run_curve(machine, InjectionProcess("uniform", flits), [share]).points
    assert point.latency_ns == pytest.approx(latency, rel=0.01 if flits == 1 else 0.03)


@pytest.mark.slow
def test_saturated_uniform_traffic_is_accepted_at_the_recorded_rate():
    machine = load(packet_flits=64, **ROUTERS["eight channels"])
    (point,) = run_curve(machine, InjectionProcess("uniform", 1, window=1000), [1]).points
    assert point.accepted == pytest.approx(0.340651, rel=0.02)


@pytest.mark.parametrize("flits", [1, 5])
@pytest.mark.parametrize(("src", "dst", "hops"), [(0, 1, 1), (0, 63, 14), (20, 20, 0)])
@pytest.mark.parametrize(("speculative", "per_hop"), [(True, 3), (False, 4)])
def test_a_packet_alone_takes_its_pipeline(flits, src, dst, hops, speculative, per_hop):
    """Two cycles to the first router, then each router and its link; the other flits follow one a cycle."""
    result = run(load(speculative=speculative), f"{src}:{dst}:{flits * FLIT}")
    assert result.makespan_ns == 2 + (hops + 1) * per_hop + flits - 1


@pytest.mark.parametrize(("depth", "loop"), [(1, 6), (2, 6), (3, 6)])
def test_a_short_buffer_throttles_a_link_to_depth_over_loop(depth, loop):
    """A credit is back three cycles after the flit that it is for has left the buffer, which it reaches after three."""
    flits = 600
    fields = {"buffer_flits": depth, "virtual_channels": 1, "packet_flits": flits}
    result = run(load(**fields), f"0:3:{flits * FLIT}")
    assert result.makespan_ns == pytest.approx(flits * loop / depth, rel=0.03)


def test_deep_buffers_and_a_channel_for_each_packet_come_near_to_queues_without_limit():
    texts = [f"{node}:{(5 * node + 9) % 64}:4KiB@{node % 7}" for node in range(64)]
    deep = run(load(virtual_channels=32, buffer_flits=256, input_speedup=1), *texts)
    unbounded = run(load(flow_control="unbounded"), *texts)
    pipeline_fs = (deep.hops + 1) * 10**6  # of the routers, which those without credits do not have
    assert np.median((deep.latency_fs - pipeline_fs) / unbounded.latency_fs) == pytest.approx(1, abs=0.1)


def test_both_modes_do_the_same():
    """Every flit is served at every link, also of a long transfer that meets no other."""
    program = Traffic(
        load(), parse_flows([f"{node}:{63 - node}:3000@{node}" for node in range(8)] + ["9:10:64KiB"])
    ).program
    flit, hybrid = (Session(program, mode) for mode in ("flit", "hybrid"))
    for session in (flit, hybrid):
        session.run()
    assert flit.op_end_fs.tolist() == hybrid.op_end_fs.tolist()
    assert flit.speculation == hybrid.speculation
    assert flit.events == hybrid.events > flit.flit_hops > 3 * 256


@pytest.mark.slow
def test_no_credit_is_lost_and_no_buffer_is_over_its_depth():
    for seed in draw_seeds(0.012):
        program = draw_program("credit", seed)
        session = Session(program, "flit")
        for number, _ in enumerate(iter(session.step, False)):
            assert number % LOOK or find_broken(session) is None, f"program credit {seed}"
        assert find_broken(session) is None, f"program credit {seed}"
        difference = describe_difference(session, NaiveEngine(program).run())
        assert difference is None, f"program credit {seed}: {difference}"


def test_packets_that_stand_still_are_named():
    """On a ring with one virtual channel, which a topology may not have."""
    spec = MeshFlowControlSpec(flow_control="credit", virtual_channels=1, buffer_flits=2)
    machine = replace(load("torus_8x8", w=5, h=1), flow_control=build_mesh_flow_control(spec, Dateline.NONE))
    texts = [f"{node}:{(node + 2) % 5}:{20 * FLIT}" for node in range(5)]
    with pytest.raises(DeadlockError) as caught:
        run(machine, *texts)
    said = str(caught.value)
    assert said.startswith("no packet has moved since ")
    assert (
        "a packet of node[0][0]/flows holds 2 flits of channel 0 of node[0][0].router -> node[0][1].router "
        "and waits for a channel of node[0][1].router -> node[0][2].router"
    ) in said


def test_a_ring_with_a_dateline_does_not_stand_still():
    texts = [f"{node}:{(node + other) % 8}:{40 * FLIT}" for node in range(8) for other in range(1, 8)]
    result = run(load("torus_8x8_credit", h=1, virtual_channels=2, buffer_flits=1), *texts)
    assert (result.end_fs > 0).all()


@pytest.mark.parametrize(("dateline", "cycles"), [("packet", 569), ("cross", 869)])
def test_tornado_traffic_ends_in_the_recorded_cycle_where_a_packet_keeps_to_its_half_of_a_ring(dateline, cycles):
    """Five packets of 16 flits from each node of a torus whose links take two cycles: BookSim 2 takes 569 cycles."""
    pairs = [(8 * y + x, 8 * ((y + 3) % 8) + (x + 3) % 8) for y in range(8) for x in range(8)]
    machine = load("torus_8x8_credit", hop_ns=2, dateline=dateline)
    assert run(machine, *(f"{src}:{dst}:{16 * FLIT}" for src, dst in pairs for _ in range(5))).makespan_ns == cycles


def test_a_source_has_no_more_packets_under_way_than_its_limit():
    """Each packet is known to have arrived when its tail has, and the wires have been passed once more."""
    fields = {"outstanding_packets": 1, "packet_flits": 4}
    alone = run(load(**fields), f"0:3:{4 * FLIT}").makespan_ns
    assert alone == 2 + 4 * 3 + 3
    wires = 1 + 3 + 1
    assert run(load(**fields), f"0:3:{8 * FLIT}").makespan_ns == 2 * alone + wires


@pytest.mark.parametrize("limit", [2, 3, 5])
def test_packets_to_near_nodes_are_known_to_have_arrived_before_those_sent_sooner_to_far_ones(limit):
    machine = load(w=6, h=1, hop_ns=20, outstanding_packets=limit, packet_flits=2)
    ends = [5, 1, 4, 1, 2, 5, 3, 1, 1, 5, 2, 1] * 3
    program = Traffic(machine, parse_flows([f"0:{end}:{FLIT * (1 + at % 4)}" for at, end in enumerate(ends)])).program
    assert find_difference(program) is None


def test_sources_send_in_the_order_of_starts():
    """The second row is issued later and starts sooner."""
    result = run(load(), "0:1:1KiB@50", "0:2:1KiB@10", "0:3:1KiB@30")
    assert result.end_fs[1] < result.end_fs[2] < result.end_fs[0]


def test_buffers_that_memory_cannot_hold_are_refused(monkeypatch):
    monkeypatch.setattr(memory_budget, "find_free_bytes", lambda: 30_000_000)
    says = (
        "^the buffers of 8 links with up to 64 virtual channels of 16,384 flits would take .*; make virtual_channels, "
    )
    with pytest.raises(LimitError, match=says):
        run(load(virtual_channels=64, buffer_flits=16_384), "0:1:1KiB")


def test_buffers_beyond_what_half_a_word_can_name_are_refused(monkeypatch):
    monkeypatch.setattr(records, "PLACES_MOST", 1 << 20)
    with pytest.raises(
        LimitError, match=r"^the routers and buffers of this machine take more than 8 MiB, .*; make virtual_"
    ):
        run(load(virtual_channels=64, buffer_flits=4_096), "0:1:1KiB")


def test_links_beyond_what_ways_can_name_are_refused(monkeypatch):
    monkeypatch.setattr(records, "LINKS_MOST", 100)
    says = "^this machine has 352 links, and a network with credits can have 100; make it smaller$"
    with pytest.raises(LimitError, match=says):
        run(load(), "0:1:1KiB")


def test_sets_of_virtual_channels_beyond_what_ways_can_name_are_refused(monkeypatch):
    monkeypatch.setattr(records, "SETS_MOST", 2)
    says = (
        "^packets of this machine may take more than 1 different sets .*; give more classes of ports the same virtual_c"
    )
    with pytest.raises(LimitError, match=says):
        run(load(torus=True), "0:1:1KiB", "0:3:1KiB")


def test_ways_of_routes_that_come_later_stand_beside_those_that_are_known():
    """Two ways stand in a word, and the first route has three. No other test has these machines with their routes."""
    found = []
    for hop_ns, at_once in ((7, True), (9, False)):
        machine = load(hop_ns=hop_ns)
        source, *others = (machine.places.endpoint(0, column) for column in range(5))
        program = Program(machine)
        session = Session(program, "flit")
        for other in others:
            program.thread("source").move(machine.routing.route(source, other, Intent.ALL, RouteKind.MESSAGE), FLIT)
            if not at_once:
                session.lay()
        memory, _ = session.lay()
        steps = int(machine.routing.tables().start[-1])
        found.append(memory.words[memory["hop_codes"] :].view(np.uint32)[:steps].tolist())
        assert steps == 3 + 4 + 5 + 6
    assert found[0] == found[1]
    assert 0 not in found[0]


def test_a_transfer_that_a_node_stores_does_not_take_along_those_that_stand_behind_it():
    """Its first way is one link: with its last flit it leaves the queue before that link, and comes to the next queue."""
    machine = load("tiny", flow_control="credit", **{"pcie_ep.store_and_forward": True})
    switch, pe = machine.node_id["switch"], machine.places.pe(0, 0, 1).dma
    route, program = machine.routing.route(switch, pe, Intent.ALL, RouteKind.MESSAGE), Program(machine)
    for number, flits in enumerate((2, 1, 1)):
        program.thread(f"{number}").move(route, flits * FLIT)
    assert find_difference(program) is None
    session, naive = Session(program, "flit", count_waits=True), NaiveEngine(program).run()
    session.run()
    assert describe_waits(session, naive) is None


def test_wires_of_more_cycles_than_half_a_word_holds_have_their_times():
    """A second is four thousand million cycles."""
    near, far = (load(hop_ns=hop_ns, link_gbs=1024) for hop_ns in (1e8, 1e9))
    assert 1e15 // far.cycle_fs > np.iinfo(np.int32).max
    later_ns = run(far, "0:1:512").makespan_ns - run(near, "0:1:512").makespan_ns
    assert later_ns == 9e8


def test_the_loop_comes_back_while_flits_wait_for_credits_of_a_second(monkeypatch):
    """For a thousand million cycles, in which nothing moves."""
    monkeypatch.setattr(session_module, "WORK_A_CALL", 1000)
    monkeypatch.setattr(progress, "_EVERY_S", 0)
    served = []

    def stop_when_nothing_moves(count, *_):
        served.append(count)
        if served[-10:] == [count] * 10:
            raise KeyboardInterrupt

    machine = load(credit_ns=1e9)
    program, places = Program(machine), machine.places
    route = machine.routing.route(places.endpoint(0, 0), places.endpoint(0, 1), Intent.ALL, RouteKind.MESSAGE)
    program.thread("t").move(route, 64 * FLIT)
    with pytest.raises(KeyboardInterrupt):
        Session(program, "flit").run(on_progress=stop_when_nothing_moves)
    assert served[-1] < 3 * 64


def test_a_run_beyond_the_clock_is_refused():
    machine = load()
    ends = machine.places.endpoint(0, 0), machine.places.endpoint(0, 1)
    program = Program(machine)
    thread = program.thread("late")
    thread.delay(program.duration(("ns", 4_611_686_018_420.0)))  # 7 ns before it
    thread.move(machine.routing.route(*ends, Intent.ALL, RouteKind.MESSAGE), 100 * FLIT)
    with pytest.raises(RunError, match="the run goes beyond"):
        Session(program, "flit").run()


def test_a_run_that_begins_late_is_not_taken_for_one_that_stands_still():
    assert run(load(), "0:1:1KiB@900000").makespan_ns == 900000 + 2 + 2 * 3 + 3
