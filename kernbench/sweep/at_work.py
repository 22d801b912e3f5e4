"""Sweeps that are at work in a directory, so that another one there says so. Both go on: no row is torn or lost."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from kernbench.unfinished import list_claimed, unfinished_file

SUFFIX = ".pid"
MOST_CHARACTERS = 100  # of what such a file says


@contextmanager
def at_work(directory: Path) -> Generator[None]:
    """Be at work in a directory for the block; warn of others who are.

    The file that says so has a lock, which the system drops with the process, in whatever way that ends. Where none can be
    made, nothing is said.
    """
    with ExitStack() as held:
        with suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True)
            own = held.enter_context(unfinished_file(directory, SUFFIX))
            own.write_text(f"process {os.getpid()} on {platform.node()}", encoding="utf-8")
            if others := [_read(path) for path in list_claimed(directory, SUFFIX) if path != own]:
                warnings.warn(
                    f"another sweep is at work in {directory}: {', '.join(others)}; points that both lack run twice, and the "
                    "table will be that of the sweep that ends last",
                    stacklevel=2,
                )
        yield


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_bytes()[:MOST_CHARACTERS].decode(errors="replace") or "a process that has just begun"
    return "a process that is just ending"
