"""Files of NoC traces: what is read, and the sentence for each mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernbench.errors import InputError
from kernbench.traffic.noc_trace.events import Kind
from kernbench.traffic.noc_trace.file import list_trace_files, read_noc_trace
from tests.traffic.noc_trace.support import event, reading, write_trace, zone

READ = event("READ", 0, to=(1, 1), num_bytes=64)


def without(name: str, **more: Any) -> dict[str, Any]:
    return {key: value for key, value in {**READ, **more}.items() if key != name}


def test_cycles_are_from_the_first_record_to_the_last_less_the_end_of_a_kernel(tmp_path: Path) -> None:
    trace = read_noc_trace(write_trace(tmp_path / "a.json", zone(-100), *reading((2, 1), (1, 1))))
    assert trace.cycles == 100 + 500 - 20
    assert [(one.kind, one.cycle, one.row) for one in trace.processors[2, 1, "NCRISC"]] == [
        (Kind.READ, 100, 2),
        (Kind.WAIT_READS, 101, 3),
        (Kind.WAITED, 600, 4),
    ]


def test_what_was_announced_is_used(tmp_path: Path) -> None:
    path = write_trace(
        tmp_path / "a.json",
        event("READ_SET_STATE", 0, to=(3, 1), num_bytes=512),
        event("READ_WITH_STATE", 5, to=(-1, -1)),
        event("READ_WITH_STATE", 9),
    )
    announced, *reads = read_noc_trace(path).processors[2, 1, "NCRISC"]
    assert announced.kind is Kind.LOCAL
    assert [(one.kind, one.other, one.nbytes) for one in reads] == [(Kind.READ, (3, 1), 512)] * 2


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        ([READ, event("REED", 1)], "row 2: there is no type of event 'REED'; did you mean 'READ'? Known: "),
        ([{**READ, "type": 7}], "row 1: there is no type of event 7"),
        (
            [event("FABRIC_UNICAST_WRITE", 1)],
            "row 1: FABRIC_UNICAST_WRITE goes to another chip; traces of one chip are replayed",
        ),
        ([without("timestamp")], "row 1: timestamp is missing; expected a whole number"),
        ([without("sx")], "row 1: sx is missing; expected a whole number"),
        ([without("noc")], "row 1: noc is missing; expected NOC_0 or NOC_1"),
        ([{**READ, "noc": "NOC_2"}], "row 1: noc: got 'NOC_2', expected NOC_0 or NOC_1"),
        ([without("dx")], "row 1: READ has no dx and dy, and nothing before it announced them"),
        ([without("num_bytes")], "row 1: num_bytes is missing; expected 1 or more bytes"),
        ([{**READ, "num_bytes": 0}], "row 1: num_bytes: got 0, expected 1 or more bytes"),
        ([{**READ, "num_bytes": 2.5}], "row 1: num_bytes: got 2.5, expected a whole number"),
        (
            [event("WRITE_MULTICAST", 0, num_bytes=64)],
            "row 1: mcast_start_x is missing; expected a whole number",
        ),
        (
            [READ, zone(0), event("READ", -30, to=(1, 1), num_bytes=64)],
            "row 3: the time runs backwards, 30 cycles before row 1 of the same processor",
        ),
        (
            [READ, event("READ_BARRIER_END", 1)],
            "row 2: a barrier ends that has not begun; expected its start before it",
        ),
        ([READ, 3], "row 2: expected an event, got 3"),
        ([{"timestamp": 1}], "row 1 has neither a type nor a zone; a record is an event or the edge of a kernel"),
    ],
)
def test_mistakes_in_rows(tmp_path: Path, records: list[Any], sentence: str) -> None:
    path = write_trace(tmp_path / "a.json", *records)
    with pytest.raises(InputError) as raised:
        read_noc_trace(path)
    assert str(raised.value).startswith(f"{path}: {sentence}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", " is empty; a NoC trace is a JSON array of events"),
        (json.dumps([READ])[:-9], ":1: the trace ends early: "),
        ("[{]", ":1: the trace is no JSON: "),
        ("[]", ": expected a JSON array of events, got an empty array"),
        ('{"a": 1}', ': expected a JSON array of events, got {"a": 1}'),
        (json.dumps([zone(1)]), " holds no event of a NoC, only edges of kernels; "),
        ("[" * 100_000, " is nested too deeply; "),
    ],
)
def test_files_that_are_no_traces(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        read_noc_trace(path)
    assert str(raised.value).startswith(f"{path}{sentence}")


def test_a_file_that_is_not_there_and_one_in_bytes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a.json cannot be read: No such file or directory"):
        read_noc_trace(tmp_path / "a.json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"b.json is no text in UTF-8; a NoC trace is a JSON array of events"):
        read_noc_trace(tmp_path / "b.json")


def test_a_directory_has_its_traces_in_order(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no trace of a NoC; give a directory with \.json files, or a file"):
        list_trace_files(tmp_path)
    for name in ("b.json", "a.json", "measured.csv"):
        (tmp_path / name).touch()
    assert [path.name for path in list_trace_files(tmp_path)] == ["a.json", "b.json"]


def test_wherever_a_file_is_cut_it_ends_early(tmp_path: Path) -> None:
    whole, path = json.dumps([zone(1), READ]), tmp_path / "a.json"
    for length in range(1, len(whole)):
        path.write_text(whole[:length])
        with pytest.raises(InputError, match=r"a\.json:1: the trace ends early: "):
            read_noc_trace(path)
