"""Reports of mode auto against those of running everything."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kernbench.report.pages.markdown_report import summarise
from kernbench.sweep.point import Point
from kernbench.sweep.results.bounds import count_possibly_better, is_bounded
from kernbench.sweep.results.derived_columns import objectives_of
from kernbench.sweep.results.pareto import best_point, rank_points
from kernbench.sweep.results.sensitivity import find_sensitivities
from kernbench.sweep.results.swept_axes import find_swept
from kernbench.sweep.run import run_sweep
from tests.sweep import fakes

ASKED = (
    {},
    {"objectives": ["min latency_ns", "min cost"]},
    {"objectives": ["max speed", "min cost"], "constraints": "latency_ns <= 6"},
    {"objectives": ["min edp"], "exclude": "pe_exec_ns > 4"},
    {"objectives": ["max achieved_tflops", "min N"], "baseline": {"N": 1}},
    {"objectives": ["min mixed", "min cost"]},
)
DERIVED = {
    "cost": "2 * N + M",
    "speed": "M / latency_ns",
    "edp": "latency_ns * cost",
    "mixed": "latency_ns * 3 - pe_exec_ns",
}
NAMES = ["M", "N", "dtype"]


def fake_run(seed: int) -> Any:
    """A run of times that are random integers, so that many are equal, with bounds of random width in mode analytic."""

    def run(point: Point) -> SimpleNamespace:
        draw = random.Random(f"{seed} {[point.parameters[name] for name in NAMES]}")
        exact, below, above = draw.randint(2, 9), draw.randint(0, 4), draw.randint(0, 9)
        bounded = point.mode == "analytic"
        latency = max(1, exact - below) if bounded else exact
        result = fakes.result(float(latency))
        result.achieved_tflops = 100 / result.pe_exec_ns
        result.lower_ns = latency if bounded else None
        result.upper_ns = exact + above if bounded else None
        return result

    return run


@pytest.mark.slow
@settings(max_examples=12, phases=[Phase.generate], deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10**6),
    sizes=st.tuples(*[st.integers(1, 5)] * 2),
    asked=st.sampled_from(ASKED),
)
def test_mode_auto_names_as_best_what_running_everything_does(
    tmp_path_factory: pytest.TempPathFactory, seed: int, sizes: tuple[int, int], asked: dict[str, Any]
) -> None:
    out: Path = tmp_path_factory.mktemp("auto")
    axes = {"M": list(range(1, sizes[0] + 1)), "N": list(range(1, sizes[1] + 1)), "dtype": ["f16", "f32", "bf16"]}
    given_grid = {**fakes.toy_grid(out, **axes), "derived": DERIVED, **asked}
    auto, exact = (
        run_sweep({**given_grid, "mode": mode}, out / mode, 1, run=fake_run(seed)) for mode in ("auto", "hybrid")
    )
    grid, objectives = auto.plan.grid, objectives_of(auto.plan.grid)
    rows = {row[: len(NAMES)]: row for row in exact.table.select(*NAMES, "latency_ns").rows()}
    for objective in objectives:
        named, truth = (best_point(result.table, objective, objectives) for result in (auto, exact))
        columns = list(dict.fromkeys([*NAMES, "latency_ns", objective.column]))
        assert named.select(columns).equals(truth.select(columns))
        ranked = rank_points(auto.table, objective)
        assert all(rows[row[: len(NAMES)]] == row for row in ranked.select(*NAMES, "latency_ns").rows())
        if len(named):
            assert count_possibly_better(auto.table, objective, float(named[objective.column][0])) == 0
    for one in find_sensitivities(auto.table, objectives):
        best = best_point(exact.table, one.objective, objectives)
        assert best[one.axis.column][0] == one.best
        assert (one.worst is None) == one.selected == bool(is_bounded(auto.table).any())
    assert best_sentences(grid, auto.table) == best_sentences(grid, exact.table)
    if grid.baseline:
        ran = auto.table.filter(~is_bounded(auto.table))
        share = f"{objectives[0].column}_vs_baseline"
        assert ran[share].to_list() == exact.table.join(ran, NAMES, "semi", maintain_order="left")[share].to_list()


def best_sentences(grid: Any, table: polars.DataFrame) -> list[str]:
    objectives = objectives_of(grid)
    assert find_swept(table)
    starts = tuple(f"{objective}: " for objective in objectives)
    return [sentence for sentence in summarise(grid, table, objectives) if sentence.startswith(starts)]
