"""Read a NoC trace: a JSON array of events. Each mistake is one sentence with the file and the row of the array."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from kernbench.characters import check_characters
from kernbench.errors import InputError, shorten, suggest
from kernbench.traffic.noc_trace.events import (
    BARRIERS,
    BETWEEN_CHIPS,
    MOVES,
    NETWORKS,
    NOTE_CYCLES,
    PROCESSORS,
    STATE_OF,
    TYPES,
    Event,
    Kind,
    NocTrace,
    Place,
)

_CORNERS = ("mcast_start_x", "mcast_start_y", "mcast_end_x", "mcast_end_y")
_LARGEST = 2**62  # of a number of a trace

_Record = Mapping[str, Any]
_State = dict[tuple[int, int, str, int, Kind], tuple[Place, int]]


def list_trace_files(path: Path) -> list[Path]:
    """The traces of a path: itself, or the JSON files of a directory. Errors: InputError for a directory without traces."""
    check_characters(str(path), "the NoC trace")
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.json"))
    if not found:
        raise InputError(f"{path} holds no trace of a NoC; give a directory with .json files, or a file")
    return found


def read_noc_trace(path: Path) -> NocTrace:
    """The trace of a file. Errors: InputError for a file of another kind."""
    records = _read_records(path)
    times = [_number(record, "timestamp", where) for where, record in records]
    first, processors, state = min(times), dict[tuple[int, int, str], list[Event]](), _State()
    for row, ((where, record), time) in enumerate(zip(records, times, strict=True), 1):
        if "type" in record:
            x, y = _place(record, "sx", "sy", where)
            processor = (x, y, _one_of(record, "proc", PROCESSORS, where))
            event = _event(row, record, time - first, processor, state, where)
            before = processors.setdefault(processor, [])
            _check_order(before, event, where)
            before.append(event)
        elif "zone" not in record:
            raise InputError(f"{where} has neither a type nor a zone; a record is an event or the edge of a kernel")
    if not processors:
        raise InputError(
            f"{path} holds no event of a NoC, only edges of kernels; record it with the profiler of NoC events"
        )
    return NocTrace(path, processors, max(times) - first - NOTE_CYCLES)


def _read_records(path: Path) -> list[tuple[str, _Record]]:
    """Where each record is, in words, and the record. Errors: InputError."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is no text in UTF-8; a NoC trace is a JSON array of events") from None
    if not text.strip():
        raise InputError(f"{path} is empty; a NoC trace is a JSON array of events")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        begun = text.lstrip().startswith("[") and not text.rstrip().endswith("]")
        ends = "ends early" if begun else "is no JSON"
        raise InputError(f"{path}:{error.lineno}: the trace {ends}: {error.msg}, column {error.colno}") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply; a NoC trace is a flat JSON array of events") from None
    if not isinstance(found, list) or not found:
        got = "an empty array" if found == [] else f"{shorten(json.dumps(found))}"
        raise InputError(f"{path}: expected a JSON array of events, got {got}")
    records = [(f"{path}: row {row}", record) for row, record in enumerate(cast("list[object]", found), 1)]
    for where, record in records:
        if not isinstance(record, dict):
            raise InputError(f"{where}: expected an event, got {shorten(json.dumps(record))}")
    return cast("list[tuple[str, _Record]]", records)


def _event(row: int, record: _Record, cycle: int, processor: tuple[int, int, str], state: _State, where: str) -> Event:
    """An event; what announces a place and a size is kept in `state`, and what uses them takes them from there."""
    kind = _kind(record, where)
    network = NETWORKS[_one_of(record, "noc", tuple(NETWORKS), where)]
    nbytes = _number(record, "num_bytes", where) if "num_bytes" in record else 0
    if kind is Kind.MULTICAST:
        x0, y0, x1, y1 = (_number(record, name, where) for name in _CORNERS)
        return Event(row, kind, network, cycle, _size(record, nbytes, where), corners=((x0, y0), (x1, y1)))
    announces = kind in (Kind.READ_STATE, Kind.WRITE_STATE)
    if not announces and kind not in MOVES:
        return Event(row, kind, network, cycle)
    other: Place | None = (_number(record, "dx", where), _number(record, "dy", where)) if "dx" in record else None
    if other and min(other) < 0:
        other = None
    if announces:
        if other:
            state[*processor, network, kind] = other, nbytes
        return Event(row, Kind.LOCAL, network, cycle)
    known = state.get((*processor, network, STATE_OF[kind])) if kind in STATE_OF else None
    if "STATE" in str(record["type"]) and known:
        other, nbytes = other or known[0], nbytes if nbytes > 0 else known[1]
    if other is None:
        raise InputError(f"{where}: {record['type']} has no dx and dy, and nothing before it announced them")
    return Event(row, kind, network, cycle, nbytes if kind is Kind.SIGNAL else _size(record, nbytes, where), other)


def _check_order(before: list[Event], event: Event, where: str) -> None:
    """Errors: InputError for a time before the one of the same processor, and for barriers that do not fit."""
    last = before[-1] if before else None
    if last and event.cycle < last.cycle:
        raise InputError(
            f"{where}: the time runs backwards, {last.cycle - event.cycle:,} cycles before row {last.row} of the same processor"
        )
    if event.kind is Kind.WAITED and not (last and last.kind in BARRIERS):
        raise InputError(f"{where}: a barrier ends that has not begun; expected its start before it")


def _kind(record: _Record, where: str) -> Kind:
    name = record["type"]
    if isinstance(name, str) and name in TYPES:
        return TYPES[name]
    if isinstance(name, str) and name.startswith(BETWEEN_CHIPS):
        raise InputError(f"{where}: {shorten(name)} goes to another chip; traces of one chip are replayed")
    raise InputError(f"{where}: there is no type of event {shorten(repr(name))}{suggest(str(name), TYPES)}")


def _one_of(record: _Record, name: str, known: tuple[str, ...], where: str) -> str:
    if name not in record:
        raise InputError(f"{where}: {name} is missing; expected {' or '.join(known)}")
    if (value := record[name]) not in known:
        raise InputError(f"{where}: {name}: got {shorten(repr(value))}, expected {' or '.join(known)}")
    return value


def _place(record: _Record, x: str, y: str, where: str) -> Place:
    return _number(record, x, where), _number(record, y, where)


def _number(record: _Record, name: str, where: str) -> int:
    """A whole number. Errors: InputError for a missing field and another value."""
    if name not in record:
        raise InputError(f"{where}: {name} is missing; expected a whole number")
    value = record[name]
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= _LARGEST:
        raise InputError(f"{where}: {name}: got {shorten(repr(value))}, expected a whole number")
    return value


def _size(record: _Record, nbytes: int, where: str) -> int:
    if not nbytes and "num_bytes" not in record:
        raise InputError(f"{where}: num_bytes is missing; expected 1 or more bytes")
    if nbytes < 1:
        raise InputError(f"{where}: num_bytes: got {nbytes}, expected 1 or more bytes")
    return nbytes
