"""Run points, wherever that is: in this process or in a worker.

What a worker needs is imported by `preload`, once, in the process from which the workers are forked.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, TypeVar

from kernbench.engine.jit_status import running_s
from kernbench.errors import KernBenchError, LimitError, error_text, message, uncover_interruption
from kernbench.frontends.registry import FRONT_ENDS
from kernbench.limits.memory_budget import is_out_of_memory, tell_full
from kernbench.machine.families.registry import may_vary
from kernbench.modes import Mode
from kernbench.sweep.design.design import UNSET
from kernbench.sweep.design.points import Points
from kernbench.sweep.execution.batches import Batch
from kernbench.sweep.execution.point_progress import report_stage
from kernbench.sweep.point import TOPOLOGY, Point
from kernbench.sweep.programs import run_point
from kernbench.sweep.row import ERROR, OK, Row, failed_row, ok_row

if TYPE_CHECKING:
    import numpy as np
    import polars

    from kernbench.sweep.execution.shared_structure import SharedStructure

MaybeRow = TypeVar("MaybeRow", Row, Row | None)
RunPoint = Callable[[Point], object]  # → what has the attributes of a RunResult


def attempt(run: RunPoint, point: Point) -> Row:
    """The row of a point, failed or not. What the bench prints is dropped."""
    started = running_s()
    try:
        with contextlib.redirect_stdout(io.StringIO()), uncover_interruption():
            return _found_row(point, run(point))
    except (Exception, SystemExit) as error:  # `run` may raise anything; the sweep goes on
        return _error_row(point, error, running_s() - started)


def _found_row(point: Point, result: object) -> Row:
    return {**ok_row(result), "fidelity": point.mode, "key": point.key}


def _error_row(point: Point, error: BaseException, wall_s: float | None = None) -> Row:
    if isinstance(error, KernBenchError):
        sentence = message(error)
    else:
        sentence = tell_full(error) if is_out_of_memory(error) else f"unexpected {error_text(error)}"
    return {**failed_row(ERROR, sentence, wall_s), "key": point.key}


def attempt_all(run: RunPoint, batch: Batch) -> Iterator[Row]:
    """The rows of a batch, one after the other. Points that are alike share all that does not differ, and run together."""
    if not is_shared(run, batch):
        return (attempt(run, point) for point in batch.points)
    return rows_with_errors(batch.points, _attempt_shared(batch.points))


def _attempt_shared(points: Sequence[Point]) -> Iterator[Row]:
    structure = find_structure(points[0], raises_limits=True)
    if structure is None:
        yield from (attempt(run_point, point) for point in points)
        return
    for point, row in zip(points, run_together(structure, points), strict=True):
        yield attempt(_run_alike, point) if row is None else row


def rows_with_errors(points: Sequence[Point], rows: Iterator[MaybeRow]) -> Iterator[MaybeRow | Row]:
    """The rows of points that share work; after an error all that are left have rows with it, and none runs again."""
    done = 0
    try:
        for row in rows:
            yield row
            done += 1
    except Exception as error:  # the sweep goes on
        yield from (_error_row(point, error) for point in points[done:])


def is_shared(run: RunPoint, batch: Batch) -> bool:
    """Whether the points of a batch run on a shared structure."""
    first = batch.points[0]
    return run is run_point and FRONT_ENDS[first.front_end].shares and (batch.alike or is_kept(first))


def run_together(structure: SharedStructure, points: Sequence[Point]) -> Iterator[Row | None]:
    """The rows of points of a structure, in order, as they come; None for each that has to run alone."""
    done = 0
    try:
        for point, result in zip(points, structure.run_all(points), strict=True):
            yield None if result is None else _found_row(point, result)
            done += 1
    except (KernBenchError, MemoryError):  # alone a point reports its own error, and needs less memory
        yield from repeat(None, len(points) - done)


def _run_alike(point: Point) -> object:
    structure = find_structure(point) if point.mode != Mode.ANALYTIC else None
    result = structure and structure.run(point)
    return run_point(point) if result is None else result


def bound_group(points: Points, *, queues: bool = False) -> polars.DataFrame | None:
    """The rows of all points of one structure in mode analytic, but for their stamp; None if each has to run alone.

    `queues`: as of `LaunchBoundModel.evaluate`.
    """
    started = time.perf_counter()
    structure = find_structure(points[0])
    if structure is None:
        return None
    report_stage(points[0].index, "bounding")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            found = structure.bound(_read_figures(structure, points), len(points), queues=queues)
    except (KernBenchError, MemoryError):  # alone a point reports its own error, and needs less memory
        return None
    if found is None:
        return None
    import polars

    wall_s = (time.perf_counter() - started) / len(points)
    same = {"events": 0, "flit_hops": 0, "wall_s": wall_s, "fidelity": Mode.ANALYTIC, "status": OK, **structure.same}
    keys = polars.Series("key", points.keys).cast(polars.String)
    return polars.DataFrame(found, nan_to_null=True).with_columns(
        keys, *(polars.lit(value).alias(name) for name, value in same.items())
    )


def find_structure(point: Point, *, raises_limits: bool = False) -> SharedStructure | None:
    """The structure of a point; None if its front-end has none, or if it cannot be built (the point then reports the error).

    With `raises_limits`, LimitError is raised: the point, and others of the structure, would only wait for it again.
    """
    if not FRONT_ENDS[point.front_end].shares:
        return None
    from kernbench.sweep.execution import shared_structure

    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return shared_structure.find_structure(point)
    except KernBenchError as error:
        if raises_limits and isinstance(error, LimitError):
            raise
        return None


def is_kept(point: Point) -> bool:
    """Whether the structure of a point is cached in this process."""
    from kernbench.sweep.execution import shared_structure

    return shared_structure.is_kept(point)


def _read_figures(structure: SharedStructure, points: Points) -> dict[str, np.ndarray]:
    """float64[point] of each figure that an axis sets, in the unit of its field. Errors: InputError for a wrong value."""
    import numpy as np

    variants, design = structure.variants, points.design
    found: dict[str, np.ndarray] = {}
    for name, values, chosen in zip(design.names, design.values, points.choices.T, strict=True):
        field = name.removeprefix(TOPOLOGY)
        if name.startswith(TOPOLOGY) and may_vary(field):
            used, at = np.unique(chosen, return_inverse=True)
            base = variants.base.figures[field]  # of points that do not set it
            choices: list[int] = used.tolist()
            figures = [base if choice == UNSET else variants.value(field, values[choice]) for choice in choices]
            found[field] = np.array(figures, np.float64)[at]
    return found
