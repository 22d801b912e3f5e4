"""Endpoints that issue under limits: known times, and the rule on random flows."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.engine import Session
from kernbench.machine import load_machine
from kernbench.program.ops import NONE, Op
from kernbench.program.program import Program
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.injection_process import InjectionProcess
from kernbench.traffic.issue import limit_issue
from kernbench.traffic.load_point import measure_load
from kernbench.traffic.lower import Traffic
from kernbench.traffic.run import run_flows
from tests.traffic.test_run import end_ns, random_flows

FLIT = "0:1:256"  # takes 6 ns, and its acknowledgement 3 ns
modes = pytest.mark.parametrize("mode", ["hybrid", "flit"])


@modes
def test_transfers_of_an_endpoint_begin_an_interval_apart(mode: str) -> None:
    """They begin at 0, 10 and 25 ns: the third is asked for later than the interval. Node 2 has its own."""
    flows = (FLIT, f"{FLIT}@3", "node[0][0]:8:256@25", "2:3:256@3")
    assert end_ns("mesh_8x8", *flows, mode=mode, issue_ns=10) == [6, 16, 31, 9]


def test_an_interval_that_is_shorter_than_a_transfer_changes_nothing_but_starts() -> None:
    assert end_ns("mesh_8x8", FLIT, "0:8:256", issue_ns=1) == end_ns("mesh_8x8", FLIT, "0:8:256") == [6, 7]
    assert end_ns("mesh_8x8", FLIT, "0:8:256", issue_ns=1.5) == [6, 7.5]


@modes
def test_the_next_waits_until_one_is_complete(mode: str) -> None:
    assert end_ns("mesh_8x8", *[FLIT] * 3, mode=mode, outstanding=1) == [6, 12, 18]
    assert end_ns("mesh_8x8", *[FLIT] * 3, mode=mode, outstanding=1, acknowledged=True) == [9, 18, 27]
    assert end_ns("mesh_8x8", *[FLIT] * 3, mode=mode, outstanding=3) == [6, 7, 8]


@modes
def test_with_two_in_flight_the_third_begins_with_the_first_completion(mode: str) -> None:
    """The second, whose flit follows four others, ends at 10 ns, after the first, which ends at 9."""
    flows = ("0:1:1KiB", "0:8:256", FLIT)
    assert end_ns("mesh_8x8", *flows, mode=mode, outstanding=2) == [9, 10, 9 + 6]
    assert end_ns("mesh_8x8", "0:24:1KiB", "0:1:256", FLIT, mode=mode, outstanding=2) == [13, 10, 10 + 6]


@modes
def test_a_read_is_in_flight_from_its_request_on(mode: str) -> None:
    """Over two hops a request takes 4 ns and a flit 8 ns; node 2, which sends the bytes, has no limit to wait for."""
    assert end_ns("mesh_8x8", "0:2:256:read", FLIT, "2:3:256", mode=mode, outstanding=1) == [12, 18, 6]


@modes
def test_both_limits(mode: str) -> None:
    assert end_ns("mesh_8x8", *[FLIT] * 3, mode=mode, outstanding=1, issue_ns=8) == [6, 14, 22]
    assert end_ns("mesh_8x8", *[FLIT] * 3, mode=mode, outstanding=1, issue_ns=4) == [6, 12, 18]
    assert end_ns("mesh_8x8", FLIT, f"{FLIT}@6", f"{FLIT}@7", mode=mode, outstanding=1, issue_ns=6) == [6, 12, 18]


def test_latency_counts_from_the_start_asked_for_and_nothing_follows_the_last_transfer() -> None:
    result = run_flows(load_machine("mesh_8x8", {"issue_ns": 1000}), parse_flows([f"{FLIT}@5", f"{FLIT}@7"]))
    assert result.latency_fs.tolist() == [6_000_000, 1004_000_000]
    assert result.makespan_ns == 1011


@pytest.mark.parametrize("fields", [{"outstanding": 2}, {"issue_ns": 30}, {"outstanding": 1, "issue_ns": 100}])
@pytest.mark.parametrize("acknowledged", [False, True])
def test_each_transfer_begins_as_soon_as_it_may(fields: dict[str, int], acknowledged: bool) -> None:
    """No sooner than asked for, an interval after the one before, and when few enough of those before are in flight."""
    machine = load_machine("torus_8x8", {"k": 4, "acknowledged": acknowledged, **fields})
    flows = random_flows(16, 400, 5, 600_000_000, 5000)
    traffic = Traffic(machine, flows)
    session = Session(traffic.program)
    session.run()
    starts, ends = session.op_start_fs[traffic.rows()], session.op_end_fs[traffic.rows()]
    limit, apart_fs, waits = fields.get("outstanding", len(flows)), fields.get("issue_ns", 0) * 1_000_000, 0
    for node in range(16):
        own = np.flatnonzero(flows.src == node)
        own = own[np.argsort(flows.start_fs[own], kind="stable")]
        for at, flow in enumerate(own.tolist()):
            earliest = int(flows.start_fs[flow])
            if at:
                earliest = max(earliest, starts[own[at - 1]] + apart_fs)
            if at >= limit:
                earliest = max(earliest, np.sort(ends[own[:at]])[at - limit])
            assert starts[flow] == earliest
            waits += earliest > flows.start_fs[flow]
    assert waits > 100


def test_a_limit_that_is_never_reached_changes_no_write() -> None:
    flows = random_flows(64, 500, 3, 300_000_000, 3000)
    flows.read[:] = False
    free, limited = (run_flows(load_machine("mesh_8x8", fields), flows) for fields in ({}, {"outstanding": 1_000_000}))
    assert free.end_fs.tolist() == limited.end_fs.tolist()
    assert free.makespan_ns == limited.makespan_ns


def test_a_limit_bounds_what_a_pattern_gets_through() -> None:
    """One packet of 2 flits at a time, to the next node in each dimension, and back by wires: 2 flits in 9 + 4 ns."""
    machine = load_machine("torus_8x8", {"outstanding": 1, "acknowledged": True})
    found = measure_load(machine, InjectionProcess("neighbor", packet_flits=2, window=2000), 0.9, "hybrid")
    assert found.alone_ns == 13
    assert found.accepted == pytest.approx(2 / 13, rel=0.01)
    assert found.latency_ns > 20 * found.alone_ns


def test_rows_of_limited_transfers() -> None:
    machine = load_machine("mesh_8x8")
    moves = np.zeros((3, 8), np.int64)
    moves[:, 0], moves[:, 2] = Op.MOVE, [10, 20, 30]
    rows, at = limit_issue(moves, np.array([0, 7, 7]), Program(machine).duration(("ns", 5)), 2, 4)
    assert [Op(kind).name for kind in rows[:, 0]] == ["MOVE", "DELAY", "UNTIL", "MOVE", "DELAY", "WAIT", "MOVE"]
    assert rows[at, 2].tolist() == [10, 20, 30]
    assert rows[at, 4].tolist() == [4, 4, 4]
    assert rows[5, :5].tolist() == [Op.WAIT, 4, 0, 1, 0]
    rows, at = limit_issue(moves, np.array([1, 2, 2]), None, None, NONE)
    assert [Op(kind).name for kind in rows[:, 0]] == ["UNTIL", "MOVE", "UNTIL", "MOVE", "MOVE"]
    assert rows[at, 4].tolist() == [NONE] * 3
