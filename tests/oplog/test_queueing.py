"""Queueing and service times of operations."""

from __future__ import annotations

from kernbench.engine import Session
from kernbench.machine import Intent, RouteKind, load_machine
from kernbench.oplog.causes import Times
from kernbench.oplog.queueing import Queueing, find_queueing
from kernbench.program.program import Program

NS = 10**6


def run(program: Program) -> Times:
    session = Session(program)
    session.run()
    return Times(session.op_issue_fs, session.op_start_fs, session.op_end_fs)


def test_jobs_queue_for_their_engine() -> None:
    machine = load_machine("tiny")
    program, gemm = Program(machine), machine.places.pe(0, 0, 0).gemm_server
    thread, work = program.thread("a"), program.tag("gemm", "gemm")
    for ns in (10, 4, 1):
        thread.exec(gemm, program.duration(("ns", ns)), tag=work)
    thread.exec(machine.places.pe(0, 0, 0).math_server, program.duration(("ns", 20)))  # without a tag: bookkeeping
    thread.exec(machine.places.pe(0, 0, 0).tcm_read, program.duration(("ns", 2)), tag=program.tag("fetch", "memory"))
    times = run(program)
    assert find_queueing(program, times) == [
        Queueing("gemm", 3, 24 * NS, 0, 15 * NS, 14 * NS),
        Queueing("fetch", 1, 0, 0, 2 * NS, 0),
    ]
    assert find_queueing(program, times, since_fs=1) == []


def test_transfers_queue_for_a_channel_and_contend_in_flight() -> None:
    machine = load_machine("tiny")
    program, write = Program(machine), 0
    for pe in (0, 0, 1):
        place = machine.places.pe(0, 0, pe)
        write = machine.routing.route(place.dma, machine.places.hbm(0, 1, 0), Intent.PE_DMA, RouteKind.WRITE)
        program.thread(f"pe{pe}").move(write, 8192, hold=place.dma_write, tag=program.tag("dma_write", "memory"))
    times = run(program)
    (found,) = find_queueing(program, times)
    assert (found.name, found.count) == ("dma_write", 3)
    assert found.queued_fs == found.longest_queue_fs == times.start_fs[1]
    took = (times.end_fs - times.start_fs).sum()
    assert found.contention_fs > 0
    assert found.served_fs + found.contention_fs == took
