"""Names of files while they are written, and the removal of those whose writers are gone.

A writer holds a lock on its unfinished file, which the system drops when the process ends, in whatever way. So an unfinished
file that can be locked belongs to nobody, and is removed. On a disk without locks its age decides.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without this kind of lock
    fcntl = None

PREFIX = ".unfinished-"
STALE_SECONDS = 3600  # a file of this age that cannot be locked belongs to no living process
_NAME = re.compile(re.escape(PREFIX) + r"[0-9a-f]{32}")


@contextmanager
def unfinished_file(folder: Path, suffix: str = "", mode: int = 0o666) -> Generator[Path]:
    """A new, empty file, to be written and renamed; removed at the end if it still has this name. Errors: OSError."""
    descriptor = None
    while descriptor is None:
        path = _name(folder, suffix)
        descriptor = _claim(path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


@contextmanager
def unfinished_directory(folder: Path) -> Generator[Path]:
    """A new directory, to be filled and renamed; removed at the end if it still has this name. Errors: OSError."""
    descriptor = None
    while descriptor is None:
        path = _name(folder)
        path.mkdir()
        descriptor = _claim(path, os.open(path, os.O_RDONLY))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


@contextmanager
def second_name(path: Path) -> Generator[Path]:
    """Another name of a file, under which it stays as it is while other processes replace it; a copy where there are no links.

    Errors: OSError.
    """
    descriptor = None
    while descriptor is None:
        held = _name(path.parent, path.suffix)
        _link_or_copy(path, held)
        descriptor = _claim(held, os.open(held, os.O_RDONLY))
    try:
        yield held
    finally:
        held.unlink(missing_ok=True)
        os.close(descriptor)


def list_claimed(folder: Path, suffix: str) -> list[Path]:
    """The unfinished files of a directory whose writers are at work. Errors: OSError."""
    return [path for path in sorted(folder.glob(f"{PREFIX}*{suffix}")) if _NAME.match(path.name) and _is_claimed(path)]


def remove_abandoned(folder: Path) -> None:
    """Remove the unfinished files and directories of a directory whose writers are gone."""
    with suppress(OSError):
        for path in folder.glob(f"{PREFIX}*"):
            if _NAME.match(path.name):
                _remove_if_abandoned(path)


def _link_or_copy(path: Path, to: Path) -> None:
    try:
        os.link(path, to)
    except OSError:  # not every disk has links
        try:
            shutil.copyfile(path, to)
        except BaseException:
            to.unlink(missing_ok=True)
            raise


def _name(folder: Path, suffix: str = "") -> Path:
    return folder / f"{PREFIX}{uuid.uuid4().hex}{suffix}"


def _claim(path: Path, descriptor: int) -> int | None:
    """Lock a file that was just made; None if it was removed before it had a lock."""
    if fcntl is not None:
        with suppress(OSError):  # a disk without locks
            fcntl.flock(descriptor, fcntl.LOCK_SH)  # the one kind that several names of a file can have at once
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)
        return None
    return descriptor


def _remove_if_abandoned(path: Path) -> None:
    with suppress(OSError):  # another process has removed it
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe of that name does not stop us
        try:
            if _is_abandoned(descriptor):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        finally:
            os.close(descriptor)


def _is_claimed(path: Path) -> bool:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            return not _is_abandoned(descriptor)
        finally:
            os.close(descriptor)
    return False


def _is_abandoned(descriptor: int) -> bool:
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass  # a disk without locks
        else:
            return True
    return time.time() - os.fstat(descriptor).st_mtime > STALE_SECONDS
