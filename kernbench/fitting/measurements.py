"""Measured times in a CSV file: a row is a bench with its parameters, or a flow, and how long it took.

The column of times is `time`, `latency` (from the first launch to the last completion) or `pe_exec` (of the kernels), with
the unit in its name (`time_us`) or in each of its cells (`1.2 us`). `bench` names a bench; every other column is a parameter
of benches or, as `topology.…`, a field of the machine of that row; an empty cell is the default. A row with `src`, `dst` and
`bytes` is a flow, alone on the machine or together with the rows of the same `run`. `note` is for people.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.characters import check_characters
from kernbench.errors import InputError, shorten, suggest
from kernbench.frontends.registry import find
from kernbench.library import show_path
from kernbench.machine.load import field_names
from kernbench.machine.overrides import TOPOLOGY
from kernbench.runs.bench import find_bench, typed_parameters
from kernbench.traffic.flows import parse_bytes, parse_kind, parse_start
from kernbench.units import parse as parse_quantity
from kernbench.units import split as split_quantity

if TYPE_CHECKING:
    from kernbench.runs.bench import Bench

LATENCY, PE_EXEC = "latency_ns", "pe_exec_ns"
MOST_ROWS = 100_000
MOST_TOLD = 10  # mistakes
_TIME = re.compile(r"(time|latency|pe_exec)(?:_(ns|us|ms|s))?")
_FLOW = ("src", "dst", "bytes")
_OF_FLOWS = (*_FLOW, "kind", "start_ns", "run")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class BenchWork:
    """A run of a bench: what it is called, and all its parameters; `overrides` are fields of the machine in that row."""

    bench: str
    parameters: tuple[tuple[str, object], ...]
    overrides: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FlowWork:
    """A flow of a run of flows; `run` is the name of that run, or the line of a flow that runs alone."""

    src: str
    dst: str
    nbytes: int
    read: bool
    start_fs: int
    run: str | int
    overrides: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A row of the file: what ran and how long it took."""

    line: int
    work: BenchWork | FlowWork
    time_ns: float


@dataclass(frozen=True, slots=True)
class Measurements:
    """All rows of a file. `metric` is what its times are: LATENCY or PE_EXEC."""

    file: Path
    metric: str
    rows: Sequence[Measurement]

    def where(self, row: int) -> str:
        """The place of a row in a message."""
        return f"{show_path(self.file)}:{self.rows[row].line}"


def read_measurements(file: Path, topology: str, family: str, overrides: Mapping[str, object]) -> Measurements:
    """The measurements in a file, of a machine of some family, with overrides that choose its sheets.

    Errors: InputError with file and line for each row that cannot be, and for a file without rows or times.
    """
    lines = _Lines(file)
    reader = _Reader(file, lines.header, topology, family, overrides)
    found: list[Measurement] = []
    problems: list[str] = []
    for line, cells in lines:
        try:
            found.append(reader.read(line, cells))
        except InputError as error:
            text = str(error).partition("\n")[0]
            problems.append(text if text.startswith(f"{reader.shown}:") else f"{reader.shown}:{line}: {text}")
        if len(found) > MOST_ROWS:
            raise InputError(f"{reader.shown} has more than {MOST_ROWS:,} rows; give fewer")
    problems += reader.mixed_units()
    if problems:
        more = [f"and {len(problems) - MOST_TOLD} more rows of {reader.shown}"] * (len(problems) > MOST_TOLD)
        raise InputError("\n".join(problems[:MOST_TOLD] + more))
    if not found:
        raise InputError(f"{reader.shown} holds no measurements; give at least one row below the header")
    return Measurements(file, reader.metric, tuple(found))


class _Lines:
    """The rows of a CSV file as stripped texts, with the line each begins in; blank rows are left out."""

    def __init__(self, file: Path) -> None:
        check_characters(str(file), "the file of measurements")
        self._shown = show_path(file)
        try:
            content = file.read_bytes()
        except OSError as error:
            raise InputError(f"{self._shown} cannot be read: {error.strerror}") from None
        if content.startswith(_UTF16) or b"\0" in content[:2]:
            raise InputError(f"{self._shown} is a text in UTF-16; save it in UTF-8")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(f"{self._shown} is no CSV file: it is not UTF-8 text") from None
        self._rows = self._read(text)
        _, self.header = next(self._rows, (1, list[str]()))
        if not self.header:
            raise InputError(f"{self._shown} is empty; give a header, as bench,M,N,K,time_us, and rows below it")

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return self._rows

    def _read(self, text: str) -> Iterator[tuple[int, list[str]]]:
        rows, line = csv.reader(io.StringIO(text, newline=""), strict=True), 1
        try:
            for row in rows:
                cells = [cell.strip() for cell in row]
                if any(cells) and not cells[0].startswith("#"):
                    yield line, cells
                line = rows.line_num + 1
        except csv.Error as error:
            raise InputError(f"{self._shown}:{line}: {error}") from None


