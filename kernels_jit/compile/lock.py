"""A lock between processes: one compiles the event loop, which takes a minute, and the others load what it has kept.

Workers of tests, and runs that are started side by side, all begin without compiled code. The lock is of the operating
system, which takes it from a process that ends, in whatever way. Where there is none each process compiles for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep

from kernels_jit.compile.cache import directory, seal_files
from kernels_jit.compile.progress import waiting

try:
    import fcntl
except ImportError:  # a system without locks of this kind
    fcntl = None

LOOK_S = 0.1  # between two looks whether the lock is free


@contextmanager
def compile_lock(folder: Path | None = None) -> Iterator[None]:
    """Hold the lock of a cache directory, by default ours; at the end seal what has been compiled and let the next go on."""
    folder = folder or directory()
    try:
        file = (folder / "lock").open("wb")
    except OSError:  # a full disk, or a directory that is gone
        yield
        return
    with file:
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                _take(file.fileno())
        try:
            yield
        finally:
            seal_files(folder)
            if fcntl is not None:
                with suppress(OSError):  # explicitly: a process that was forked meanwhile has the file open, too
                    fcntl.flock(file, fcntl.LOCK_UN)


def _take(file: int) -> None:
    """Wait for the lock of an open file. Errors: OSError of a file system without locks."""
    assert fcntl is not None
    with waiting() as tell:
        while True:
            try:
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                sleep(LOOK_S)
                tell()
