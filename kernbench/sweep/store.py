"""The finished points of a directory, kept so that no crash loses or tears one.

Rows are written in parts, each a small parquet file that is complete and on the disk before it gets its name. Names are
unique, so any number of processes may write into one directory. Rows are found again by their point's key, which says
nothing of a grid: a grid that grows finds its old points, and two grids may share a directory.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from kernbench.errors import InputError
from kernbench.sweep.row import COLUMNS, ERROR, LOST, OK, Row

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
    """The rows kept under `directory`/parts."""

    def __init__(self, directory: Path) -> None:
        self.parts = directory / "parts"
        self._unwritten: list[Row] = []
        self._next_write = 0.0

    def read(self) -> dict[str, dict[str, Any]]:
        """Every row by its key; of several the most finished. Errors: InputError for a part that cannot be read."""
        while True:
            rows: dict[str, dict[str, Any]] = {}
            try:
                for path in self._paths():
                    for row in _read_part(path):
                        kept = rows.get(row["key"])
                        if kept is None or RANK[row["status"]] > RANK[kept["status"]]:
                            rows[row["key"]] = row
            except FileNotFoundError:  # another process has just merged parts: look again
                continue
            return rows

    def append(self, row: Row) -> bool:
        """Keep a row; returns whether it and all before it are on the disk already, not only after `flush`."""
        self._unwritten.append(row)
        if time.monotonic() >= self._next_write:
            self.flush()
        return not self._unwritten

    def flush(self) -> None:
        """Write what `append` has collected."""
        if self._unwritten:
            started = time.monotonic()
            self._write(self._unwritten)
            self._unwritten = []
            ended = time.monotonic()
            self._next_write = ended + (ended - started) / WRITING_SHARE

    def compact(self) -> None:
        """Make one part of all, then drop those it was made of; safe beside other processes."""
        self._sweep_up()
        paths = self._paths()
        if len(paths) > 1:
            self._write(self.read().values())
            for path in paths:
                path.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        return sorted(path for path in self.parts.glob("*.parquet") if not path.name.startswith(TEMPORARY))

    def _write(self, rows: Iterable[Row]) -> None:
        import polars

        frame = polars.DataFrame(list(rows), schema=dict(COLUMNS))
        write_whole(self.parts / f"{uuid.uuid4().hex}.parquet", frame.write_parquet)

    def _sweep_up(self) -> None:
        for path in self.parts.glob(f"{TEMPORARY}*"):
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()


def _read_part(path: Path) -> list[dict[str, Any]]:
    import polars

    try:
        return polars.read_parquet(path, columns=list(COLUMNS)).to_dicts()
    except (OSError, polars.exceptions.PolarsError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise InputError(f"{path} is not a part of a sweep ({error}); remove it to run its points again") from None
