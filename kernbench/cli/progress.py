"""Progress display on a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def progress() -> Generator[Callable[[int, int, int], None] | None]:
    """A callback for a run's `on_progress`: shows a bar on stderr from the first call on, and removes it at the end.

    None if stderr is no terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("running", visible=False)

        def show(served: int, known: int, now_fs: int) -> None:
            text = f"{served:,} flits served" + (f", {now_fs / 1e6:,.0f} ns simulated" if now_fs else "")
            bar.update(task, visible=True, completed=served, total=max(known, served), description=text)

        yield show


@contextmanager
def status_line() -> Generator[Callable[[str], None]]:
    """A callback that shows a text on stderr until the end of the block; it does nothing if stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update
