"""Task graphs: the runtime modelled to the task, in processor time."""

from __future__ import annotations

from time import process_time

from benches.perf.figures import Figures
from benches.perf.processes import outcome
from kernbench.pto.bench import run_bench

FEW, MANY = 10_000, 100_000
WINDOWS = (16, 65_536)


def test_many_tasks(figures: Figures) -> None:
    """Chains of ten tasks on the cores of an Ascend 910B2; time and memory a task do not grow with their number."""
    peaks: dict[int, list[float]] = {FEW: [], MANY: []}

    def task_us(tasks: int) -> float:
        found = outcome(f"task_graph({tasks})")
        peaks[tasks].append(found["peak_mb"])
        return found["s"] / tasks * 1e6

    few, many = figures.side_by_side(lambda: task_us(FEW), lambda: task_us(MANY), rounds=1)
    figures.show("100,000 tasks: processor time", many * MANY / 1e6, "s", "< 20")
    figures.show("100,000 tasks: a task more than of 10,000", (max(peaks[MANY]) - max(peaks[FEW])) / 0.09, "B")
    figures.ratio("a task of 10,000 over one of 100,000", few / many, target="about 1")


def test_paged_attention_at_small_and_large_windows(figures: Figures) -> None:
    """208 tasks; a small window costs waits, which are not simulated spin by spin."""

    def run_s(window: int) -> float:
        begun = process_time()
        fields = {"pto_runtime.task_window": window}
        run_bench("paged_attention", case="CaseBatch256", overrides=fields, verify=False)
        return process_time() - begun

    small, large = figures.side_by_side(*(lambda window=window: run_s(window) for window in WINDOWS))
    figures.show("paged attention of 208 tasks, window 16: processor time", small, "s")
    figures.show("paged attention of 208 tasks, window 65,536: processor time", large, "s")
    figures.ratio("paged attention of 208 tasks: window 65,536 over window 16", large / small, target="about 1")
