"""Write several files to one directory atomically: all of them or none.

They are written in a hidden directory, inside or beside theirs, put on the disk, and moved when complete. A new directory
appears in one step. In one that is there already the summaries (`.json`) of an earlier run go before the first file is moved,
and the new ones come last: a directory with a summary holds all files of one run.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.characters import check_characters
from kernbench.errors import RunError
from kernbench.sealing import dump_sealed_json, seal_parquet
from kernbench.unfinished import remove_abandoned, unfinished_directory, unfinished_file

try:
    import fcntl
except ImportError:  # a system without this kind of lock
    fcntl = None

if TYPE_CHECKING:
    import polars

RESULT = "result.json"
SUMMARY = ".json"
FULL = (errno.ENOSPC, errno.EDQUOT)
_TRIAL_BYTES = 1 << 16  # more than a file system keeps free in blocks that have been begun
_OS_ERROR = re.compile(r"\(os error (\d+)\)")


def refusals() -> tuple[type[Exception], ...]:
    """The exceptions of a failed write: of Python, and of polars, which wraps system errors."""
    polars = sys.modules.get("polars")
    return (OSError, polars.exceptions.ComputeError) if polars else (OSError,)


def unreadable() -> tuple[type[BaseException], ...]:
    """The exceptions of polars at a file of strangers; a panic of its is no `Exception`."""
    from polars.exceptions import PanicException, PolarsError

    return PolarsError, PanicException


def system_error(refusal: Exception, directory: Path) -> OSError:
    """The system error of a failed write into a directory; polars has it in its words at best, else a trial write finds it."""
    if isinstance(refusal, OSError):
        return refusal
    if found := _OS_ERROR.search(str(refusal)):
        return OSError(int(found[1]), os.strerror(int(found[1])))
    try:
        with tempfile.TemporaryFile(dir=directory) as trial:
            trial.write(bytes(_TRIAL_BYTES))
            trial.flush()
            os.fsync(trial.fileno())
    except OSError as error:
        return error
    return OSError(errno.EIO, str(refusal))


def write_directory(out: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a directory in or beside `out`, then move its files there. Errors: RunError if a write fails."""
    check_characters(str(out), "the directory")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        room = out if out.is_dir() else out.parent  # of one file system with it
        remove_abandoned(room)
        with unfinished_directory(room) as partial:
            try:
                write(partial)
            except refusals() as error:
                raise system_error(error, partial) from error
            for file in partial.iterdir():
                sync_file(file)
            _move(partial, out)
        sync_directory(out.parent)
    except OSError as error:
        raise RunError(f"the run is done but {out} cannot be written: {error.strerror}; nothing was kept") from error


def write_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file of a run as `place_file` does. Errors: RunError if a write fails."""
    try:
        place_file(path, write)
    except OSError as error:
        raise RunError(f"the run is done but {path} cannot be written: {error.strerror}; nothing was kept") from error


def place_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a file beside `path`, put it on the disk, then give it this name. Errors: OSError if a write fails."""
    check_characters(str(path), "the file")
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(path.parent)
    with unfinished_file(path.parent, path.suffix) as partial:
        write(partial)
        sync_file(partial)
        partial.replace(path)
    sync_directory(path.parent)


def write_json(summary: Mapping[str, Any], path: Path) -> None:
    """Write one JSON object, indented, with its digest."""
    path.write_text(dump_sealed_json(summary), encoding="utf-8")


def write_parquet(table: polars.DataFrame, path: Path) -> None:
    """Write a table as parquet, with its digest."""
    table.write_parquet(path)
    seal_parquet(path)


def sync_file(path: Path) -> None:
    """Put what was written to a file on the disk. Errors: OSError."""
    _sync(path, os.O_RDWR)


def sync_directory(path: Path) -> None:
    """Put the names in a directory on the disk, if the system lets a directory be opened."""
    with suppress(OSError):
        _sync(path, os.O_RDONLY)


def _move(partial: Path, out: Path) -> None:
    if not out.exists():
        with suppress(OSError):  # another run has just made it
            partial.rename(out)
            return
    out.mkdir(exist_ok=True)
    files = sorted(partial.iterdir(), key=lambda file: (file.suffix == SUMMARY, file.name))
    with _locked(out):
        for file in files:
            if file.suffix == SUMMARY:
                (out / file.name).unlink(missing_ok=True)
        for file in files:
            file.replace(out / file.name)
        sync_directory(out)


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Let no other run move files to a directory; without effect on a disk without locks."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
