from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernbench.errors import InputError
from kernbench.sweep.design import optimiser as search_module
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.point import Point
from kernbench.sweep.run import run_sweep
from tests.sweep import fakes

AXES = {"M": {"min": 1, "max": 400}, "N": {"values": [1, 2, 4, 8]}, "dtype": ["f16", "f32"]}


def grid(directory: Path, **more: Any) -> dict[str, Any]:
    toy = {**fakes.toy_grid(directory), "parameters": AXES}
    return {**toy, "method": "optimise", "samples": 48, "objectives": "min latency_ns", **more}


class Ran:
    """A valley at M = 300 that is deepest for N = 4 and f32; remembers how many points ran, and may be stopped."""

    def __init__(self, stop_after: int = 1000) -> None:
        self.points: list[tuple[Any, ...]] = []
        self.stop_after = stop_after

    def __call__(self, point: Point) -> object:
        if len(self.points) == self.stop_after:
            raise KeyboardInterrupt
        given = point.parameters
        self.points.append(tuple(given.values()))
        m, n = int(given["M"]), int(given["N"])
        return fakes.result(abs(m - 300) + 50.0 * abs(n - 4) + 100 * (given["dtype"] == "f16"))


def search(given: dict[str, Any], out: Path, run: Ran | None = None, **options: Any) -> tuple[Any, Ran]:
    run = run or Ran()
    return run_sweep(given, out, 1, run=run, **options), run


@pytest.mark.slow
def test_a_search_finds_better_points_than_chance(tmp_path: Path) -> None:
    result, run = search(grid(tmp_path), tmp_path / "out")
    assert len(run.points) == len(set(run.points)) == len(result.table) == 48
    assert result.table["latency_ns"][24:].mean() < result.table["latency_ns"][:12].mean() / 1.2
    assert (len(result.plan.points), len(result.plan.missing)) == (48, 48)


@pytest.mark.slow
def test_a_search_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    whole, run = search(grid(tmp_path), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        search(grid(tmp_path), tmp_path / "out", Ran(stop_after=21))
    again, rest = search(grid(tmp_path), tmp_path / "out")
    assert len(rest.points) == 48 - 21
    assert again.table.drop("wall_s").equals(whole.table.drop("wall_s"))
    assert run.points[21:] == rest.points
    finished, none = search(grid(tmp_path), tmp_path / "out")
    assert (none.points, len(finished.plan.missing)) == ([], 0)


@pytest.mark.slow
def test_what_the_conditions_forbid_is_not_asked_for(tmp_path: Path) -> None:
    given = grid(tmp_path, constraints=["M * N <= 600", "latency_ns >= 40"], samples=24)
    result, run = search(given, tmp_path / "out")
    assert all(m * n <= 600 for m, n, _ in run.points)
    assert set(result.table["feasible"]) <= {True, False}


@pytest.mark.slow
def test_several_objectives_at_once(tmp_path: Path) -> None:
    given = grid(tmp_path, objectives={"latency_ns": "min", "cost": "min"}, derived={"cost": "M * N"}, samples=32)
    result, _ = search(given, tmp_path / "out")
    assert len(result.table) == 32
    assert result.table["cost"].min() < 300 < result.table["cost"].max()


@pytest.mark.slow
def test_a_space_that_is_small_is_searched_whole(tmp_path: Path) -> None:
    result, _ = search({**grid(tmp_path), "parameters": {"M": [1, 2, 13], "N": [1, 2]}}, tmp_path / "out")
    assert sorted(result.table.select("M", "N").rows()) == [(m, n) for m in (1, 2, 13) for n in (1, 2)]


@pytest.mark.slow
def test_points_that_fail_do_not_end_a_search(tmp_path: Path) -> None:
    given = {**grid(tmp_path, samples=6), "parameters": {"M": [1, 13], "N": [1, 2, 3]}}
    result = run_sweep(given, tmp_path / "out", 1, run=fakes.run_fake)
    assert result.failed == 3
    again = run_sweep(given, tmp_path / "out", 1, run=fakes.run_fake, retry=True)
    assert len(again.plan.missing) == 3


@pytest.mark.slow
def test_a_space_without_points_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        plan_sweep(grid(tmp_path, constraints="M > 1000"), tmp_path / "out")
    assert str(caught.value) == (
        "grid: none of 256 points that the search asked for meets the conditions; let them keep more, or narrow the values"
    )


def test_what_to_do_without_optuna(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "find_spec", lambda name: None)
    with pytest.raises(InputError) as caught:
        plan_sweep(grid(tmp_path), tmp_path / "out")
    assert str(caught.value) == (
        "grid: method optimise needs Optuna, which is not installed; pip install 'kernbench[optimise]'"
    )


def test_a_search_says_of_what() -> None:
    with pytest.raises(InputError) as caught:
        plan_sweep({"bench": "toy", "method": "optimise"})
    assert str(caught.value).splitlines() == [
        "grid: method optimise takes samples: say how many",
        "grid: method optimise takes objectives: say of what it shall find the least or most",
    ]
