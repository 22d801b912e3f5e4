"""Read flows from a CSV file: columns src, dst, bytes, start_ns and, optionally, kind; other columns are ignored.

Plain numbers are converted as whole columns; any other text is parsed alone, each distinct text once. Which line a row begins
in is found when an error has to name it, since a text in quotes may be of several lines.
"""

from __future__ import annotations

import csv
import io
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernbench.atomic_output import unreadable
from kernbench.characters import check_characters
from kernbench.errors import InputError, shorten, suggest
from kernbench.traffic.flows import LATEST_NS, MOST_BYTES, Flows, parse_bytes, parse_kind, parse_start
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import polars

COLUMNS = ("src", "dst", "bytes", "start_ns")
_ROW = "row of the file"  # from 0, the header's
_COMMENT = "the line begins with #, and a file of flows has no comments; remove the line"


def read_flows(path: Path) -> Flows:
    """The flows of a file. Errors: InputError naming the file, and the line if it is about one."""
    import polars

    table, content = _read(path)
    rows = table[_ROW].to_numpy()

    def where(flow: int) -> str:
        return f"{path}:{_line_of(path, content, rows[flow])}"

    nbytes = table["bytes"].cast(polars.Int64, strict=False)
    start_ns = table["start_ns"].cast(polars.Float64, strict=False)
    kind = polars.repeat("write", len(table), eager=True)
    if "kind" in table.columns:
        kind = table["kind"].fill_null("write")
    names = tuple(polars.concat([table["src"], table["dst"]]).unique(maintain_order=True))
    code = polars.Enum(names)
    return Flows(
        names=names,
        src=_numbers(table["src"].cast(code).to_physical()),
        dst=_numbers(table["dst"].cast(code).to_physical()),
        nbytes=_converted(nbytes, nbytes.is_between(1, MOST_BYTES), table["bytes"], parse_bytes, where),
        start_fs=_converted(
            (start_ns * FS_PER_NS).round(), start_ns.is_between(0, LATEST_NS), table["start_ns"], parse_start, where
        ),
        read=_converted(kind == "read", kind == "write", kind, parse_kind, where).astype(bool),
        where=where,
    )


def _read(path: Path) -> tuple[polars.DataFrame, bytes]:
    """The rows that are not blank, as texts, with the number of each; and what the file holds.

    Errors: InputError for what is no CSV file, and for a missing column or value.
    """
    import polars

    check_characters(str(path), "the file of flows")
    try:
        content = path.read_bytes()  # a pipe is read once
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or b"\0" in content[:2]:
        raise InputError(f"{path} is a text in UTF-16; save it in UTF-8")
    table = _texts(path, content)
    table = table.with_row_index(_ROW, offset=1).filter(~polars.all_horizontal(polars.exclude(_ROW).is_null()))
    if table.is_empty():
        raise InputError(f"{path} holds no flows; give at least one line below the header")
    comments = table[table.columns[1]].str.starts_with("#").fill_null(False).arg_true()
    if len(comments):
        raise InputError(f"{path}:{_line_of(path, content, table[_ROW][comments[0]])}: {_COMMENT}")
    for name in COLUMNS:
        empty = table[name].is_null().arg_true()
        if len(empty):
            raise InputError(f"{path}:{_line_of(path, content, table[_ROW][empty[0]])}: {name} is missing")
    return table, content


def _texts(path: Path, content: bytes) -> polars.DataFrame:
    """All rows below the header as stripped texts; empty fields are null."""
    import polars

    names = _header(path, content)
    try:
        table = polars.read_csv(content, infer_schema=False)
    except unreadable() as error:
        raise InputError(_ragged(path, content) or f"{path} is no CSV file: {str(error).splitlines()[0]}") from None
    if any(names.count(name) > 1 for name in names if name):
        raise InputError(f"{path}:1: a column is named twice: {','.join(names)}")
    table = table.rename({name: name.strip() or name for name in table.columns})  # names may be blank, and several
    return table.with_columns(polars.all().str.strip_chars().replace("", None))


def _header(path: Path, content: bytes) -> list[str]:
    """The names of the columns. Errors: InputError for a first line that is no header, or lacks a column."""
    line, fields = next(_lines(path, content), (1, list[str]()))
    if not fields:
        raise InputError(f"{path} holds no flows; give a header and at least one line below")
    names = [field.strip() for field in fields]
    if names[0].startswith("#"):
        raise InputError(f"{path}:{line}: {_COMMENT}")
    missing = [name for name in COLUMNS if name not in names]
    if len(missing) == len(COLUMNS):
        parted = next((repr(mark) for mark in (";", "\t") if mark in names[0]), None)
        if parted:
            raise InputError(f"{path}:{line}: {parted} stands between the columns; put a comma there")
        if {name.lower() for name in names} & set(COLUMNS):
            got = shorten(",".join(fields))
            raise InputError(f"{path}:{line}: columns are named in small letters, {','.join(COLUMNS)}; got {got}")
        raise InputError(
            f"{path}:{line}: the first line names no column: {shorten(','.join(fields))}; put {','.join(COLUMNS)} above it"
        )
    if missing:
        raise InputError(
            f"{path}:{line}: column {missing[0]!r} is missing{suggest(missing[0], names)}; "
            f"a flow has {', '.join(COLUMNS)} and, if you like, kind"
        )
    return names


def _ragged(path: Path, content: bytes) -> str | None:
    """The error text for the first row with more fields than the header; None if there is none."""
    rows = _lines(path, content)
    _, header = next(rows)
    for line, row in rows:
        if len(row) > len(header):
            wrong = f"got {len(row)} fields, expected {len(header)} as in the header"
            return f"{path}:{line}: {_COMMENT if row[0].strip().startswith('#') else wrong}"
    return None


def _line_of(path: Path, content: bytes, row: int) -> int:
    """The line of the file that a row begins in; row 0 is the header."""
    line, _ = next(islice(_lines(path, content), row, None))
    return line


def _lines(path: Path, content: bytes) -> Iterator[tuple[int, list[str]]]:
    """From the header on each row's first line, and its fields; none in a blank line. Errors: InputError."""
    rows = csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", "replace", newline=""))
    line, begun = 1, False
    try:
        for row in rows:
            begun = begun or bool(row)
            if begun:
                yield line, row
            line = rows.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}:{line}: {error}") from None


def _converted(
    numbers: polars.Series,
    plain: polars.Series,
    texts: polars.Series,
    parse: Callable[[str, str], int],
    where: Callable[[int], str],
) -> np.ndarray:
    """int64[flow] values of a column: plain numbers as they are, other texts parsed."""
    simple = plain.fill_null(False).to_numpy()
    found = np.zeros(len(simple), np.int64)
    found[simple] = numbers.filter(plain.fill_null(False)).to_numpy()
    known: dict[str, int] = {}
    for flow in np.flatnonzero(~simple).tolist():
        text = texts[flow]
        if text not in known:
            known[text] = parse(text, where(flow))
        found[flow] = known[text]
    return found


def _numbers(codes: polars.Series) -> np.ndarray:
    return codes.to_numpy().astype(np.int64)
