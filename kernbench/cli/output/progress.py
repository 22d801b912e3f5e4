"""Progress display on a terminal; nothing elsewhere."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from kernbench.text import clip

if TYPE_CHECKING:
    from kernbench.limits.run_options import OnProgress, OnRuns

JOB = "KERNBENCH_JOB"  # the variable that makes a command the job of another program
_EVERY_S = 0.2  # between two lines of a job, at least

BESIDE_TEXT = 23  # characters: the spinner, the shortest bar, two times and the blanks between


class Display(NamedTuple):
    """The callbacks of a progress display."""

    say: Callable[[str], object]  # shows what is being done
    on_progress: OnProgress | None  # of `Session.run`; None if nothing is shown
    on_runs: OnRuns  # of a what-if table


@contextmanager
def progress() -> Generator[Display]:
    """A line on stderr from the first callback to the end of the block: what is being done, since when and how far.

    Nothing is shown if stderr is no terminal. A job of another program writes lines of JSON.
    """
    if is_job():
        yield _write_lines()
        return
    if not sys.stderr.isatty():
        yield Display(_stay_silent, None, _show_no_runs)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column

    columns = (
        SpinnerColumn(table_column=Column(no_wrap=True)),  # only the bar shrinks, and no time is cut
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(Column(no_wrap=True)),
        TimeRemainingColumn(table_column=Column(no_wrap=True)),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", visible=False)

        def say(text: str) -> None:
            bar.update(task, visible=True, description=clip(text, console.width - BESIDE_TEXT), completed=0)
            bar.tasks[0].total = None  # `update` would take None for no change

        def show_runs(done: float, total: int) -> None:
            bar.update(task, visible=True, completed=done, total=total, description=_tell_runs(done, total))

        def show(served: int, known: int, now_fs: int) -> None:
            known = max(known, served)
            text = f"simulating: {tell_progress(served, now_fs)}, {served / max(known, 1):.0%}"
            text = clip(text, console.width - BESIDE_TEXT)
            bar.update(task, visible=True, completed=served, total=known, description=text)

        yield Display(say, show, show_runs)


def is_job() -> bool:
    """Whether this command is the job of another program."""
    return os.environ.get(JOB) == "1"


def write_stage(stage: str, share: float | None = None) -> None:
    """Tell the program whose job this is what is being done, and how much of it is done, as a line of JSON on stderr."""
    sys.stderr.write(json.dumps({"stage": stage, "share": share}) + "\n")
    sys.stderr.flush()


def _write_lines() -> Display:
    """Callbacks that write what is being done, and how much of it is done, as lines of JSON on stderr."""
    text, due = "", 0.0
    share: float | None = None
    written: tuple[str, float | None] | None = None

    def write() -> None:
        nonlocal written, due
        if (text, share) == written or (time.monotonic() < due and written and share is not None):
            return
        written, due = (text, share), time.monotonic() + _EVERY_S
        write_stage(text, share)

    def say(next_text: str) -> None:
        nonlocal text, share
        text, share = next_text, None
        write()

    def show(served: int, known: int, now_fs: int) -> None:
        nonlocal text, share
        text, share = f"simulating: {tell_progress(served, now_fs)}", served / max(known, served, 1)
        write()

    def show_runs(done: float, total: int) -> None:
        nonlocal text, share
        text, share = _tell_runs(done, total), done / total
        write()

    return Display(say, show, show_runs)


def _tell_runs(done: float, total: int) -> str:
    return f"what if: {f'{done:.1f}'.removesuffix('.0')} of {total} runs done"


def _stay_silent(_text: str) -> None:
    pass


def _show_no_runs(_done: float, _total: int) -> None:
    pass


def tell_progress(served: int, now_fs: int) -> str:
    """How far a simulation has come."""
    return f"{served:,} flits served" + (f", {now_fs / 1e6:,.0f} ns simulated" if now_fs else "")


@contextmanager
def status_line() -> Generator[Callable[[str], object]]:
    """A callback that shows what is being done: that of `progress`."""
    with progress() as display:
        yield display.say
