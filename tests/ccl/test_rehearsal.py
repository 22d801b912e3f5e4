"""Rehearsals: times of small kernels by hand, one rank for all, a few batches for many, and what cannot be rehearsed."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest

from kernbench.ccl.module import Algorithm, load_algorithm
from kernbench.ccl.plan import Plan
from kernbench.ccl.rehearsal import Actor, Outcome, Rehearsals
from kernbench.ccl.time_model import TimeModel
from kernbench.ccl.topology import SIP_TOPO_MESH, SIP_TOPO_RING, SIP_TOPO_TORUS
from kernbench.ccl.wiring import World, grid_neighbours
from kernbench.errors import LimitError
from kernbench.limits.time_limit import limit_time
from kernbench.machine import load_machine

pytest.importorskip("greenlet")

PAIR = World(1, SIP_TOPO_RING, 1, 1, 2, 1)  # two cubes of one SIP
PLAN = Plan(chunk=2048)  # pieces of 4 KiB


def model(world: World, neighbours: Any = grid_neighbours, cubes: int = 0, **fields: object) -> TimeModel:
    fields = {"sips.count": world.ranks, "sip.cubes.w": cubes or world.cube_w, "sip.cubes.h": world.cube_h, **fields}
    machine = load_machine("sip_2x4x4", fields)
    about = range(cubes or world.cubes), range(1), "tcm", "f16", 16
    return TimeModel(machine, neighbours, world, tuple(range(world.ranks)), *about)  # pyright: ignore[reportArgumentType]


def own(kernel: Callable[..., Any], collective: str = "all_reduce") -> Algorithm:
    """An algorithm of a test's own on the grid; its kernel gets `tl` alone."""

    def whole(*arguments: Any, tl: Any) -> Any:
        return kernel(tl)

    return Algorithm(
        *("own", __file__, collective, whole, {}, grid_neighbours), False, None, lambda *_, **__: (), takes_plan=False
    )  # pyright: ignore[reportArgumentType]


def rehearse(kernel: Callable[..., Any], world: World = PAIR, elements: int = 2048) -> Outcome | None:
    return Rehearsals(own(kernel), model(world), world).estimate(elements, PLAN)


def shipped(name: str, world: World, elements: int, plan: Plan = PLAN, **fields: object) -> Rehearsals:
    algorithm = load_algorithm(name)
    return Rehearsals(algorithm, model(world, algorithm.neighbours, **fields), world)


# By hand


def flight(nbytes: int = 4096) -> float:
    """From the call that sends a piece to the next cube, to the end of a receive that waits for it."""
    one = model(PAIR)
    link = one.shared(0, 0, "E", frozenset({(0, 0)}))
    return one.flight_ns(link, nbytes) + one.piece(nbytes).take - one.piece(nbytes).call


def test_a_message_is_a_flight_and_a_read() -> None:
    def kernel(tl: Any) -> None:
        if tl.program_id(1) == 0:
            tl.send("E", tl.zeros(2048))
        else:
            tl.recv("W", 2048)

    found = rehearse(kernel)
    assert found is not None
    assert found.ns == pytest.approx(flight())
    assert found.largest == 4096


def test_loads_sums_and_stores_follow_one_another() -> None:
    def kernel(tl: Any) -> None:
        total = tl.add(tl.load(0, 2048), tl.load(0, (32, 64)))
        tl.store(0, total)
        tl.release(total)

    piece, found = model(PAIR).piece(4096), rehearse(kernel)
    assert found is not None
    assert found.ns == pytest.approx(2 * piece.load + piece.combine + piece.store)


def test_messages_hold_the_write_channel_one_after_the_other() -> None:
    def kernel(tl: Any) -> None:
        if tl.program_id(1) == 0:
            for _ in range(3):
                tl.send("E", tl.zeros(2048))
        else:
            for _ in range(3):
                tl.recv("W", 2048)

    one = model(PAIR)
    gap = one.gap_ns(one.shared(0, 0, "E", frozenset({(0, 0)})), 4096)
    found = rehearse(kernel)
    assert found is not None
    assert found.ns == pytest.approx(flight() + 2 * gap)


