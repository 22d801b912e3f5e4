"""Progress inside of points: what a point that runs long reports, in whatever thread or process it runs.

Code that runs points reports to the listener of its thread, if there is one. A worker's listener passes the reports on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class PointProgress(NamedTuple):
    """How far a point has come. Of its simulation: flits served, simulated time (fs), share that is done, 0 to 1."""

    point: int  # its index
    stage: str  # what is being done
    served: int = 0
    now_fs: int = 0
    share: float = 0.0


OnProgress = Callable[[PointProgress], object]

_listener: ContextVar[OnProgress | None] = ContextVar("listener", default=None)


@contextmanager
def listen(on_progress: OnProgress | None) -> Generator[None]:
    """Have what this thread reports within the block go to a callback, or to none."""
    token = _listener.set(on_progress)
    try:
        yield
    finally:
        _listener.reset(token)


def report_stage(point: int, stage: str) -> None:
    """Report what is done next for a point."""
    if listener := _listener.get():
        listener(PointProgress(point, stage))


def report_run(point: int, served: int, known: int, now_fs: int) -> None:
    """Report how far the simulation of a point has come; see `Session.run`."""
    if listener := _listener.get():
        listener(PointProgress(point, "simulating", served, now_fs, served / max(known, served, 1)))
