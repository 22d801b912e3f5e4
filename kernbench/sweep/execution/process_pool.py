"""Worker processes that may die without harm.

Each worker has a pipe of its own and one batch at a time, so when one dies (killed for its memory, a crash in compiled
code) we know which points it had: those whose rows have not come are tried one by one, in fresh workers, and one that
kills its worker again and again is given up. `concurrent.futures` cannot say which point it was, and its workers outlive a
parent that is killed; ours watch it and go.

A point with a time limit ends itself (`kernbench.limits.time_limit`), but for code that is not Python's. So a worker that has
been silent for longer than its limits allow is killed, and the point gets a row that says so.

Workers are forked from a server process that has imported what they need and started no threads, since a fork of a
process in which numba or polars have threads can hang; where there is no such server, they are spawned.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
import types
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from kernbench.limits.memory_budget import divide_budget
from kernbench.limits.run_limits import tell_s
from kernbench.limits.time_limit import REMEDY
from kernbench.sweep.execution.batches import Batch
from kernbench.sweep.execution.point_progress import OnProgress, PointProgress, listen
from kernbench.sweep.execution.worker import RunPoint, attempt_all
from kernbench.sweep.point import Point
from kernbench.sweep.row import ERROR, LOST, Row, failed_row

MOST_TRIES = 2
OBJECTS = 50_000  # that a worker makes between two looks for garbage: about as many as a point has
TELLING_S = 0.05  # how long a worker may keep rows to itself
TRIES_OF_LIMIT = 3  # a structure is recorded, its points run together, then alone: each within the limit
GRACE_S = 20.0  # to start, to write an error and to come back from compiled code

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
    start = _starter(run, workers, on_progress)
    started: list[_Worker] = []
    try:
        while _hand_out(waiting, again, started, workers, start):
            for worker in _ready(started):
                overdue = worker.is_overdue
                rows = None if overdue else worker.collect()
                if rows is not None:
                    yield from rows
                    continue
                (batch, tries), left = worker.take_task()
                started.remove(worker)
                worker.stop(at_work=True)
                if overdue:
                    yield left[0], _overdue_row(left[0])
                    again.extend((Batch((point,), batch.alike), 1) for point in left[1:])
                elif tries < MOST_TRIES or len(batch) > 1:
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
        self._heard = 0.0  # when the last row came, or the task was given
        self._process = process

    def give(self, task: Task) -> None:
        self.task = task
        self._left = deque(task[0].points)
        self._heard = time.monotonic()
        with suppress(OSError):  # it is dead: `collect` will find out
            self.pipe.send(task[0])

    @property
    def left_s(self) -> float | None:
        """Seconds until it must have sent the next row; None if its point has no limit."""
        limit_s = self._left[0].limits.time_s if self._left else None
        return None if limit_s is None else self._heard + TRIES_OF_LIMIT * limit_s + GRACE_S - time.monotonic()

    @property
    def is_overdue(self) -> bool:
        """Whether it is at a point for longer than it may be, and sends nothing."""
        left_s = self.left_s
        return left_s is not None and left_s <= 0 and not self.pipe.poll()

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
        self._heard = time.monotonic()
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
    """The workers that have something to say, or have been silent for too long."""
    at_work = [worker for worker in started if worker.task]
    left_s = min((left for worker in at_work if (left := worker.left_s) is not None), default=None)
    ready = wait([worker.pipe for worker in at_work], None if left_s is None else max(0.0, left_s))
    return [worker for worker in at_work if worker.pipe in ready or worker.is_overdue]


def lost_row(point: Point, cause: str) -> Row:
    """The row of a point that has killed its worker `MOST_TRIES` times."""
    died = f"the worker process died {MOST_TRIES} times at this point ({cause})"
    return {**failed_row(LOST, f"{died}; with fewer workers each has more memory"), "key": point.key}


def _overdue_row(point: Point) -> Row:
    limit_s = point.limits.time_s
    assert limit_s is not None
    sentence = (
        f"{point.described}: it takes longer than its time limit of {tell_s(limit_s)}, in code that could not be "
        f"stopped, so that its process was killed; {REMEDY}"
    )
    return {**failed_row(ERROR, sentence, TRIES_OF_LIMIT * limit_s + GRACE_S), "key": point.key}


def _cause(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"killed by {signal.Signals(-exit_code).name}"
    return f"exit code {exit_code}"


def _starter(run: RunPoint, workers: int, on_progress: OnProgress | None) -> Callable[[], _Worker]:
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["kernbench.sweep.execution.preload"])

    def start() -> _Worker:
        ours, theirs = context.Pipe()
        arguments = (theirs, run, os.getcwd(), dict(os.environ), workers, on_progress is not None)
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


def _leave_with(parent: Any) -> None:
    """End this process at once when its parent has ended, also in the middle of a point that may take an hour."""
    parent.join()
    os._exit(1)


def _serve(
    pipe: Connection, run: RunPoint, directory: str, environment: dict[str, str], workers: int, tells: bool
) -> None:
    """A worker's life: batches in, rows out, progress if it `tells`, until the pipe ends. Ctrl-C is the parent's to answer."""
    divide_budget(workers)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=[multiprocessing.parent_process()], daemon=True).start()
    os.chdir(directory)
    os.environ.update(environment)
    gc.freeze()  # what is there now stays, and need not be looked through again
    gc.set_threshold(OBJECTS)
    with suppress(EOFError, OSError), listen(pipe.send if tells else None):
        while True:
            rows: list[Row] = []
            sent, batch = time.monotonic(), pipe.recv()
            limited = batch.points[0].limits.time_s is not None  # the parent counts the time of each point
            for row in attempt_all(run, batch):
                rows.append(row)
                if limited or time.monotonic() - sent > TELLING_S:
                    pipe.send(rows)
                    rows, sent = [], time.monotonic()
            if rows:
                pipe.send(rows)
