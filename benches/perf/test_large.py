"""Large work: what a GEMM of 4096³ on 256 PEs costs besides its loop, alone, explained and in a sweep.

A run is planning, recording, the loop, and reporting. The further points of a sweep share their structure with the first.
"""

from __future__ import annotations

import tempfile
from time import perf_counter
from typing import Any

import numpy as np

from benches.perf.figures import Figures
from kernbench import run as run_bench
from kernbench.sweep.run import run_sweep

SIZE = {"M": 4096, "N": 4096, "K": 4096}
FEW, MORE = 2, 6  # points


def timed_run() -> tuple[float, float, float]:
    """Seconds of a run, of its loop, and of explaining it."""
    begun = perf_counter()
    result = run_bench("matmul-composite", parameters=SIZE)
    ran = perf_counter()
    result.explain()
    return ran - begun, result.device.session.wall_s, perf_counter() - ran


def sweep_s(count: int) -> float:
    """Seconds of a sweep of so many points that differ in a bandwidth, in this process."""
    noc_gbs = [float(512 + i) for i in range(count)]
    parameters: dict[str, Any] = {**SIZE, "topology.noc.gbs": noc_gbs}
    grid = {"name": "perf", "bench": "matmul-composite", "topology": "sip_2x4x4", "parameters": parameters}
    with tempfile.TemporaryDirectory() as out:
        begun = perf_counter()
        done = run_sweep(grid, out, workers=1)
        took = perf_counter() - begun
    assert (done.count, done.failed) == (count, 0)
    return took


def test_large_work(figures: Figures) -> None:
    """Of the run, its explanation and a point of a sweep beyond the first two."""
    runs: list[tuple[float, float, float]] = []

    def run_s() -> float:
        runs.append(timed_run())
        return runs[-1][0]

    run_s()
    sweep_s(FEW)
    runs.clear()
    run, few, more = figures.side_by_side(run_s, lambda: sweep_s(FEW), lambda: sweep_s(MORE))
    _, loop, explain = np.array(runs).T
    point = (more - few) / (MORE - FEW)
    figures.show("GEMM 4096: run, hybrid mode", run, "s")
    figures.show("GEMM 4096: explanation of a run", explain, "s")
    figures.show("GEMM 4096: a further point of a sweep", point, "s")
    figures.ratio("GEMM 4096: loop over the rest of its run", loop / (run - loop), "≥ 1")
    figures.ratio("GEMM 4096: run over its explanation", run / explain, "≥ 1")
    figures.ratio("GEMM 4096: loop over a further point of a sweep", loop / point, "≥ 0.77")
