"""Worker processes that may die without harm.

Each worker has a pipe of its own and one batch at a time, so when one dies (killed for its memory, a crash in compiled
code) we know which points it had: those whose rows have not come are tried one by one, in fresh workers, and one that
kills its worker again and again is given up. `concurrent.futures` cannot say which point it was, and its workers outlive a
parent that is killed; ours see the end of their pipe and go.

Workers are forked from a server process that has imported what they need and started no threads, since a fork of a
process in which numba or polars have threads can hang; where there is no such server, they are spawned.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import time
import types
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from kernbench.sweep.execution.batches import Batch
from kernbench.sweep.execution.point_progress import OnProgress, PointProgress, listen
from kernbench.sweep.execution.worker import RunPoint, attempt_all
from kernbench.sweep.point import Point
from kernbench.sweep.row import LOST, Row, failed_row

MOST_TRIES = 2
OBJECTS = 50_000  # that a worker makes between two looks for garbage: about as many as a point has
TELLING_S = 0.05  # how long a worker may keep rows to itself

Outcome = tuple[Point, Row]  # a point with its row
Outcomes = Generator[Outcome, None, None]
Task = tuple[Batch, int]  # a batch with the number of this try


def run_here(batches: Iterable[Batch], run: RunPoint) -> Outcomes:
    """Run points one after the other in this process."""
    for batch in batches:
        yield from zip(batch.points, attempt_all(run, batch), strict=True)


def run_in_workers(
    batches: Iterable[Batch], run: RunPoint, workers: int, on_progress: OnProgress | None = None
) -> Outcomes:
    """Run points in worker processes; yields each as it finishes, in no fixed order.

    `run` must be importable by its name. When the iterator is closed, workers that are still at a point are killed.
    """
    waiting, again = iter(batches), deque[Task]()
    start = _starter(run, on_progress)
    started: list[_Worker] = []
    try:
        while _hand_out(waiting, again, started, workers, start):
            for worker in _ready(started):
                rows = worker.collect()
                if rows is not None:
                    yield from rows
                    continue
                (batch, tries), left = worker.take_task()
                started.remove(worker)
                worker.stop(at_work=True)
                if tries < MOST_TRIES or len(batch) > 1:
                    tries = 0 if len(batch) > 1 else tries
                    again.extend((Batch((point,), batch.alike), tries + 1) for point in left)
                else:
                    yield from ((point, lost_row(point, _cause(worker.exit_code))) for point in left)
    finally:
        for worker in started:
            worker.stop()


class _Worker:
    """A worker process seen from the parent: its pipe, and the task it is at."""

    def __init__(self, process: Any, pipe: Connection, on_progress: OnProgress | None) -> None:
        self.pipe = pipe
        self._on_progress = on_progress
        self.task: Task | None = None
        self.exit_code: int | None = None
        self._left: deque[Point] = deque()  # of the task, points whose rows have not come
        self._process = process

    def give(self, task: Task) -> None:
        self.task = task
        self._left = deque(task[0].points)
        with suppress(OSError):  # it is dead: `collect` will find out
            self.pipe.send(task[0])

    def take_task(self) -> tuple[Task, list[Point]]:
        """Its task, and the points of it that are left."""
        assert self.task is not None
        task, self.task = self.task, None
        return task, list(self._left)

    def collect(self) -> list[Outcome] | None:
        """The rows that have arrived, with their points; None when the process is dead. Progress is passed on."""
        try:
            rows = self.pipe.recv()
        except (EOFError, OSError):
            return None
        if isinstance(rows, PointProgress):
            if self._on_progress is not None:
                self._on_progress(rows)
            return []
        found = [(self._left.popleft(), row) for row in rows]
        if not self._left:
            self.task = None
        return found

    def stop(self, *, at_work: bool = False) -> None:
        if at_work or self.task is not None:
            self._process.kill()
        self.pipe.close()
        self._process.join()
        self.exit_code = self._process.exitcode
        self._process.close()


def _hand_out(
    waiting: Iterator[Batch], again: deque[Task], started: list[_Worker], workers: int, start: Callable[[], _Worker]
) -> bool:
    """Give tasks to idle workers, start workers up to their number; returns whether any is at work."""
    while len(started) < workers or any(worker.task is None for worker in started):
        task = again.popleft() if again else next(((batch, 1) for batch in waiting), None)
        if task is None:
            break
        idle = next((worker for worker in started if worker.task is None), None)
        if idle is None:
            idle = start()
            started.append(idle)
        idle.give(task)
    return any(worker.task for worker in started)


def _ready(started: list[_Worker]) -> list[_Worker]:
    ready = wait([worker.pipe for worker in started if worker.task])
    return [worker for worker in started if worker.pipe in ready]


def lost_row(point: Point, cause: str) -> Row:
    """The row of a point that has killed its worker `MOST_TRIES` times."""
    died = f"the worker process died {MOST_TRIES} times at this point ({cause})"
    return {**failed_row(LOST, f"{died}; with fewer workers each has more memory"), "key": point.key}


def _cause(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"killed by {signal.Signals(-exit_code).name}"
    return f"exit code {exit_code}"


def _starter(run: RunPoint, on_progress: OnProgress | None) -> Callable[[], _Worker]:
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["kernbench.sweep.execution.preload"])

    def start() -> _Worker:
        ours, theirs = context.Pipe()
        arguments = (theirs, run, os.getcwd(), dict(os.environ), on_progress is not None)
        process = context.Process(target=_serve, args=arguments, daemon=True)
        with script_hidden(unless=run.__module__ == "__main__"):
            process.start()
        theirs.close()
        return _Worker(process, ours, on_progress)

    return start


@contextmanager
def script_hidden(*, unless: bool) -> Generator[None]:
    """Hide the caller's script, which multiprocessing would run again in every worker; workers need nothing of it."""
    script = sys.modules["__main__"]
    if not unless:
        sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _serve(pipe: Connection, run: RunPoint, directory: str, environment: dict[str, str], tells: bool) -> None:
    """A worker's life: batches in, rows out, progress if it `tells`, until the pipe ends. Ctrl-C is the parent's to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.chdir(directory)
    os.environ.update(environment)
    gc.freeze()  # what is there now stays, and need not be looked through again
    gc.set_threshold(OBJECTS)
    with suppress(EOFError, OSError), listen(pipe.send if tells else None):
        while True:
            rows: list[Row] = []
            sent = time.monotonic()
            for row in attempt_all(run, pipe.recv()):
                rows.append(row)
                if time.monotonic() - sent > TELLING_S:
                    pipe.send(rows)
                    rows, sent = [], time.monotonic()
            if rows:
                pipe.send(rows)