class _Reader:
    """Reads rows below one header. Errors: InputError for a header that names no times, or nothing that ran."""

    def __init__(
        self, file: Path, header: Sequence[str], topology: str, family: str, overrides: Mapping[str, object]
    ) -> None:
        self.shown, self._header = show_path(file), header
        self._topology, self._family = topology, family
        self._fields = set(field_names(topology, overrides))
        twice = next((name for name in header if header.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{self.shown}:1: the column {shorten(twice)!r} is named twice; rename or remove one")
        times = [(name, matched) for name in header if (matched := _TIME.fullmatch(name))]
        if not times:
            separated = next(
                (f"; {mark!r} separates the columns; put a comma there" for mark in ";\t" if mark in header[0]), ""
            )
            raise InputError(
                f"{self.shown}:1: no column of measured times among {shorten(','.join(header))}; name one time_ns, time_us, "
                f"latency_us or pe_exec_us, for example{separated}"
            )
        if len(times) > 1:
            raise InputError(
                f"{self.shown}:1: {times[0][0]} and {times[1][0]} are both measured times; leave one, or rename it note"
            )
        self._time, matched = times[0]
        self._unit: str = matched[2] or ""
        self.metric = PE_EXEC if matched[1] == "pe_exec" else LATENCY
        if "bench" not in header and not set(_FLOW) <= set(header):
            raise InputError(
                f"{self.shown}:1: nothing says what ran; name a column bench, or three src, dst and bytes for flows"
            )
        self._bare: list[int] = []  # lines with a time without unit, where no unit is in the header
        self._with_unit: list[int] = []

    def read(self, line: int, cells: Sequence[str]) -> Measurement:
        """The measurement of a row. Errors: InputError."""
        if len(cells) != len(self._header):
            raise InputError(f"got {len(cells)} cells, expected {len(self._header)} as in the header")
        given = {name: cell for name, cell in zip(self._header, cells, strict=True) if cell and name != "note"}
        time_ns = self._read_time(line, given.pop(self._time, ""))
        overrides = {name: given.pop(name) for name in list(given) if name.startswith(TOPOLOGY)}
        fields = tuple(sorted((name.removeprefix(TOPOLOGY), value) for name, value in overrides.items()))
        for field, _ in fields:
            if field not in self._fields:
                raise InputError(f"unknown topology field {shorten(field)!r}{suggest(field, self._fields)}")
        bench = given.pop("bench", None)
        work = self._read_flow(line, given, fields) if bench is None else self._read_bench(bench, given, fields)
        return Measurement(line, work, time_ns)

    def mixed_units(self) -> list[str]:
        """The sentence on a file in which some times have units and others have none."""
        if not self._unit and self._bare:
            line = self._bare[0]
            other = f", and that of line {self._with_unit[0]} has one" if self._with_unit else ""
            return [
                f"{self.shown}:{line}: {self._time} has no unit{other}; name the column {self._time}_ns or {self._time}_us, "
                "or give each time its unit"
            ]
        return []

    def _read_time(self, line: int, text: str) -> float:
        if not text:
            raise InputError(f"{self._time} is missing")
        try:
            number, unit = split_quantity(text)
            if unit and self._unit:
                raise InputError(
                    f"{self._time} is in {self._unit}, and the cell is {shorten(text)!r}; give the number alone"
                )
            (self._with_unit if unit else self._bare).append(line)
            found = parse_quantity(f"{number} {unit or self._unit or 'ns'}", "ns")
        except ValueError as error:
            raise InputError(f"{self._time}: {error}") from None
        if not 0 < found < 1e18:
            raise InputError(f"{self._time}: got {shorten(text)!r}, expected a time above 0 and below 30 years")
        return found

    def _read_bench(self, name: str, given: Mapping[str, str], fields: tuple[tuple[str, str], ...]) -> BenchWork:
        bench = _find(name)
        if refusal := find(bench.run).refuse(str(self._topology), self._family):
            raise InputError(refusal)
        parameters = typed_parameters(bench, given)
        return BenchWork(name, tuple(parameters.items()), fields)

    def _read_flow(self, line: int, given: Mapping[str, str], fields: tuple[tuple[str, str], ...]) -> FlowWork:
        missing = next((name for name in _FLOW if name not in given), None)
        if missing is not None:
            what = "bench" if missing == "src" and "bench" in self._header else missing
            raise InputError(f"{what} is missing")
        unknown = next((name for name in given if name not in _OF_FLOWS), None)
        if unknown is not None:
            raise InputError(f"a flow has no parameter {shorten(unknown)!r}; it has {', '.join(_OF_FLOWS)}")
        where = f"{self.shown}:{line}"
        return FlowWork(
            given["src"],
            given["dst"],
            parse_bytes(given["bytes"], where),
            parse_kind(given.get("kind", "write"), where),
            parse_start(given.get("start_ns", "0"), where),
            given.get("run", line),
            fields,
        )


@lru_cache(maxsize=256)
def _find(name: str) -> Bench:
    return find_bench(name)
