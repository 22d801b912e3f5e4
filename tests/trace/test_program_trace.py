"""Traces of runs, decoded: slices, nesting, flows, counters, critical path, filters."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kernbench.engine import Session
from kernbench.errors import InputError
from kernbench.frontends.run import run_bench
from kernbench.machine import load_machine
from kernbench.machine.intents import Intent, RouteKind
from kernbench.oplog.causes import Times
from kernbench.oplog.utilisation import BusyParts, list_parts
from kernbench.program.program import Program
from kernbench.runs.explanation import find_path
from kernbench.runs.result import RunResult
from kernbench.trace.filters import TraceFilter
from kernbench.trace.parts import PartTracks
from kernbench.trace.perfetto import write_perfetto
from kernbench.trace.program_trace import DATA, TRANSFER, RunToTrace, trace_run
from kernbench.trace.tables import TrackTable
from kernbench.units import FS_PER_NS
from tests.trace.decoded import Decoded, Slice, decode

OP_KINDS = ("memory", "gemm", "math", "control", "composite")
RUNS = [
    ("matmul-composite", {"M": 64, "K": 128, "N": 64}),
    ("ccl-allreduce", {"bytes_per_pe": 512}),  # over all SIPs of the tray
]


def _decode(result: RunResult, folder: Path, *filters: str) -> Decoded:
    result.write_trace(folder / "run.pftrace", filters)
    return decode(folder / "run.pftrace")


@pytest.fixture(scope="module", params=RUNS, ids=lambda run: run[0])
def ran(request: pytest.FixtureRequest) -> RunResult:
    return run_bench(request.param[0], "tiny", parameters=request.param[1])


@pytest.fixture(scope="module")
def found(ran: RunResult, tmp_path_factory: pytest.TempPathFactory) -> Decoded:
    return _decode(ran, tmp_path_factory.mktemp("trace"))


def _own(found: Decoded) -> list[Slice]:
    return [one for one in found.slices if one.category in OP_KINDS]


def _key(one: Slice) -> tuple[object, ...]:
    return one.name, one.category, one.start_fs, one.end_fs, one.arguments.get("bytes", 0), one.arguments["thread"]


def test_slices_are_the_rows_of_the_op_log(ran: RunResult, found: Decoded) -> None:
    log = ran.op_log()
    slices = {one.arguments["row"]: one for one in _own(found)}
    assert sorted(slices) == list(range(len(log)))
    for at, row in enumerate(log.iter_rows(named=True)):
        one = slices[at]
        assert found.path(one) == row["component"] + (".composites" if row["op_name"] == "composite" else "")
        assert _key(one) == tuple(row[name] for name in ("op_name", "op_kind", "start_fs", "end_fs", "bytes", "thread"))
        assert one.arguments.get("params", "") == row["params"]
        assert one.arguments.get("queued_fs", 0) == row["start_fs"] - row["issue_fs"]


def test_times_are_the_nearest_nanoseconds(found: Decoded) -> None:
    for one in found.slices:
        assert abs(one.start_ns * FS_PER_NS - one.start_fs) <= FS_PER_NS / 2
        assert abs(one.end_ns * FS_PER_NS - one.end_fs) <= FS_PER_NS / 2


def test_slices_of_a_track_follow_each_other_or_nest(found: Decoded) -> None:
    last: dict[int, Slice] = {}
    for one in found.slices:
        if one.start_fs == one.end_fs:
            continue  # an instant takes no room
        if one.name == DATA:
            assert one.parent is not None
            assert one.parent.start_fs <= one.start_fs <= one.end_fs <= one.parent.end_fs
            continue
        assert one.parent is None
        assert one.uuid not in last or last[one.uuid].end_fs <= one.start_fs
        last[one.uuid] = one


def test_tracks_are_grouped_by_cube_and_pe(ran: RunResult, found: Decoded) -> None:
    assert {"run", "sip0.cube0", "sip0.cube1", "sip0.io0"} <= set(found.processes.values())
    groups = Counter(names[:-1] for names in found.tracks.values())
    assert groups["sip0.cube0", "pe0"] >= 3
    lanes = Counter(found.tracks.values())
    assert all(count == 1 or names[1].startswith("pe") or "cpu" in names[-1] for names, count in lanes.items())


def test_a_flow_leads_from_the_source_of_a_transfer_to_its_destination(ran: RunResult, found: Decoded) -> None:
    ends: dict[int, list[Slice]] = defaultdict(list)
    for one in found.slices:
        for flow in one.flows:
            ends[flow].append(one)
    log = ran.op_log()
    moved = [one for one in _own(found) if one.arguments.get("bytes")]
    assert len(ends) >= len(moved) > 0
    for source, target in ends.values():  # in the order of the file
        assert source.start_ns <= target.start_ns
        instant, near = (source, target) if source.start_fs == source.end_fs else (target, source)
        own = near.parent if near.name == DATA else near
        assert own is not None
        assert instant.category == TRANSFER
        assert instant.arguments["part"] == log["component"][own.arguments["row"]]
        assert found.path(instant) in ran.device.session.machine.node_id
        if own.name == "dma_read":
            assert "hbm_ctrl" in found.path(source)
        elif own.name == "dma_write":
            assert "hbm_ctrl" in found.path(target)


def _integrals(found: Decoded, end_ns: float) -> dict[tuple[str, ...], float]:
    """The integral of each counter over time, in units of its value times ns."""
    sums = {}
    for uuid, values in found.counters.items():
        assert values[-1][1] == 0
        steps = [*values, (end_ns, 0.0)]
        sums[found.tracks[uuid]] = sum(value * (after[0] - at) for (at, value), after in pairwise(steps))
    return sums


def test_utilisation_integrates_to_busy_time(ran: RunResult, found: Decoded) -> None:
    session = ran.device.session
    counted = session.op_end_fs >= 0
    busy = BusyParts(session.program, counted)
    fs_per_flit = session.machine.stations.fs_per_flit[busy.station][None]
    by_part = dict(zip(busy.part.tolist(), busy.fs(session.op_times[None], fs_per_flit)[0][0].tolist(), strict=True))
    parts, tracks = list_parts(session.machine), PartTracks(session.machine, TrackTable())
    expected: dict[tuple[str, str], float] = defaultdict(float)
    members: Counter[tuple[str, str]] = Counter()
    for at, (name, kind, slots) in enumerate(zip(parts.name, parts.kind, parts.slots.tolist(), strict=True)):
        key = tracks.split(name)[0], kind
        expected[key] += by_part.get(at, 0) / FS_PER_NS
        members[key] += slots
    sums = _integrals(found, ran.makespan_ns)
    means = {(names[0], names[2].partition(",")[0]): value for names, value in sums.items()
             if names[1] == "utilisation" and "busiest" not in names[2]}  # fmt: skip
    assert set(means) == {key for key, busy_ns in expected.items() if busy_ns}
    for key, value in means.items():
        assert value / 100 * members[key] == pytest.approx(expected[key], rel=1e-5), key
    assert all(0 <= value <= 100 + 1e-6 for uuid in found.counters for _, value in found.counters[uuid]
               if found.tracks[uuid][1] == "utilisation")  # fmt: skip


def test_queues_integrate_to_the_time_that_was_waited(ran: RunResult, found: Decoded) -> None:
    session = ran.device.session
    expected = (session.op_start_fs - session.op_issue_fs).sum() / FS_PER_NS
    queued = sum(value for names, value in _integrals(found, ran.makespan_ns).items() if names[1] == "queues")
    assert queued == pytest.approx(expected, rel=1e-5)


def test_power_integrates_to_the_energy_of_the_run(ran: RunResult, found: Decoded) -> None:
    energy = ran.energy()
    watts = {(names[0], names[2]): value for names, value in _integrals(found, ran.makespan_ns).items()
             if names[1] == "power"}  # fmt: skip
    joules = {key: value * 1e-9 for key, value in watts.items()}
    run = {name: value for (process, name), value in joules.items() if process == "run"}
    parts = {
        part: dynamic * 1e-18 for part, (dynamic, _) in energy.by_part().items() if dynamic > energy.total_aj * 1e-6
    }
    assert {part: run[part] for part in parts} == pytest.approx(parts, rel=1e-3)
    static = (
        energy.static_aj * 1e-18 * math.ceil(ran.makespan_ns) / ran.makespan_ns
    )  # the last bin ends with a whole ns
    assert run["static"] == pytest.approx(static, rel=1e-5)
    assert run["total"] == pytest.approx(static + energy.dynamic_aj * 1e-18, rel=1e-5)
    dynamic = sum(value for (process, name), value in joules.items() if name == "dynamic" and process != "run")
    assert dynamic == pytest.approx(energy.dynamic_aj * 1e-18, rel=1e-4)


def test_the_power_of_a_remote_memory_is_drawn_where_it_is(tmp_path: Path) -> None:
    """A read of another cube's slice: 32 of 65.9 pJ a byte in that cube, besides what routers and wires draw there."""
    result = run_bench("pe-to-pe", "tiny", parameters={"to": "cube", "via": "store", "nbytes": 65536})
    found = _decode(result, tmp_path, "kind=counters", "part=sip0.cube1.hbm_ctrl")
    names = [names for names in found.tracks.values() if len(names) == 3 and names[1] == "power"]
    assert names == [("sip0.cube1", "power", "dynamic")]


