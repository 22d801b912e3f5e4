from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kernbench.sweep import estimate as estimate_module
from kernbench.sweep.design.points import Points
from kernbench.sweep.estimate import Estimate, count_programs, estimate
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.trial import Trial
from tests.sweep import fakes

FIGURES = {"topology.hbm.channel_gbs": [8, 16, 32], "topology.hbm.channels": [4, 8]}
DONE = Trial(3.0, 0.1, 200)


def test_points_that_differ_in_figures_alone_share_a_program(tmp_path: Path) -> None:
    plan = plan_sweep(fakes.toy_grid(tmp_path, M=[1, 2], **FIGURES), tmp_path / "out")
    assert (len(plan.points), plan.points.count_machines(), count_programs(plan.points)) == (12, 6, 4)


def test_an_estimate_adds_up() -> None:
    guess = Estimate(points=100, programs=10, workers=2, trials=(DONE,))
    assert (guess.seconds, guess.peak_bytes, guess.cut) == (pytest.approx(19.5), 400, ())
    assert guess.least_seconds == guess.seconds
    assert Estimate(100, 10, 3, (replace(DONE, shared_bytes=80),)).peak_bytes == 3 * 120 + 80
    assert Estimate(100, 10, 2, (DONE, Trial(1.0, 0.3, 300))).seconds == pytest.approx((10 * 2.0 + 90 * 0.2) / 2)
    assert Estimate(0, 0, 1).seconds is None
    assert Estimate(0, 0, 1).least_seconds is None


def test_of_a_point_that_was_cut_the_rest_is_extrapolated() -> None:
    """Half a second of recording, then a quarter of the simulation in two seconds."""
    guess = Estimate(points=3, programs=1, workers=1, trials=(Trial(2.5, 2.0, 200, share=0.25),))
    assert guess.seconds == pytest.approx(0.5 + 3 * 8)
    assert guess.least_seconds == pytest.approx(0.5 + 3 * 2)
    assert len(guess.cut) == 1


def test_a_point_that_has_not_begun_to_simulate_gives_a_lower_bound() -> None:
    guess = Estimate(points=3, programs=2, workers=2, trials=(DONE, Trial(5.0, 0.0, 200, share=0.0)))
    assert guess.seconds is None
    assert guess.least_seconds == pytest.approx((2 * 4.0 + 0.05) / 2)


@pytest.mark.parametrize(("first_s", "counted"), [(1.0, False), (3.5, True)])
def test_a_point_that_had_hardly_begun_says_nothing(
    first_s: float, counted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it has taken longer than another in all."""
    cut = Trial(first_s, 0.0, 200, share=0.0)
    monkeypatch.setattr(estimate_module, "try_groups", lambda _groups, _ends, _most_s: [DONE, cut])
    plan = plan_sweep(fakes.toy_grid(tmp_path, M=[1, 2]), tmp_path / "out")
    assert estimate(plan, workers=1).trials == ((DONE, cut) if counted else (DONE,))


def test_the_first_and_the_last_and_one_between_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a tenth of what is predicted, if it is more than the budget, but half a minute at most."""
    tried: list[int] = []

    def try_groups(
        groups: Sequence[Points], _ends: float, most_s: Callable[[Sequence[Trial]], float]
    ) -> Sequence[Trial]:
        tried.extend(group[0].parameters["M"] for group in groups)  # type: ignore[arg-type]
        assert most_s([]) == 0
        assert most_s([Trial(8.0, 0.0, 200)]) == pytest.approx(0.1 * 5 * 8)
        assert most_s([Trial(2.0, 1.0, 200, share=0.25)]) == pytest.approx(0.1 * 5 * 5)
        assert most_s([Trial(2.0, 1.0, 200, share=0.0)]) == pytest.approx(0.1 * 5 * 2)
        assert most_s([Trial(80.0, 0.0, 200)]) == 30
        return [DONE]

    monkeypatch.setattr(estimate_module, "try_groups", try_groups)
    plan = plan_sweep(fakes.toy_grid(tmp_path, M=[1, 2, 3, 4, 5]), tmp_path / "out")
    assert estimate(plan, workers=1) == Estimate(5, 5, 1, (DONE,))
    assert tried == [1, 3, 5]
