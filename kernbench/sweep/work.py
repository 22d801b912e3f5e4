"""Run one point, wherever that is: in this process or in a worker.

What a worker needs is imported by `preload`, once, in the process from which the workers are forked.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from typing import Any

from kernbench.errors import KernBenchError
from kernbench.sweep.point import Point
from kernbench.sweep.row import ERROR, failed_row, ok_row

RunPoint = Callable[[Point], object]  # → what has the attributes of a RunResult


def run_point(point: Point) -> object:
    """Run a point's bench on its machine. Errors: KernBenchError."""
    from kernbench.host.run import run_bench

    return run_bench(
        point.bench, point.topology, mode=point.mode, parameters=point.parameters, overrides=point.overrides
    )


def attempt(run: RunPoint, point: Point) -> dict[str, Any]:
    """The row of a point, failed or not. What the bench prints is dropped."""
    started = time.perf_counter()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return {**ok_row(run(point)), "key": point.key}
    except KernBenchError as error:
        sentence = str(error)
    except (Exception, SystemExit) as error:  # a bench may raise anything; the sweep goes on
        sentence = f"unexpected {type(error).__name__}: {error}"
    return {**failed_row(ERROR, sentence, time.perf_counter() - started), "key": point.key}