def test_the_critical_path_is_a_track(ran: RunResult, found: Decoded) -> None:
    session = ran.device.session
    path = find_path(session, ran.launches, Times(session.op_issue_fs, session.op_start_fs, session.op_end_fs))
    pieces = [one for one in found.slices if found.path(one) == "run.critical path"]
    assert [(one.start_fs, one.end_fs, one.arguments.get("part", "")) for one in pieces] == [
        (piece.start_fs, piece.end_fs, piece.part) for piece in path
    ]
    launches = [one for one in found.slices if found.path(one) == "run.launches"]
    assert {(one.start_fs, one.end_fs) for one in launches} == {
        (launch.left_fs(session.op_issue_fs), launch.back_fs(session.op_end_fs)) for launch in ran.launches
    }


def test_filters_select_by_part_kind_and_time(ran: RunResult, tmp_path: Path) -> None:
    log = ran.op_log()
    starts = log.filter(log["component"].str.starts_with("sip0.cube0.pe0."))["start_fs"]
    half = int(starts[len(starts) // 2]) // FS_PER_NS
    found = _decode(ran, tmp_path, "part=sip0.cube0.pe0", "kind=memory,control", f"time=..{half}")
    rows = {one.arguments["row"] for one in _own(found)}
    expected = {
        at
        for at, row in enumerate(log.iter_rows(named=True))
        if row["component"].startswith("sip0.cube0.pe0.")
        and row["op_kind"] in ("memory", "control")
        and row["start_fs"] < half * FS_PER_NS
    }
    assert rows == expected
    assert rows
    assert not found.counters
    assert not [one for one in found.slices if one.category == "path"]
    counted = _decode(ran, tmp_path, "kind=counters", "part=*.pe_gemm", "part=sip0.io0")
    assert not _own(counted)
    names = {names for names in counted.tracks.values() if len(names) == 3}
    assert all(names[0] == "sip0.io0" or names[1] == "power" or names[2].startswith("gemm") for names in names)
    assert any(one[1] == "power" for one in names)
    assert not any(one[0] == "run" for one in names)


def _told(found: Decoded) -> Counter[tuple[object, ...]]:
    """Slices with what they lie in, and flows by their ends, whatever the numbers of tracks, texts and flows are."""
    told: Counter[tuple[object, ...]] = Counter()
    ends: dict[int, list[object]] = defaultdict(list)
    for one in found.slices:
        key = found.path(one), one.name, one.category, one.start_ns, one.end_ns, tuple(sorted(one.arguments.items()))
        told[*key, one.parent and one.parent.arguments["row"]] += 1
        for flow in one.flows:
            ends[flow].append(key)
    return told + Counter(tuple(both) for both in ends.values())


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 7, 100])
def test_a_trace_in_chunks_is_that_of_the_whole(
    ran: RunResult, found: Decoded, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernbench.trace.program_trace.ROWS", rows)
    monkeypatch.setattr("kernbench.trace.counters.ROWS", rows)
    chunks = _decode(ran, tmp_path)
    assert _told(chunks) == _told(found)
    counters = [{one.tracks[uuid]: values for uuid, values in one.counters.items()} for one in (chunks, found)]
    assert counters[0].keys() == counters[1].keys()
    for name, values in counters[0].items():
        assert np.array(values) == pytest.approx(np.array(counters[1][name]), abs=1e-5), name


def test_a_multicast_has_a_flow_to_each_destination(tmp_path: Path) -> None:
    machine = load_machine("mesh_8x8")
    program = Program(machine)
    nodes = [machine.find_node(f"node[0][{at}]") for at in range(4)]
    route = machine.routing.multicast(nodes[0], nodes[1:], Intent.ALL, RouteKind.ACKNOWLEDGED)
    counters = [program.counter(at) for at in range(3)]
    program.thread("node[0][0]").multicast(route, 4096, arrive=counters, tag=program.tag("put", "memory"))
    session = Session(program)
    session.run()
    times = Times(session.op_issue_fs, session.op_start_fs, session.op_end_fs)
    with (tmp_path / "put.pftrace").open("wb") as file:
        write_perfetto(trace_run(RunToTrace(program, times, session.now_fs)), file)
    found = decode(tmp_path / "put.pftrace")
    (data,) = (one for one in found.slices if one.name == DATA)
    arrivals = [one for one in found.slices if one.category == TRANSFER and one.name != DATA]
    assert sorted(data.flows) == sorted(flow for one in arrivals for flow in one.flows)
    assert {found.path(one) for one in arrivals} == {f"mesh_8x8.node[0][{at}]" for at in (1, 2, 3)}
    rows = [row for row in range(program.row_count) if row != 0]
    assert sorted(one.start_fs for one in arrivals) == sorted(times.end_fs[rows].tolist())
    assert data.end_fs == times.end_fs[rows].max()


def test_a_part_that_the_machine_lacks_is_named(ran: RunResult) -> None:
    with pytest.raises(InputError, match=r"machine tiny has no part 'sip0\.cube0\.pe0\.pe_gem'; did you mean"):
        TraceFilter(("sip0.cube0.pe0.pe_gem",)).check(ran.device.session.machine)
