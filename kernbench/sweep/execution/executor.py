"""Run points and keep their rows: in this process, in workers of its own, or on a cluster.

Bounds of a structure with many points are worked out here, thousands at a time: sending the points to a worker would take
longer. Everything else goes out in batches.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from kernbench.engine.jit_status import RUN, RUN_POINTS, RUN_WITH_CREDITS, needs_compile
from kernbench.errors import InputError, KernBenchError
from kernbench.machine import load_machine
from kernbench.modes import Mode
from kernbench.sweep.design.points import Points
from kernbench.sweep.execution.batches import Batch, Groups, make_batches
from kernbench.sweep.execution.dask_cluster import run_on_cluster, split_address
from kernbench.sweep.execution.point_progress import OnProgress, listen
from kernbench.sweep.execution.process_pool import Outcome, Outcomes, run_here, run_in_workers
from kernbench.sweep.execution.thread_pool import run_in_threads
from kernbench.sweep.execution.worker import (
    RunPoint,
    bound_group,
    find_structure,
    is_kept,
    is_shared,
    run_point,
)
from kernbench.sweep.point import Point
from kernbench.sweep.results.store import Store
from kernbench.sweep.row import Row

LOCAL = "local"
SCHEDULERS = (LOCAL, "processes")  # that are no addresses

MANY_BOUNDS = 8  # points of a structure from which on they are bounded together, unless there is a worker for each
MOST_BOUNDS = 1 << 14  # at a time: a part on the disk
MOST_POINTS = 32  # a batch
BATCHES_A_WORKER = 8  # so that all come to an end at about the same time

OnPoint = Callable[[Point, Row], object]


@dataclass(frozen=True, slots=True)
class ExecutorConfig:
    """Where points run. `scheduler`: LOCAL (this process, or `workers` of its own), "processes" (a Dask cluster of as many
    here), or the address of a Dask scheduler. `workers` None: one a core, or those that the scheduler has.
    `on_progress`: called with the progress inside of points that run long, but for those on a cluster.
    """

    workers: int | None = None
    scheduler: str = LOCAL
    run: RunPoint = run_point
    on_progress: OnProgress | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InputError(f"workers are 1 or more, not {self.workers}")
        if self.scheduler not in SCHEDULERS:
            split_address(self.scheduler)

    def count(self, points: int) -> int:
        """The number of workers for `points` points."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(self.workers or cores, points))


def execute(points: Points, store: Store, config: ExecutorConfig, on_point: OnPoint) -> None:
    """Run points; every row is on the disk when `on_point` hears of it, and when this ends in whatever way.

    Errors: InputError if the disk or the scheduler cannot be used.
    """
    groups: Sequence[Points] = Groups(points)
    total = len(points)
    with listen(config.on_progress):
        if points.context.mode == Mode.ANALYTIC and config.run is run_point:
            groups = _bound(groups, store, on_point, config.count(total))
            total = sum(map(len, groups))
        outcomes = _start(groups, total, config)
        try:
            _keep(outcomes, store, on_point)
        finally:
            outcomes.close()


def _bound(groups: Sequence[Points], store: Store, on_point: OnPoint, workers: int) -> list[Points]:
    """Bound structures of many points; returns the others."""
    left: list[Points] = []
    for group in groups:
        many = len(group) >= max(MANY_BOUNDS, workers + 1)
        for first in range(0, len(group), MOST_BOUNDS):
            some = group[first : first + MOST_BOUNDS]
            rows = bound_group(some) if many else None
            if rows is None:
                left.append(some)
                continue
            store.append_frame(rows)
            for point, row in zip(some, rows.iter_rows(named=True), strict=True):
                on_point(point, {**row, "error": None})
    return left


def _start(groups: Sequence[Points], total: int, config: ExecutorConfig) -> Outcomes:
    count = config.count(total)
    most = max(1, min(-(-total // (BATCHES_A_WORKER * count)), MOST_POINTS))
    if config.scheduler != LOCAL:
        return run_on_cluster(make_batches(groups, most), config.run, config.scheduler, count)
    limited = total > 0 and groups[0].context.limits.time_s is not None
    if count == 1 and not limited:
        return run_here(make_batches(groups, most), config.run)
    threads = config.run is run_point and groups[0].context.mode != Mode.ANALYTIC and not limited
    if threads and (len(groups) < count or all(is_kept(group[0]) for group in groups)):
        return _start_threads(groups, most, count, config)
    return _start_workers(make_batches(groups, most), count, config)


def _start_threads(groups: Sequence[Points], most: int, count: int, config: ExecutorConfig) -> Outcomes:
    """Run on threads if structures are cached, or too few to be rebuilt in every process."""
    left: list[Batch] = []
    for group in groups:
        alone = len(group) == 1 and not is_kept(group[0])
        structure = None if alone else find_structure(group[0])
        batches = make_batches([group], most)
        if structure is None or not structure.groups:
            left += batches
        else:
            left += yield from run_in_threads(batches, structure, count, config.on_progress)
    if left:
        yield from _start_workers(iter(left), count, config)


def _start_workers(batches: Iterator[Batch], count: int, config: ExecutorConfig) -> Outcomes:
    run, first = config.run, next(batches)
    group = is_shared(run, first) and first.points[0].mode != Mode.ANALYTIC
    if _needs_compile(first.points[0], RUN_POINTS if group else RUN):  # one process compiles the loops for all
        yield from run_here([Batch(first.points[:1], first.alike)], run)
        first = Batch(first.points[1:], first.alike)
    left = chain([first] if len(first) else [], batches)
    yield from run_in_workers(left, run, count, config.on_progress)


def _needs_compile(point: Point, loop: str) -> bool:
    """Whether the loop of a point has to be compiled: `loop`, or on a machine with credits theirs.

    The machine, whose first compilation may take longer than the sweep, is loaded only if they differ in that.
    """
    own, with_credits = needs_compile(loop), needs_compile(RUN_WITH_CREDITS)
    return with_credits if own != with_credits and _has_credits(point) else own


def _has_credits(point: Point) -> bool:
    """Whether the machine of a point has credits; not if there is no such machine, which the point itself reports."""
    try:
        return bool(load_machine(point.topology, point.overrides).flow_control)
    except KernBenchError:
        return False


def _keep(outcomes: Outcomes, store: Store, on_point: OnPoint) -> None:
    unheard: list[Outcome] = []
    try:
        for outcome in outcomes:
            unheard.append(outcome)
            if store.append(outcome[1]):
                _tell(unheard, on_point)
    finally:
        store.flush()
        _tell(unheard, on_point)


def _tell(unheard: list[Outcome], on_point: OnPoint) -> None:
    while unheard:
        on_point(*unheard.pop(0))
