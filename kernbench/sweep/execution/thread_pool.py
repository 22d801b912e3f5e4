"""Points of one structure on threads of this process, which share it: the calls that run many points are without the GIL.

No process has to start and build the structure again: a thousand points are done before worker processes have begun. But a
thread runs no bench: points that have to run alone are returned.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from kernbench.sweep.execution.batches import Batch
from kernbench.sweep.execution.point_progress import OnProgress, PointProgress, listen
from kernbench.sweep.execution.process_pool import Outcome
from kernbench.sweep.execution.worker import rows_with_errors, run_together
from kernbench.sweep.point import Point
from kernbench.sweep.row import Row

if TYPE_CHECKING:
    from kernbench.sweep.execution.shared_structure import SharedStructure

AHEAD = 2  # batches out for each thread


def run_in_threads(
    batches: Iterable[Batch], structure: SharedStructure, count: int, on_progress: OnProgress | None = None
) -> Generator[Outcome, None, list[Batch]]:
    """Run points of a structure; yields each as it finishes, in no fixed order, and returns those that must run alone.

    `on_progress` is called in this thread. When the generator is closed, the calls under way come to their ends first.
    """
    waiting, out = iter(batches), 0
    left: list[Batch] = []
    tasks: SimpleQueue[Batch | None] = SimpleQueue()
    done: SimpleQueue[tuple[Point, Row | None] | PointProgress | None] = SimpleQueue()
    stop = threading.Event()
    told = None if on_progress is None else done.put
    arguments = (structure, tasks, done, stop, told)
    threads = [threading.Thread(target=_serve, args=arguments, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        while True:
            while out < AHEAD * count and (batch := next(waiting, None)):
                tasks.put(batch)
                out += 1
            if not out:
                return left
            found = done.get()
            if found is None:
                out -= 1
                continue
            if isinstance(found, PointProgress):
                assert on_progress is not None
                on_progress(found)
                continue
            point, row = found
            if row is None:
                left.append(Batch((point,), True))
            else:
                yield point, row
    finally:
        stop.set()
        for _ in threads:
            tasks.put(None)
        for thread in threads:
            thread.join()


def _serve(
    structure: SharedStructure,
    tasks: SimpleQueue[Any],
    done: SimpleQueue[Any],
    stop: threading.Event,
    on_progress: OnProgress | None,
) -> None:
    """A thread's life: the points of a batch with their rows, then None for the batch."""
    with listen(on_progress):
        while (batch := tasks.get()) and not stop.is_set():
            for found in zip(
                batch.points, rows_with_errors(batch.points, run_together(structure, batch.points)), strict=True
            ):
                done.put(found)
                if stop.is_set():
                    break
            done.put(None)
