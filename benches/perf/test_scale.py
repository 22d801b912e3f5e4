"""Large machines and long runs: time and memory."""

from __future__ import annotations

import numpy as np

from benches.perf.figures import Figures
from benches.perf.processes import outcome

SMALL, LARGE = 2, 64  # packages of 16 cubes with 8 PEs


def test_compiling_a_large_machine(figures: Figures) -> None:
    """64 packages, some 90,000 nodes, beside the default machine: time a node."""
    found: dict[int, list[dict[str, float]]] = {SMALL: [], LARGE: []}

    def a_node(sips: int) -> float:
        found[sips].append(outcome(f"machine_compile({sips})"))
        return found[sips][-1]["s"] / found[sips][-1]["nodes"]

    small, large = figures.side_by_side(lambda: a_node(SMALL), lambda: a_node(LARGE), rounds=3)
    for sips, runs in found.items():
        medians = {name: float(np.median([run[name] for run in runs])) for name in runs[0]}
        figures.show(f"machine of {sips} packages: nodes", medians["nodes"], "nodes")
        figures.show(f"machine of {sips} packages: compile", medians["s"], "s", "< 60")
        figures.show(f"machine of {sips} packages: peak memory of the process", medians["peak_mb"], "MB", "< 4,000")
    figures.ratio("machine of 64 packages: compile, a node, against 2 packages", small / large)


def test_flit_hops_of_a_large_machine(figures: Figures) -> None:
    """The same reads by every PE: time a flit-hop in flit mode."""
    peaks = []

    def rate_of(sips: int, count: int) -> float:
        found = outcome(f"reads_of({sips}, {count})")
        peaks.append(found["peak_mb"])
        return found["rate"]

    small, large = figures.side_by_side(lambda: rate_of(SMALL, 32), lambda: rate_of(LARGE, 1), rounds=3)
    figures.show("machine of 2 packages: flit mode", small / 1e6, "M flit-hops/s")
    figures.show("machine of 64 packages: flit mode", large / 1e6, "M flit-hops/s")
    figures.show("machine of 64 packages: peak memory of the process that runs", max(peaks), "MB")
    figures.ratio("machine of 64 packages: flit-hops/s against 2 packages", large / small, target="≥ 0.5")


def test_memory_of_a_long_run(figures: Figures) -> None:
    """1e8 flit-hops of one program need the memory of 1e7."""
    short, long = figures.side_by_side(
        lambda: outcome("long_run(10)")["peak_mb"], lambda: outcome("long_run(100)")["peak_mb"], rounds=1
    )
    figures.show("run of 1e7 flit-hops: peak memory of the process", short, "MB")
    figures.show("run of 1e8 flit-hops: peak memory of the process", long, "MB")
    figures.ratio("memory of 1e7 over that of 1e8 flit-hops", short / long, target="about 1")
