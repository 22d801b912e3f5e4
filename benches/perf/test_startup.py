"""Whole processes: the first run ever, and every one after it. The yardstick is importing numba."""

from __future__ import annotations

from pathlib import Path

from benches.perf.figures import Figures
from benches.perf.processes import outcome, seconds

RUN = ("-m", "kernbench", "run", "gemm-single-pe")


def test_the_first_run(figures: Figures, tmp_path: Path) -> None:
    """A run with no compiled loops at all."""
    numba, cold = figures.side_by_side(
        lambda: seconds("-c", "import numba"), lambda: seconds(*RUN, KERNBENCH_CACHE=str(tmp_path)), rounds=1
    )
    figures.show("first run ever: compiles all loops, whole process", cold, "s", "< 45")
    figures.ratio("import numba over first run ever", numba / cold)


def test_warm_processes(figures: Figures) -> None:
    """`kernbench --help` and `kernbench run gemm-single-pe`."""
    numba, usage, run, load = figures.side_by_side(
        lambda: seconds("-c", "import numba"),
        lambda: seconds("-m", "kernbench", "--help"),
        lambda: seconds(*RUN),
        lambda: outcome("load_loops()"),
    )
    figures.show("import numba, whole process", numba, "s")
    figures.show("kernbench --help, whole process", usage, "s", "< 0.3")
    figures.show("kernbench run gemm-single-pe, warm, whole process", run, "s", "< 2")
    figures.show("two small runs in a new process: loops from the cache", load, "s", "< 1")
    figures.ratio("import numba over kernbench --help", numba / usage)
    figures.ratio("import numba over warm kernbench run", numba / run)
