"""Whole processes: the first run ever, and every one after it. The yardstick is importing numba."""

from __future__ import annotations

import pytest

from benches.perf.figures import Figures
from benches.perf.first_run import RUNS, first_run, import_numba_s
from benches.perf.processes import Cost, outcome, seconds

RUN = ("-m", "kernbench", "run", "gemm-single-pe")


@pytest.mark.parametrize("network", list(RUNS))
def test_the_first_run(figures: Figures, network: str) -> None:
    """A run with no compiled loops at all: processor time and memory."""
    found: list[Cost] = []

    def cold_s() -> float:
        found.append(first_run(*RUNS[network]))
        return found[-1].processor_s

    numba, cold = figures.side_by_side(import_numba_s, cold_s, rounds=1)
    name = f"first run ever, network {network}"
    figures.show(f"{name}: processor time", cold, "s")
    figures.show(
        f"{name}: peak memory", found[0].peak_bytes / 1e6, "MB", "< 400" if network == "without limits" else ""
    )
    figures.ratio(f"import numba over {name}", numba / cold, target="≥ 0.04" if network == "without limits" else "")


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
