"""The finished points of a directory, kept so that no crash loses or tears one.

Rows are written in parts, each a small parquet file that is complete and on the disk before it gets its name. Names are
unique, so any number of processes may write into one directory. Rows are found again by their point's key, which says
nothing of a grid: a grid that grows finds its old points, and two grids may share a directory.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError
from kernbench.sweep.row import COLUMNS, ERROR, LOST, OK, Row

if TYPE_CHECKING:
    import polars

WRITING_SHARE = 0.1  # of the time may be spent on writing; rows that come faster are written together
STALE_SECONDS = 3600  # a temporary file of this age belongs to no living process
TEMPORARY = ".unfinished-"
RANK = {LOST: 0, ERROR: 1, OK: 2}


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a file elsewhere, put it on the disk, then give it its name: readers see all of it or nothing.

    Errors: InputError if the directory cannot be written.
    """
    unfinished = path.with_name(f"{TEMPORARY}{uuid.uuid4().hex}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(unfinished)
        _sync(unfinished, os.O_RDWR)
        os.replace(unfinished, path)
        with suppress(OSError):  # not every system lets a directory be opened
            _sync(path.parent, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror or error}); give another --out") from None
    finally:
        with suppress(OSError):
            unfinished.unlink()


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Store:
    """The rows kept under `directory`/parts; `stamp` holds the columns that all rows appended here have in common."""

    def __init__(self, directory: Path, stamp: Row | None = None) -> None:
        self.parts = directory / "parts"
        self._stamp = stamp or {}
        self._unwritten: list[Row] = []
        self._next_write = 0.0

    def read(self, columns: Sequence[str] = tuple(COLUMNS)) -> polars.DataFrame:
        """One row a key, with `columns` (key and status among them); of several rows the most finished, then the first.

        Errors: InputError for a part that cannot be read.
        """
        import polars

        empty = polars.DataFrame(schema={name: COLUMNS[name] for name in columns})
        while True:
            try:
                rows = polars.concat([empty, *(_read_part(path, empty.schema) for path in self._paths())])
            except FileNotFoundError:  # another process has just merged parts: look again
                continue
            if not rows["key"].is_duplicated().any():  # as nearly always; sorting would copy all of them
                return rows
            rank = polars.col("status").replace_strict(RANK, return_dtype=polars.Int8)
            best = rows.sort(rank, descending=True, maintain_order=True)
            return best.unique("key", keep="first", maintain_order=True)

    def append(self, row: Row) -> bool:
        """Keep a row; returns whether it and all before it are on the disk already, not only after `flush`."""
        self._unwritten.append({**row, **self._stamp})
        if time.monotonic() >= self._next_write:
            self.flush()
        return not self._unwritten

    def append_frame(self, rows: polars.DataFrame) -> None:
        """Keep many rows at once, on the disk when this returns; columns of `COLUMNS` that are not there are null."""
        import polars

        stamp = [polars.lit(value).alias(name) for name, value in self._stamp.items()]
        self._write(_shaped(rows.with_columns(stamp), COLUMNS))

    def flush(self) -> None:
        """Write what `append` has collected."""
        if self._unwritten:
            import polars

            started = time.monotonic()
            self._write(polars.DataFrame(self._unwritten, schema=dict(COLUMNS)))
            self._unwritten = []
            ended = time.monotonic()
            self._next_write = ended + (ended - started) / WRITING_SHARE

    def compact(self) -> polars.DataFrame:
        """Make one part of all, then drop those it was made of; safe beside other processes. Returns the rows."""
        self._sweep_up()
        paths = self._paths()
        rows = self.read()
        if len(paths) > 1:
            self._write(rows)
            for path in paths:
                path.unlink(missing_ok=True)
        return rows

    def _paths(self) -> list[Path]:
        return sorted(path for path in self.parts.glob("*.parquet") if not path.name.startswith(TEMPORARY))

    def _write(self, rows: polars.DataFrame) -> None:
        write_whole(self.parts / f"{uuid.uuid4().hex}.parquet", rows.write_parquet)

    def _sweep_up(self) -> None:
        for path in self.parts.glob(f"{TEMPORARY}*"):
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()


def _shaped(rows: polars.DataFrame, schema: Mapping[str, Any]) -> polars.DataFrame:
    """The columns of a schema, null where a row of an earlier version has none."""
    import polars

    columns = (polars.col(name) if name in rows.columns else polars.lit(None).alias(name) for name in schema)
    return rows.select(columns).cast(dict(schema))  # type: ignore[arg-type]


def _read_part(path: Path, schema: Mapping[str, Any]) -> polars.DataFrame:
    import polars

    try:
        there = polars.read_parquet_schema(path)
        return _shaped(polars.read_parquet(path, columns=[name for name in schema if name in there]), schema)
    except (OSError, polars.exceptions.PolarsError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise InputError(f"{path} is not a part of a sweep ({error}); remove it to run its points again") from None
