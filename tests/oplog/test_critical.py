"""The critical path: by hand, without gaps, complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest

from kernbench.engine import Session
from kernbench.machine import Intent, Machine, RouteKind, load_machine
from kernbench.oplog.causes import Times
from kernbench.oplog.critical import Piece, find_critical_path
from kernbench.oplog.log import build_log
from kernbench.program.ops import NONE, Op
from kernbench.program.program import Program, Waited
from kernbench.program.thread import Thread

NS = 10**6


class Rig:
    """A program on the tiny machine, and a PE of it."""

    def __init__(self, fields: Mapping[str, object] | None = None) -> None:
        self.machine: Machine = load_machine("tiny", fields)
        self.program = Program(self.machine)
        self.place = self.machine.places.pe(0, 0, 0)
        self.tag = self.program.tag("work", "math")

    def thread(self, name: str) -> Thread:
        return self.program.thread(f"{name}/kernel")

    def ns(self, count: int) -> int:
        return self.program.duration(("pe_cpu.cycle", count))

    def write(self, cube: int) -> int:
        target = self.machine.places.hbm(0, cube, 0)
        return self.machine.routing.route(self.place.dma, target, Intent.PE_DMA, RouteKind.WRITE)

    def run(self) -> tuple[Program, Times, np.ndarray]:
        session = Session(self.program)
        session.run()
        session.check_finished()
        times = Times(session.op_issue_fs, session.op_start_fs, session.op_end_fs)
        return self.program, times, session.station_busy_fs

    def path(self) -> list[Piece]:
        return find_critical_path(*self.run())


def told(path: list[Piece]) -> list[tuple[float, float, str, list[str]]]:
    return [(piece.start_fs / NS, piece.end_fs / NS, piece.part, list(piece.spent_fs)) for piece in path]


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_one_after_the_other(rig: Rig) -> None:
    thread, done = rig.thread("a"), rig.program.counter("done")
    thread.delay(rig.ns(3))
    for server, ns in ((rig.place.gemm_server, 10), (rig.place.math_server, 4)):
        thread.exec(server, rig.ns(ns), done, rig.tag)
        thread.wait(done, 1, take=1)
    assert told(rig.path()) == [
        (0, 3, "a", ["pe_cpu"]),
        (3, 13, "sip0.cube0.pe0.pe_gemm", ["gemm"]),
        (13, 17, "sip0.cube0.pe0.pe_math", ["math"]),
    ]


def test_a_noted_cause_goes_before_what_follows_from_times(rig: Rig) -> None:
    """A thread with a role, added after the run, began to work for another 2 ns after that did, and had seen it after 1 ns."""
    rig.thread("a").exec(rig.place.gemm_server, rig.ns(10), tag=rig.tag)
    session = Session(rig.program)
    session.run()
    events = session.events
    thread = rig.program.thread("cpu.b", "worker")
    for name, length in (("early", 4), ("late", 5)):
        thread.exec(rig.place.math_server, rig.ns(length), tag=rig.program.tag(name))
    idle = thread.delay(rig.ns(3), rig.program.tag("idle"))
    session.add_finished(np.array([[0, 0, 4], [7, 8, 13], [13, 13, 16]]) * NS)
    first, late, last = (thread.find_row(at) for at in (0, 1, idle))
    rig.program.causes[late] = Waited(0, 6 * NS, {"hand-over": NS, "worker: look": NS}, 0)
    rig.program.causes[last] = Waited(late, 12 * NS, {"worker: idle": 4 * NS}, late)
    times = Times(session.op_issue_fs, session.op_start_fs, session.op_end_fs)
    path = find_critical_path(rig.program, times, session.station_busy_fs)
    assert told(path) == [
        (0, 6, "sip0.cube0.pe0.pe_gemm", ["gemm"]),
        (6, 8, "cpu.b", ["hand-over", "worker: look"]),
        (8, 12, "cpu.b", ["worker: late"]),
        (12, 16, "cpu.b", ["worker: idle"]),
    ]
    assert [piece.row for piece in path] == [0, NONE, late, NONE]
    assert session.events == events
    log = build_log(rig.program, *times)
    assert log["component"].to_list() == ["cpu.b", "sip0.cube0.pe0.pe_gemm", "cpu.b", "cpu.b"]
    assert log["dependencies"].to_list() == [[], [], [1], [2]]
    assert times.end_fs[first] == 4 * NS


def test_of_what_runs_side_by_side_the_later_counts(rig: Rig) -> None:
    thread, done = rig.thread("a"), rig.program.counter("done")
    thread.exec(rig.place.gemm_server, rig.ns(10), done)
    thread.exec(rig.place.math_server, rig.ns(12), done)
    thread.wait(done, 2)
    assert told(rig.path()) == [(0, 12, "sip0.cube0.pe0.pe_math", ["math"])]


def test_who_queued_waited_for_those_before(rig: Rig) -> None:
    first, second, done = rig.thread("a"), rig.thread("b"), rig.program.counter("done")
    first.exec(rig.place.gemm_server, rig.ns(7))
    second.delay(rig.ns(2))
    second.exec(rig.place.gemm_server, rig.ns(10), done)
    second.wait(done, 1)
    path = rig.path()
    assert told(path) == [
        (0, 7, "sip0.cube0.pe0.pe_gemm", ["gemm"]),
        (7, 17, "sip0.cube0.pe0.pe_gemm", ["gemm"]),
    ]
    assert [piece.row for piece in path] == [0, 2]


def test_over_threads_and_times(rig: Rig) -> None:
    first, second, told_so = rig.thread("a"), rig.thread("b"), rig.program.counter("told")
    first.until(5 * NS)
    first.add(told_so)
    second.wait(told_so, 1)
    second.delay(rig.ns(2))
    assert told(rig.path()) == [(0, 5, "a", ["waiting for a time"]), (5, 7, "b", ["pe_cpu"])]


def test_classes_that_are_equally_slow_are_charged_together() -> None:
    """Eight channels of 32 GB/s pass as many bytes as a link of 256: more of one alone gains nothing."""
    for fields, kind in (({}, "hbm_ctrl channels and noc links"), ({"hbm.channel_gbs": 40}, "noc links"),
                         ({"hbm.channel_gbs": 30}, "hbm_ctrl channels"),
                         ({"hbm.channel_gbs": 32.1}, "hbm_ctrl channels and noc links")):  # fmt: skip
        rig = Rig(fields)
        thread, done = rig.thread("a"), rig.program.counter("done")
        thread.move(rig.write(0), 1 << 20, done=done, hold=rig.place.dma_write)
        thread.wait(done, 1)
        (piece,) = rig.path()
        assert max(piece.spent_fs, key=lambda name: piece.spent_fs[name]) == kind
        assert sum(piece.spent_fs.values()) == piece.end_fs - piece.start_fs


def test_a_transfer_is_split_by_what_it_passes(rig: Rig) -> None:
    thread, done = rig.thread("a"), rig.program.counter("done")
    lead = rig.program.duration(("pe_mmu.tlb", 1))
    thread.move(rig.write(1), 4096, done=done, hold=rig.place.dma_write, lead=lead)
    thread.wait(done, 1)
    (piece,) = rig.path()
    assert piece.part == "sip0.cube0.pe0.pe_dma.write"
    assert piece.spent_fs == {
        "pe_mmu": NS // 2,
        "overheads on the way": 16 * NS,
        "wires": 270_000,  # out and home
        "noc links": 4 * NS,
        "ucie links": (2 + 2 + 1 + 2 + 2 + 15 * 2) * NS,
        "hbm_ctrl channels": 8 * NS,
    }
    assert sum(piece.spent_fs.values()) == piece.end_fs - piece.start_fs


def test_what_links_are_shared_for_is_contention(rig: Rig) -> None:
    machine, done = rig.machine, rig.program.counter("done")
    for pe in (0, 1):
        place = machine.places.pe(0, 0, pe)
        route = machine.routing.route(place.dma, machine.places.hbm(0, 1, 0), Intent.PE_DMA, RouteKind.WRITE)
        rig.thread(f"pe{pe}").move(route, 8192, done=done)
    rig.thread("last").wait(done, 2)
    (piece,) = rig.path()
    assert piece.spent_fs["contention at ucie links"] > 10 * NS


def test_overheads_that_later_flits_do_not_feel_take_no_time() -> None:
    rig = Rig({"hbm.channel_gbs": 4})
    place, done = rig.place, rig.program.counter("done")
    route = rig.machine.routing.route(place.dma, rig.machine.places.hbm(0, 1, 0), Intent.PE_DMA, RouteKind.READ)
    thread = rig.thread("a")
    thread.move(route, 4096, done=done)
    thread.wait(done, 1)
    (piece,) = rig.path()
    assert "overheads on the way" not in piece.spent_fs  # 16 ns at the ports, while the memory is at work
    assert sum(piece.spent_fs.values()) == piece.end_fs


def test_an_arrival_does_not_wait_for_the_acknowledgement(rig: Rig) -> None:
    thread, arrived = rig.thread("a"), rig.program.counter("arrived")
    row = thread.move(rig.write(1), 4096, arrive=arrived)
    thread.wait(arrived, 1)
    thread.delay(rig.ns(20))
    ran = rig.run()
    first, _ = find_critical_path(*ran)
    tail = int(rig.machine.routing.tables().tail_fs[rig.write(1)])
    assert first.row == row
    assert first.end_fs == ran[1].end_fs[row] - tail
    assert first.spent_fs["wires"] == tail  # out, not home


def test_from_some_time_on_up_to_a_row(rig: Rig) -> None:
    thread, done = rig.thread("a"), rig.program.counter("done")
    thread.delay(rig.ns(4))
    thread.exec(rig.place.gemm_server, rig.ns(10), done)
    upto = thread.wait(done, 1)
    thread.delay(rig.ns(30))
    path = find_critical_path(*rig.run(), upto, 3 * NS)
    assert told(path) == [(3, 4, "a", ["pe_cpu"]), (4, 14, "sip0.cube0.pe0.pe_gemm", ["gemm"])]


def test_nothing_happened(rig: Rig) -> None:
    assert rig.path() == []


def test_stages_of_tiles_follow_each_other(rig: Rig) -> None:
    gemm, math = rig.place.gemm_server, rig.place.math_server
    rows = [[Op.EXEC, server, rig.ns(ns), NONE, 0, 0, 0, 0] for server, ns in ((gemm, 5), (math, 3)) * 3]
    plan = rig.program.plan(np.array(rows, np.int64), np.array([0, 2, 4, 6]), np.zeros(6, np.int32), {})
    thread, done = rig.thread("a"), rig.program.counter("done")
    thread.delay(rig.ns(1))
    thread.pipe(plan, done)
    thread.wait(done, 1)
    path = rig.path()
    spent: Counter[str] = Counter()
    for piece in path:
        spent.update(piece.spent_fs)
    assert spent == {"pe_cpu": NS, "gemm": 15 * NS, "math": 3 * NS}
    assert path[-1].end_fs == 19 * NS