def test_a_store_goes_before_the_message_that_is_still_in_the_queue() -> None:
    """The queue takes 9 ns and the way of a store to the DMA less, so the message waits for the store."""

    def kernel(tl: Any) -> None:
        if tl.program_id(1) == 0:
            tl.send("E", tl.zeros(2048))
            tl.store(0, tl.zeros(2048))
        else:
            tl.recv("W", 2048)

    piece, found = model(PAIR).piece(4096), rehearse(kernel)
    assert found is not None
    assert found.ns == pytest.approx(flight() + piece.call + piece.store - piece.call - piece.leave)


APART = World(2, SIP_TOPO_RING, 2, 1, 1, 1)


@pytest.mark.parametrize(("loads", "waits"), [(3000, 1), (0, 3)])
def test_those_who_share_a_link_wait_for_one_another_once_or_all_the_time(loads: int, waits: int) -> None:
    """Sixteen cubes send over one endpoint at once. Afterwards they are one behind the other, unless it is too slow."""

    def kernel(tl: Any) -> None:
        for _ in range(3):
            for _ in range(loads):
                tl.load(0, 16)
            tl.send("global_E", tl.zeros(2048))
            if loads:
                tl.recv("global_W", 2048)
        for _ in range(0 if loads else 3):
            tl.recv("global_W", 2048)

    def took(cubes: int) -> float:
        shared = model(APART, cubes=cubes, **{"pcie_ep.gbs": 32.0})
        found = Rehearsals(own(kernel), shared, APART).estimate(2048, PLAN)
        assert found is not None
        return found.ns

    alone, together, byte_ns = took(1), took(16), 1 / 32
    if loads:
        assert together - alone == pytest.approx(4096 * 15 * byte_ns, rel=0.02)  # and other cubes are farther away
    else:
        assert together > waits * 4096 * 16 * byte_ns
        assert together < alone + waits * 4096 * 15 * byte_ns


def test_a_send_waits_for_a_slot() -> None:
    def kernel(tl: Any) -> None:
        if tl.program_id(1) == 0:
            for _ in range(PLAN.window + 1):
                tl.send("E", tl.zeros(16))
        else:
            for _ in range(100):
                tl.load(0, 16)
            for _ in range(PLAN.window + 1):
                tl.recv("W", 16)

    one, found = model(PAIR), rehearse(kernel)
    piece = one.piece(32)
    credit = one.credit_ns(one.shared(0, 0, "E", frozenset({(0, 0)})))
    assert found is not None
    assert found.ns == pytest.approx(100 * piece.load + piece.take + credit + flight(32) - piece.call)


# What stands for all


WORLDS = [
    ("ring_allreduce", World(8, SIP_TOPO_TORUS, 2, 4, 2, 1)),
    ("ring_2d_allreduce", World(6, SIP_TOPO_TORUS, 3, 2, 2, 2)),
    ("rhd_allreduce", World(4, SIP_TOPO_RING, 4, 1, 2, 1)),
    ("lrab_hierarchical_allreduce", World(5, SIP_TOPO_RING, 5, 1, 3, 1)),
    ("ring_all_gather", World(5, SIP_TOPO_RING, 5, 1, 1, 1)),
    ("direct_all_to_all", World(5, SIP_TOPO_RING, 5, 1, 1, 1)),
]


@pytest.mark.parametrize(("name", "world"), WORLDS)
def test_one_rank_stands_for_all_where_all_do_the_same(name: str, world: World) -> None:
    rehearsals = shipped(name, world, 9600)
    assert rehearsals.alike
    alone, every = (rehearsals.extrapolate(9600, PLAN, alone=alone) for alone in (True, False))
    assert alone.ns == pytest.approx(every.ns, rel=0.02)
    assert rehearsals.estimate(9600, PLAN) == alone


