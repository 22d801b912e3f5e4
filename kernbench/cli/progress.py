"""Progress display on a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from kernbench.text import clip

if TYPE_CHECKING:
    from kernbench.engine.progress import OnProgress

BESIDE_TEXT = 23  # characters: the spinner, the shortest bar, two times and the blanks between


class Display(NamedTuple):
    """The two callbacks of a progress display."""

    say: Callable[[str], object]  # shows what is being done
    on_progress: OnProgress | None  # of `Session.run`; None if nothing is shown


@contextmanager
def progress() -> Generator[Display]:
    """A line on stderr from the first callback to the end of the block: what is being done, since when and how far.

    Nothing is shown if stderr is no terminal.
    """
    if not sys.stderr.isatty():
        yield Display(_stay_silent, None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", visible=False)

        def say(text: str) -> None:
            bar.update(task, visible=True, description=clip(text, console.width - BESIDE_TEXT), completed=0)
            bar.tasks[0].total = None  # `update` would take None for no change

        def show(served: int, known: int, now_fs: int) -> None:
            known = max(known, served)
            text = f"simulating: {tell_progress(served, now_fs)}, {served / max(known, 1):.0%}"
            text = clip(text, console.width - BESIDE_TEXT)
            bar.update(task, visible=True, completed=served, total=known, description=text)

        yield Display(say, show)


def _stay_silent(_text: str) -> None:
    pass


def tell_progress(served: int, now_fs: int) -> str:
    """How far a simulation has come."""
    return f"{served:,} flits served" + (f", {now_fs / 1e6:,.0f} ns simulated" if now_fs else "")


@contextmanager
def status_line() -> Generator[Callable[[str], object]]:
    """A callback that shows what is being done: that of `progress`."""
    with progress() as display:
        yield display.say
