"""Worker processes that may die without harm.

Each worker has a pipe of its own and one point at a time, so when one dies (killed for its memory, a crash in compiled
code) we know which point it had: that point is tried once more in a fresh worker, then given up, and nothing else is
lost. `concurrent.futures` cannot say which point it was, and its workers outlive a parent that is killed; ours see the
end of their pipe and go.

Workers are forked from a server process that has imported what they need and started no threads, since a fork of a
process in which numba or polars have threads can hang; where there is no such server, they are spawned.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import types
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from kernbench.sweep.point import Point
from kernbench.sweep.row import LOST, failed_row
from kernbench.sweep.work import RunPoint, attempt

MOST_TRIES = 2

Outcome = tuple[Point, dict[str, Any]]  # a point with its row
Outcomes = Generator[Outcome, None, None]
Task = tuple[Point, int]  # a point with the number of this try


def run_here(points: Iterable[Point], run: RunPoint) -> Outcomes:
    """Run points one after the other in this process."""
    return ((point, attempt(run, point)) for point in points)


def run_in_workers(points: Iterable[Point], run: RunPoint, workers: int) -> Outcomes:
    """Run points in worker processes; yields each as it finishes, in no fixed order.

    `run` must be importable by its name. When the iterator is closed, workers that are still at a point are killed.
    """
    waiting: deque[Task] = deque((point, 1) for point in points)
    start = _starter(run)
    crew: list[_Worker] = []
    try:
        while _hand_out(waiting, crew, workers, start):
            for worker in _ready(crew):
                point, tries = worker.take_task()
                row = worker.collect()
                if row is not None:
                    yield point, row
                    continue
                crew.remove(worker)
                worker.stop()
                if tries < MOST_TRIES:
                    waiting.append((point, tries + 1))
                else:
                    yield point, _lost_row(point, worker.exit_code)
    finally:
        for worker in crew:
            worker.stop()


class _Worker:
    """A worker process seen from the parent: its pipe, and the task it is at."""

    def __init__(self, process: Any, pipe: Connection) -> None:
        self.pipe = pipe
        self.task: Task | None = None
        self.exit_code: int | None = None
        self._process = process

    def give(self, task: Task) -> None:
        self.task = task
        with suppress(OSError):  # it is dead: `collect` will find out
            self.pipe.send(task[0])

    def take_task(self) -> Task:
        task, self.task = self.task, None
        assert task is not None
        return task

    def collect(self) -> dict[str, Any] | None:
        """The row that has arrived; None when the process is dead."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            return None

    def stop(self) -> None:
        if self.task is not None:
            self._process.kill()
        self.pipe.close()
        self._process.join()
        self.exit_code = self._process.exitcode
        self._process.close()


def _hand_out(waiting: deque[Task], crew: list[_Worker], workers: int, start: Callable[[], _Worker]) -> bool:
    """Give tasks to idle workers, start workers up to their number; returns whether any is at work."""
    while waiting:
        idle = next((worker for worker in crew if worker.task is None), None)
        if idle is None:
            if len(crew) == workers:
                break
            idle = start()
            crew.append(idle)
        idle.give(waiting.popleft())
    return any(worker.task for worker in crew)


def _ready(crew: list[_Worker]) -> list[_Worker]:
    ready = wait([worker.pipe for worker in crew if worker.task])
    return [worker for worker in crew if worker.pipe in ready]


def _lost_row(point: Point, exit_code: int | None) -> dict[str, Any]:
    cause = f"exit code {exit_code}"
    if exit_code is not None and exit_code < 0:
        cause = f"killed by {signal.Signals(-exit_code).name}"
    died = f"the worker process died {MOST_TRIES} times at this point ({cause})"
    sentence = f"{died}; with fewer workers each has more memory"
    return {**failed_row(LOST, sentence), "key": point.key}


def _starter(run: RunPoint) -> Callable[[], _Worker]:
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["kernbench.sweep.preload"])

    def start() -> _Worker:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, run, os.getcwd(), dict(os.environ)), daemon=True)
        with _script_hidden(unless=run.__module__ == "__main__"):
            process.start()
        theirs.close()
        return _Worker(process, ours)

    return start


@contextmanager
def _script_hidden(*, unless: bool) -> Iterator[None]:
    """Hide the caller's script, which multiprocessing would run again in every worker; workers need nothing of it."""
    script = sys.modules["__main__"]
    if not unless:
        sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _serve(pipe: Connection, run: RunPoint, directory: str, environment: dict[str, str]) -> None:
    """A worker's life: points in, rows out, until the pipe ends. Ctrl-C is the parent's to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.chdir(directory)
    os.environ.update(environment)
    with suppress(EOFError, OSError):
        while True:
            pipe.send(attempt(run, pipe.recv()))
