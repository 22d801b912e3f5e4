"""Replays of small traces, worked by hand."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.families.tensix.places import name_reply_port
from kernbench.traffic.noc_trace.file import read_noc_trace
from kernbench.traffic.noc_trace.replay import NocReplay, replay_trace
from kernbench.traffic.noc_trace.replays import replay_traces
from tests.traffic.noc_trace.support import event, reading, write_trace

FLIT = 32 / 30.3  # cycles of a flit on a link of Wormhole
END, HOP, MEMORY = 4 + FLIT, 8 + FLIT, 25  # between interface and router, a hop, between interface and memory
ISSUE = 8 + 5 + 3  # a look at the interface, five registers, a counter


def replay(tmp_path: Path, *records: Any, closed_loop: bool = False, fields: dict[str, Any] | None = None) -> NocReplay:
    trace = read_noc_trace(write_trace(tmp_path / "a.json", *records))
    chip = load_machine("wormhole_n150", {"flow_control": "unbounded", **(fields or {})})
    return replay_trace(chip, trace, closed_loop=closed_loop)


def reply_cycles(nbytes: int, hops: int, gbs: float = 28.1) -> float:
    """From the memory until the last flit is at the interface of the reader."""
    flits = -(-nbytes // 32)
    return MEMORY + flits * 32 / gbs + END + hops * HOP + END


def test_a_read_is_a_request_and_a_reply(tmp_path: Path) -> None:
    found = replay(tmp_path, *reading((2, 1), (1, 1)))
    request = ISSUE + END + 9 * HOP + END  # east, around
    assert found.simulated_cycles == pytest.approx(request + MEMORY + reply_cycles(2048, 1), abs=0.01)
    (barrier,) = found.barriers
    assert (barrier.x, barrier.y, barrier.processor, barrier.row, barrier.trace_cycle) == (2, 1, "NCRISC", 3, 500)
    assert barrier.simulated_cycle == pytest.approx(found.simulated_cycles + 20)
    assert found.trace_cycles == 480


def test_the_second_network_goes_the_other_way(tmp_path: Path) -> None:
    records = [{**record, "noc": "NOC_1"} for record in reading((2, 1), (1, 1))]
    request = ISSUE + END + HOP + END  # west
    assert replay(tmp_path, *records).simulated_cycles == pytest.approx(
        request + MEMORY + reply_cycles(2048, 9), abs=0.01
    )


def test_a_core_reads_its_own_memory_without_a_hop(tmp_path: Path) -> None:
    found = replay(tmp_path, *reading((2, 1), (2, 1)))
    assert found.simulated_cycles == pytest.approx(ISSUE + MEMORY + MEMORY + 64 * 32 / 28.1, abs=0.01)


def test_a_bank_replies_after_its_access(tmp_path: Path) -> None:
    found = replay(tmp_path, *reading((2, 1), (0, 1)))  # east eight hops, and two
    request = ISSUE + END + 8 * HOP + END
    reply = reply_cycles(2048, 2, 23.2) + 63 * (32 / 22.1 - 32 / 23.2) + 32 / 22.1
    assert found.simulated_cycles == pytest.approx(request + MEMORY + 100 + reply, abs=0.01)


def test_a_large_read_is_several_packets(tmp_path: Path) -> None:
    whole = replay(tmp_path, *reading((2, 1), (1, 1), 16384)).simulated_cycles
    apart = replay(tmp_path, *reading((2, 1), (1, 1), 8192, 0, 0)).simulated_cycles
    assert whole == apart


def test_a_processor_has_a_limited_number_of_packets_under_way(tmp_path: Path) -> None:
    one = replay(tmp_path, *reading((2, 1), (1, 1))).simulated_cycles
    three = reading((2, 1), (1, 1), 2048, 0, 0, 0)
    limited = replay(tmp_path, *three, fields={"tensix_noc.outstanding": 1}).simulated_cycles
    assert limited == pytest.approx(3 * one, abs=0.01)
    assert replay(tmp_path, *three).simulated_cycles < one + 2 * 64 * 32 / 28.1 + 1


def test_ports_take_turns_and_a_port_serves_its_requests_in_order(tmp_path: Path) -> None:
    assert name_reply_port(0, (2, 1), (1, 1)) == "row_wrapped"
    assert name_reply_port(0, (1, 4), (1, 1)) == "column_wrapped"
    assert name_reply_port(1, (2, 1), (1, 1)) == "row"
    assert name_reply_port(1, (1, 1), (1, 1)) == "own"
    early, late = reading((1, 4), (1, 1), 4096, *[0] * 8), reading((1, 5), (1, 1), 4096, 60)
    row = reading((2, 1), (1, 1), 4096, 60)
    found = replay(tmp_path, *early, *late, *row, fields={"tensix_noc.replies": 1})
    ends = {(one.x, one.y): one.simulated_cycle for one in found.barriers}
    assert ends[2, 1] < ends[1, 4] < ends[1, 5]
    assert found.turn_ns > 0


def test_writes_wait_for_their_acknowledgements(tmp_path: Path) -> None:
    records = [
        event("WRITE_", 0, to=(3, 1), num_bytes=64),
        event("WRITE_BARRIER_START", 1),
        event("WRITE_BARRIER_END", 400),
    ]
    near = replay(tmp_path, *records).simulated_cycles
    far = replay(tmp_path, {**records[0], "dx": 1}, *records[1:]).simulated_cycles
    assert far - near == pytest.approx(8 * HOP - 8 * 8, abs=0.01)
    # nine hops and one back for one and nine; the acknowledgement takes no link


def test_a_multicast_comes_to_all_cores_between_its_corners_in_either_order(tmp_path: Path) -> None:
    def cast(start: tuple[int, int], end: tuple[int, int]) -> NocReplay:
        corners = dict(
            zip(("mcast_start_x", "mcast_start_y", "mcast_end_x", "mcast_end_y"), (*start, *end), strict=True)
        )
        return replay(
            tmp_path,
            event("WRITE_MULTICAST", 0, num_bytes=2048, **corners),
            event("WRITE_BARRIER_START", 1),
            event("WRITE_BARRIER_END", 400),
        )

    assert cast((2, 1), (4, 3)).simulated_cycles == cast((4, 3), (2, 1)).simulated_cycles
    assert cast((2, 1), (4, 3)).simulated_cycles > cast((3, 1), (3, 1)).simulated_cycles


def test_signals_and_events_on_the_core_alone(tmp_path: Path) -> None:
    found = replay(
        tmp_path,
        event("SEMAPHORE_INC", 0, to=(3, 1)),
        event("SEMAPHORE_SET", 1),
        event("FULL_BARRIER", 2),
        event("SEMAPHORE_WAIT", 700),
    )
    assert found.simulated_cycles == 700
    assert found.barriers == []
    assert found.barrier_error is None


def test_a_closed_loop_goes_on_after_the_simulated_end(tmp_path: Path) -> None:
    again = [{**record, "timestamp": record["timestamp"] + 900} for record in reading((2, 1), (1, 1))]
    records = [*reading((2, 1), (1, 1)), *again]
    opened, closed = replay(tmp_path, *records), replay(tmp_path, *records, closed_loop=True)
    alone = replay(tmp_path, *reading((2, 1), (1, 1))).simulated_cycles
    assert opened.simulated_cycles == pytest.approx(900 + alone, abs=0.01)
    assert closed.simulated_cycles == pytest.approx(alone + 20 + 400 + alone, abs=0.01)


def test_finite_buffers_say_what_was_waited_for(tmp_path: Path) -> None:
    records = [*reading((2, 1), (1, 1), 4096), *reading((3, 1), (1, 1), 4096)]
    found = replay(tmp_path, *records, fields={"flow_control": "credit"})
    assert found.network is not None
    assert found.to_row()["waiting_ns"] > 0
    assert replay(tmp_path, *records).network is None


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (
            event("READ", 0, to=(12, 3), num_bytes=64),
            "row 1: (12, 3) is off the chip; wormhole_n150 has places (0, 0) to (9, 11)",
        ),
        (
            event("READ", 0, (1, 10), to=(1, 1), num_bytes=64),
            "row 1: there is no memory at (1, 10) of wormhole_n150; give the --topology of the chip of the trace, or the "
            "rows or columns that are switched off on it, as in --set harvested_rows=[4,5]",
        ),
        (
            event("WRITE_MULTICAST", 0, num_bytes=64, mcast_start_x=1, mcast_start_y=1, mcast_end_x=10, mcast_end_y=1),
            "row 1: (10, 1) is off the chip; wormhole_n150 has places (0, 0) to (9, 11)",
        ),
        (
            event("WRITE_MULTICAST", 0, num_bytes=64, mcast_start_x=2, mcast_start_y=1, mcast_end_x=2, mcast_end_y=1),
            "row 1: there is no other core between (2, 1) and (2, 1) of wormhole_n150",
        ),
    ],
)
def test_places_that_a_chip_lacks(tmp_path: Path, record: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        replay(tmp_path, record)
    assert str(raised.value) == f"{tmp_path / 'a.json'}: {sentence}"


def test_the_rest_of_a_directory_runs(tmp_path: Path) -> None:
    for name, nbytes in (("a", 2048), ("c", 4096)):
        write_trace(tmp_path / f"{name}.json", *reading((2, 1), (1, 1), nbytes))
    (tmp_path / "b.json").write_text("")
    done = list[object]()
    found = replay_traces([tmp_path], on_done=done.append)
    replays, errors = found.replays, found.errors
    assert [one.file.name for one in replays] == ["a.json", "c.json"]
    assert done == [replays[0], errors[0], replays[1]]
    assert str(errors[0]) == f"{tmp_path / 'b.json'} is empty; a NoC trace is a JSON array of events"
    assert found.summary.startswith("mean absolute error ")
    assert repr(found) == f"<NocReplays: {found.summary}, 1 failed; .replays, .table()>"
    assert str(errors[0]) in html.unescape(found._repr_html_())
    assert found.table()["file"].to_list() == [str(one.file) for one in replays]


def test_other_machines_are_refused(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "a.json", *reading((2, 1), (1, 1)))
    with pytest.raises(
        InputError, match="mesh_8x8 is of family 'mesh'; what uses the networks of a chip runs on family 'tensix', such"
    ):
        replay_traces([path], "mesh_8x8")


def test_blackhole_replays_too(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "a.json", *reading((2, 2), (1, 2)))
    (found,) = replay_traces([path], "blackhole_p150").replays
    assert 200 < found.simulated_cycles < 400
