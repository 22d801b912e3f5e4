"""The finished points of a directory, kept so that no crash loses or tears one.

Rows are written in parts, each a small parquet file that is complete and on the disk before it gets its name. Names are
unique, so any number of processes may write into one directory. Rows are found again by their point's key, which says
nothing of a grid: a grid that grows finds its old points, and two grids may share a directory.

A name ends in a digest of the part. A part that is not what its name says is set aside with a warning, as is what is no part at
all: its points run again.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.atomic_output import FULL, refusals, sync_directory, sync_file, system_error, unreadable
from kernbench.errors import InputError, RunError
from kernbench.sealing import seal_parquet
from kernbench.sweep.row import COLUMNS, ERROR, LOST, OK, Row
from kernbench.unfinished import PREFIX, remove_abandoned, unfinished_file

if TYPE_CHECKING:
    import polars

SLICE = 1 << 14  # rows that are looked at together
WHOLE_BYTES = 1 << 18  # a part of this size, some thousand rows, is merged with no other
WRITING_SHARE = 0.1  # of the time may be spent on writing; rows that come faster are written together
DAMAGED = "damaged"  # the directory of parts that were set aside
_PART = re.compile(r"[0-9a-f]{32}-([0-9a-f]{32})\.parquet")
RANK = {LOST: 0, ERROR: 1, OK: 2}


def write_whole(path: Path, write: Callable[[Path], object], *, mark: bool = False) -> None:
    """Let `write` make a file elsewhere, put it on the disk, then give it its name: readers see all of it or nothing.

    With `mark` the name ends in its digest, before the suffix. Errors: RunError if the disk is full, InputError if the
    directory cannot be written for another reason.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished_file(path.parent, path.suffix) as unfinished:
            write(unfinished)
            sync_file(unfinished)
            os.replace(unfinished, path.with_stem(f"{path.stem}-{_digest(unfinished)}") if mark else path)
        sync_directory(path.parent)
    except refusals() as error:
        refusal = system_error(error, path.parent)
        kind = RunError if refusal.errno in FULL else InputError
        raise kind(f"cannot write {path} ({refusal.strerror}); give another --out") from None


def write_frames(path: Path, frames: Iterator[polars.DataFrame]) -> None:
    """Write one or more frames of one schema as one parquet file with its digest; one at a time is in memory.

    Errors: as `write_whole`, and what the frames raise.
    """
    from polars.io.plugins import register_io_source

    first = next(frames)
    failures: list[BaseException] = []

    def source(*_: object) -> Iterator[polars.DataFrame]:
        try:
            yield first
            yield from frames
        except BaseException as error:  # polars would replace it by an error of its own; `write` raises it again
            failures.append(error)
            raise

    def write(file: Path) -> None:
        try:
            register_io_source(source, schema=first.schema).sink_parquet(file, row_group_size=SLICE)
            seal_parquet(file)
        except BaseException:  # a panic of polars is no Exception
            if failures:
                raise failures[0] from None
            raise

    write_whole(path, write)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


class Store:
    """The rows kept under `directory`/parts; `stamp` holds the columns that all rows appended here have in common."""

    def __init__(self, directory: Path, stamp: Row | None = None) -> None:
        self.parts = directory / "parts"
        self._stamp = stamp or {}
        self._sound: set[str] = set()  # names of parts that are what they say
        self._unwritten: list[Row] = []
        self._next_write = 0.0

    def scan(self, columns: Sequence[str] = tuple(COLUMNS)) -> Iterator[tuple[Path, int, polars.DataFrame]]:
        """All rows, `SLICE` at a time: the part they are of, the place of the first in it, the rows. A key may have several.

        Errors: InputError for a part that cannot be read; FileNotFoundError when another process has just merged it.
        """
        for path in self._paths():
            first = 0
            while len(rows := read_part(path, columns, first, SLICE)):
                yield path, first, rows
                first += len(rows)

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

    def compact(self) -> None:
        """Make one part of many small ones, then drop those it was made of; safe beside other processes."""
        for folder in (self.parts.parent, self.parts):
            remove_abandoned(folder)
        with suppress(FileNotFoundError):  # another process is merging the same
            batch: list[Path] = []
            for path in self._paths():
                if path.stat().st_size < WHOLE_BYTES:
                    batch.append(path)
                if sum(path.stat().st_size for path in batch) >= WHOLE_BYTES:
                    self._merge(batch)
                    batch = []
            self._merge(batch)

    def _merge(self, paths: Sequence[Path]) -> None:
        import polars

        if len(paths) > 1:
            self._write(best_rows(polars.concat(read_part(path) for path in paths)))
            for path in paths:
                path.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        found = sorted(path for path in self.parts.glob("*.parquet") if not path.name.startswith(PREFIX))
        return [path for path in found if self._is_sound(path)]

    def _is_sound(self, path: Path) -> bool:
        """Whether a file is the part that its name says; if not, it is set aside. Errors: as `scan`."""
        if path.name in self._sound:
            return True
        named = _PART.fullmatch(path.name)
        try:
            if named and path.is_file() and named[1] == _digest(path):
                self._sound.add(path.name)
                return True
            path.lstat()
        except FileNotFoundError:  # its rows are in a part that may not have been listed
            raise
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}); give another --out") from None
        self._set_aside(path)
        return False

    def _set_aside(self, path: Path) -> None:
        to = self.parts / DAMAGED / path.name
        with suppress(FileNotFoundError):  # another process has done so
            to.parent.mkdir(exist_ok=True)
            os.replace(path, to)
            warnings.warn(
                f"{path} is not what was written there; it is {to} now, and its points run again", stacklevel=2
            )

    def _write(self, rows: polars.DataFrame) -> None:
        write_whole(self.parts / f"{uuid.uuid4().hex}.parquet", rows.write_parquet, mark=True)


def _shaped(rows: polars.DataFrame, schema: Mapping[str, Any]) -> polars.DataFrame:
    """The columns of a schema, null where a row of an earlier version has none."""
    import polars

    columns = (polars.col(name) if name in rows.columns else polars.lit(None).alias(name) for name in schema)
    return rows.select(columns).cast(dict(schema))  # type: ignore[arg-type]


def read_part(
    path: Path, columns: Sequence[str] = tuple(COLUMNS), first: int = 0, count: int | None = None
) -> polars.DataFrame:
    """Rows of a part, from a place on; a column that an earlier version did not have is null. Errors: as `Store.scan`."""
    import polars

    try:
        part = polars.scan_parquet(path)
        there = part.collect_schema().names()
        rows = part.select(name for name in columns if name in there).slice(first, count).collect()
        return _shaped(rows, {name: COLUMNS[name] for name in columns})
    except (OSError, *unreadable()) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise InputError(f"{path} is not a part of a sweep ({error}); remove it to run its points again") from None


def best_rows(rows: polars.DataFrame) -> polars.DataFrame:
    """One row a key: of several the most finished, then the first."""
    import polars

    rank = polars.col("status").replace_strict(RANK, return_dtype=polars.Int8)
    return rows.sort(rank, descending=True, maintain_order=True).unique("key", keep="first", maintain_order=True)