@pytest.mark.parametrize(
    ("name", "world"),
    [
        ("tree_allreduce", World(4, SIP_TOPO_RING, 4, 1, 1, 1)),
        ("rhd_allreduce", World(3, SIP_TOPO_RING, 3, 1, 1, 1)),
        ("lrab_hierarchical_allreduce", World(3, SIP_TOPO_MESH, 3, 1, 1, 1)),
        ("ring_broadcast", World(3, SIP_TOPO_RING, 3, 1, 1, 1)),
    ],
)
def test_all_ranks_are_rehearsed_where_they_differ(name: str, world: World) -> None:
    rehearsals = shipped(name, world, 9600)
    assert not rehearsals.alike
    assert rehearsals.estimate(9600, Plan(chunk=2048, root=0)) is not None


def test_a_rank_that_does_what_the_others_do_not_is_found() -> None:
    """The wiring of a ring is the same for all, and what rank 0 sends nobody would take if all were as it is."""

    def kernel(tl: Any) -> None:
        if tl.seat[0] == 0:
            tl.send("global_E", tl.zeros(2048))
        elif tl.seat[0] == 1:
            tl.recv("global_W", 2048)

    world = World(3, SIP_TOPO_RING, 3, 1, 1, 1)
    found, one = rehearse(kernel, world), model(world)
    link = one.shared(0, 0, "global_E", frozenset({(0, 0)}))
    piece = one.piece(4096)
    assert found is not None
    assert found.ns == pytest.approx(one.flight_ns(link, 4096) + piece.take - piece.call)


@pytest.mark.parametrize(
    "name", ["ring_allreduce", "ring_2d_allreduce", "tree_allreduce", "lrab_hierarchical_allreduce"]
)
def test_a_few_batches_stand_for_many(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world, plan = World(3, SIP_TOPO_RING, 3, 1, 2, 1), Plan(chunk=2048, keeps=16 << 10)
    rehearsals = shipped(name, world, 0)
    few = rehearsals.estimate(500_000, plan)
    monkeypatch.setattr("kernbench.ccl.rehearsal.WHOLE_PERIODS", 1000)
    every = rehearsals.estimate(500_000, plan)
    assert few is not None
    assert every is not None
    assert few.ns == pytest.approx(every.ns, rel=0.01)


# What cannot be rehearsed


def test_a_kernel_that_waits_for_ever_has_no_estimate() -> None:
    assert rehearse(lambda tl: tl.recv("E" if tl.program_id(1) == 0 else "W", 16)) is None


def test_a_call_that_a_rehearsal_does_not_know_has_no_estimate() -> None:
    assert rehearse(lambda tl: tl.dot(1, 2)) is None


def test_a_kernel_that_ends_the_process_has_no_estimate() -> None:
    assert rehearse(lambda tl: sys.exit(f"from {tl}")) is None


def test_a_kernel_that_never_ends_is_ended() -> None:
    def kernel(tl: Any) -> None:
        while True:
            tl.load(0, 16)

    with pytest.raises(LimitError, match=r"0\.3 s"), limit_time(0.3, lambda: "a rehearsal"):
        rehearse(kernel)


def test_a_rehearsal_leaves_nothing_for_the_garbage_collector() -> None:
    rehearse(lambda tl: tl.load(0, 16))
    gc.collect()
    gc.disable()
    try:
        rehearse(lambda tl: tl.load(0, 16))
        found = [one for one in gc.get_objects() if type(one) is Actor]  # isinstance would ask dead weak proxies
    finally:
        gc.enable()
    assert not found


def test_a_direction_without_a_neighbour_has_no_estimate() -> None:
    assert rehearse(lambda tl: tl.send("N", tl.zeros(16))) is None
    assert rehearse(lambda tl: tl.recv("global_E", 16)) is None


def test_ends_that_differ_have_no_estimate() -> None:
    def kernel(tl: Any) -> None:
        if tl.program_id(1) == 0:
            tl.send("E", tl.zeros(16))
        else:
            tl.recv("W", 17)

    assert rehearse(kernel) is None
