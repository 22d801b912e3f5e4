"""Machines with memories and finite buffers, in simulated time: `sip_2x4x4_credit` and `tiny` with credits."""

from __future__ import annotations

import pytest

import kernbench
from kernbench.engine.memory import Memory, aligned_zeros
from kernbench.machine import load_machine
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.run import run_flows
from tests.golden import SIZES

NAME = "sip_2x4x4_credit"
ONE_CUBE = {"sips.count": 1, "sip.cubes.w": 1, "sip.cubes.h": 1}


def latencies(machine, *flows):
    """The latency of each flow in ns."""
    return run_flows(machine, parse_flows(list(flows))).table()["latency_ns"].to_list()


def test_a_transfer_alone_takes_the_pipeline_of_each_router_and_the_flits_behind_the_first():
    """4 flits over one router to a channel each: cycles of 0.5 ns, to which times are rounded up where flits are seen."""
    [alone] = latencies(load_machine(NAME, ONE_CUBE), "sip0.cube0.pe0:sip0.cube0.pe0:1KiB")
    commands, router, memory, home = 3.5, 1.5, 2.0, 0.01  # a flit is seen after 1.005 ns, then after 1.505 ns
    assert alone == pytest.approx(commands + router + memory + 3 + 8 + home)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_loop_of_credits_that_is_longer_than_the_buffer_throttles_a_link_to_depth_over_loop(depth):
    """A flit is seen in the next buffer after 4 cycles of 0.5 ns, and its credit is back after 3 more."""
    fields = {"noc_port.buffer_flits": depth, "memory_port.buffer_flits": depth, "packet_flits": 512}
    machine = load_machine(NAME, {**ONE_CUBE, **fields})
    short, long = (latencies(machine, f"sip0.cube0.pe0:sip0.cube0.pe7:{kib}KiB")[0] for kib in (16, 32))
    assert (long - short) / 64 == pytest.approx(max(1, 3.5 / depth), rel=0.05)


def test_a_hot_slice_backs_up_into_the_mesh():
    """A write to another slice of the cube waits behind those that wait for the hot one; with deep ports less."""
    hot = [f"sip0.cube0.pe{pe}:sip0.cube0.pe0:64KiB" for pe in range(1, 8)]
    other = "sip0.cube0.pe6:sip0.cube0.pe1:4KiB@500"
    machine = load_machine(NAME, {**ONE_CUBE, "memory_port.queue_flits": 1})
    deep = load_machine(NAME, {**ONE_CUBE, "noc_port.buffer_flits": 512, "memory_port.buffer_flits": 512})
    alone, saturated, relieved = (
        latencies(machine, other)[-1],
        latencies(machine, *hot, other)[-1],
        latencies(deep, *hot, other)[-1],
    )
    assert saturated > 2 * alone
    assert relieved < saturated


def test_a_small_read_does_not_wait_for_large_ones():
    large = [f"sip0.cube0.pe{pe}:sip0.cube0.pe0:64KiB:read" for pe in range(1, 5)]
    small = "sip0.cube0.pe5:sip0.cube0.pe0:1000:read@50"
    machine = load_machine(NAME, ONE_CUBE)
    assert latencies(machine, *large, small)[-1] < 0.15 * max(latencies(machine, *large))


def test_few_replies_slow_reads_alone():
    read, write = "sip0.cube0.pe0:sip0.cube0.pe0:64KiB:read", "sip0.cube0.pe0:sip0.cube0.pe0:64KiB"
    machine, few = load_machine(NAME, ONE_CUBE), load_machine(NAME, {**ONE_CUBE, "memory_port.reply_packets": 1})
    assert latencies(few, read)[0] > 1.5 * latencies(machine, read)[0]
    assert latencies(few, write) == latencies(machine, write)


@pytest.mark.slow
@pytest.mark.parametrize("bench", ["matmul-composite", "ccl-allreduce", "transformer-block"])
def test_benches_give_their_numbers_and_both_modes_the_same_times(bench):
    sizes = SIZES[bench]
    runs = [kernbench.run(bench, NAME, parameters=sizes, mode=mode, verify=True) for mode in ("flit", "hybrid")]
    assert all(run.verified for run in runs)
    assert runs[0].latency_ns == runs[1].latency_ns
    assert runs[0].latency_ns > kernbench.run(bench, "sip_2x4x4", parameters=sizes).latency_ns


@pytest.mark.slow
def test_bounds_stay_bounds():
    for bench in ("matmul-composite", "ccl-allreduce", "pe-to-pe"):
        bound = kernbench.run(bench, topology=NAME, mode="analytic")
        assert bound.latency_ns <= kernbench.run(bench, topology=NAME).latency_ns


@pytest.mark.parametrize(
    ("name", "fields", "places", "target"),
    [
        ("mesh_8x8_credit", {"k": 3, "routing_ns": 3, "outstanding_packets": 2}, list(map(str, range(8))), "8"),
        ("tiny", {"flow_control": "credit"}, ["sip0.cube0.pe0", "sip0.cube0.pe1"], "sip0.cube1.pe0"),
    ],
)
def test_the_memory_of_the_loop_may_move_whenever_something_is_taken_from_it(name, fields, places, target, monkeypatch):
    """A view of its words that is kept while more is taken would write to the words before."""
    machine, take = load_machine(name, fields), Memory.take
    flows = [f"{place}:{target}:2KiB" for place in places]
    still = latencies(machine, *flows)

    def move_and_take(memory: Memory, words: int, align: int = 1) -> int:
        moved = aligned_zeros(len(memory.words))
        moved[:] = memory.words
        memory.words[:] = 1 << 62
        memory.words = moved
        return take(memory, words, align)

    monkeypatch.setattr(Memory, "take", move_and_take)
    assert latencies(machine, *flows) == still
