"""Read flows from a CSV file: columns src, dst, bytes, start_ns and, optionally, kind; other columns are ignored.

Plain numbers are converted as whole columns; any other text is parsed alone, each distinct text once.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.atomic_output import unreadable
from kernbench.characters import check_characters
from kernbench.errors import InputError, suggest
from kernbench.traffic.flows import LATEST_NS, MOST_BYTES, Flows, parse_bytes, parse_kind, parse_start
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import polars

COLUMNS = ("src", "dst", "bytes", "start_ns")
_LINE = "line of the file"


def read_flows(path: Path) -> Flows:
    """The flows of a file. Errors: InputError naming the file, and the line if it is about one."""
    import polars

    table = _read(path)
    lines = table[_LINE].to_numpy()

    def where(flow: int) -> str:
        return f"{path}:{lines[flow]}"

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


def _read(path: Path) -> polars.DataFrame:
    """The rows that are not blank, as texts, with the line of each. Errors: InputError for a missing column or value."""
    import polars

    table = _texts(path)
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise InputError(
            f"{path}:1: column {missing[0]!r} is missing{suggest(missing[0], table.columns)}; "
            f"a flow has {', '.join(COLUMNS)} and, if you like, kind"
        )
    table = table.with_row_index(_LINE, offset=2).filter(~polars.all_horizontal(polars.exclude(_LINE).is_null()))
    if table.is_empty():
        raise InputError(f"{path} holds no flows; give at least one line below the header")
    for name in COLUMNS:
        empty = table[name].is_null().arg_true()
        if len(empty):
            raise InputError(f"{path}:{table[_LINE][empty[0]]}: {name} is missing")
    return table


def _texts(path: Path) -> polars.DataFrame:
    """All lines below the header as stripped texts; empty fields are null."""
    import polars

    check_characters(str(path), "the file of flows")
    try:
        content = path.read_bytes()  # a pipe is read once
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    try:
        table = polars.read_csv(content, infer_schema=False)
    except unreadable() as error:
        raise InputError(_ragged(path, content) or f"{path} is no CSV file: {str(error).splitlines()[0]}") from None
    names = [name.strip() for name in next(_lines(content))]  # polars renames the second of two equal names
    if any(names.count(name) > 1 for name in names if name):
        raise InputError(f"{path}:1: a column is named twice: {','.join(names)}")
    table = table.rename({name: name.strip() or name for name in table.columns})  # names may be blank, and several
    return table.with_columns(polars.all().str.strip_chars().replace("", None))


def _ragged(path: Path, content: bytes) -> str | None:
    """The error text for the first line with more fields than the header; None if there is none."""
    rows = _lines(content)
    header = next(rows, list[str]())
    for row in rows:
        if len(row) > len(header):
            return f"{path}:{rows.line_num}: got {len(row)} fields, expected {len(header)} as in the header"
    return None


def _lines(content: bytes) -> Any:
    """A `csv.reader`."""
    return csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", "replace", newline=""))


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
