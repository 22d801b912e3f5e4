"""Utilisation and the bottleneck."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernbench.engine import Session
from kernbench.machine import load_machine
from kernbench.machine.intents import Intent, RouteKind
from kernbench.oplog.utilisation import Bottleneck, BusyParts, Parts, find_bottlenecks, list_parts
from kernbench.program.program import Program

PARTS = Parts(("a", "b", "c"), ("x", "x", "y"), np.array([1, 2, 1]))


def test_the_busiest_part_names_its_class() -> None:
    busy_fs, span_fs = np.array([[30, 100, 40], [50, 100, 50]]), np.array([100, 100])
    found = find_bottlenecks(PARTS, np.arange(3), busy_fs, span_fs)
    assert found == [Bottleneck("x", "b", 0.5), Bottleneck("x and y", "a", 0.5)]


def test_classes_that_are_as_busy_are_named_too() -> None:
    """Within 2 %, in the order of their names; the part and its share are those of the busiest."""
    parts = PARTS._replace(kind=("z", "x", "y"), slots=np.array([1, 1, 1]))
    for most, kind in ((100, "y and z"), (101, "z")):
        found = find_bottlenecks(parts, np.arange(3), np.array([[most, 20, 98]]), np.array([200]))
        assert found == [Bottleneck(kind, "a", most / 200)]


def test_a_channel_that_waits_for_the_work_of_others_is_no_bottleneck() -> None:
    """A DMA channel is taken from the request to the last byte, however little the links and memories have to do."""
    parts = PARTS._replace(kind=("dma_read", "dma_read", "y"))
    found = find_bottlenecks(parts, np.arange(3), np.array([[100, 200, 40]]), np.array([100]))
    assert found == [Bottleneck("y", "c", 0.4)]
    assert find_bottlenecks(parts, np.arange(2), np.array([[100, 200]]), np.array([100])) == [None]


def test_only_some_parts_are_busy() -> None:
    found = find_bottlenecks(PARTS, np.array([0, 2]), np.array([[30, 40]]), np.array([100]))
    assert found == [Bottleneck("y", "c", 0.4)]


def test_nothing_busy_and_no_time() -> None:
    busy_fs, span_fs = np.array([[0, 0, 0], [1, 1, 1]]), np.array([100, 0])
    assert find_bottlenecks(PARTS, np.arange(3), busy_fs, span_fs) == [None, None]


def test_every_part_of_a_machine_has_a_class() -> None:
    machine = load_machine("tiny")
    parts = list_parts(machine)
    assert (
        len(parts.name) == len(parts.kind) == len(parts.slots) == len(machine.server_name) + len(machine.station_name)
    )
    kind = dict(zip(parts.name, parts.kind, strict=True))
    assert kind["sip0.cube0.pe0.pe_gemm"] == "gemm"
    assert kind["sip0.cube0.r0c0 -> sip0.cube0.r0c1"] == "noc links"
    assert kind["sip0.cube1.hbm_ctrl.pe1.ch7"] == "hbm_ctrl channels"
    assert kind["sip0.cube0.sram.ch0"] == "sram channels"


MOVE = st.tuples(st.booleans(), st.integers(1, 5000), st.integers(0, 7), st.integers(0, 1))


@given(st.lists(MOVE, min_size=1, max_size=8))
def test_of_all_rows_it_is_what_the_run_counted(moves: list[tuple[bool, int, int, int]]) -> None:
    machine = load_machine("tiny")
    program = Program(machine)
    thread, place = program.thread("t"), machine.places.pe(0, 0, 0)
    for read, nbytes, stripe, cube in moves:
        kind = RouteKind.READ if read else RouteKind.WRITE
        route = machine.routing.route(place.dma, machine.places.hbm(0, cube, 1), Intent.PE_DMA, kind)
        thread.move(route, nbytes, stripe=stripe, hold=place.dma_read if read else place.dma_write)
    thread.exec(place.gemm_server, program.duration(("ns", 3)))
    session = Session(program)
    session.run()
    busy = BusyParts(program, np.ones(program.row_count, bool))
    fs_per_flit = machine.stations.fs_per_flit[busy.station]
    found, ended = busy.fs(session.op_times[None], fs_per_flit[None])
    assert ended.tolist() == [True]
    counted = np.concatenate([session.server_busy_fs, session.station_busy_fs])
    assert busy.part.tolist() == np.flatnonzero(counted).tolist()
    assert found[0].tolist() == counted[busy.part].tolist()
