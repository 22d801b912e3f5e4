"""Trials: what they tell, and where they are cut. None of these tests depends on how long anything takes."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import pytest

from kernbench.engine import progress
from kernbench.sweep import trial as module
from kernbench.sweep.design.points import Points
from kernbench.sweep.execution.batches import Groups
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.trial import Trial, try_groups

FIGURES = {"topology.hbm.channel_gbs": [8, 16, 32]}
GRID = {"bench": "gemm-single-pe", "topology": "tiny", "mode": "flit", "parameters": {"M": [32, 64], **FIGURES}}
FAILING = """
from kernbench.runs.bench import bench

@bench("fails", "a bench that fails")
def fails(torch, *, M=1):
    raise ValueError("no luck")
"""


def groups_of(grid: dict[str, object], directory: Path) -> Groups:
    return Groups(plan_sweep(grid, directory / "out").missing)


def try_all(groups: Sequence[Points]) -> list[Trial]:
    """As long as they take."""
    return try_groups(groups, time.time() + 1000, lambda _: 1000.0)


@pytest.mark.slow
def test_points_are_tried_and_nothing_is_kept(tmp_path: Path) -> None:
    ours = np.ones(1 << 26)  # the memory of this process is not that of the trial
    trials = try_all(groups_of(GRID, tmp_path))
    assert len(trials) == 2
    for trial in trials:
        assert (trial.share, trial.error) == (None, None)
        assert 0 < trial.more_s <= trial.first_s
        assert 50e6 < trial.peak_bytes < ours.nbytes
        assert 5e6 < trial.shared_bytes < trial.peak_bytes
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_bounds_are_tried_together(tmp_path: Path) -> None:
    (trial,) = try_all(groups_of({**GRID, "mode": "analytic", "parameters": FIGURES}, tmp_path))
    assert (trial.share, trial.error) == (None, None)
    assert 0 < trial.more_s <= trial.first_s


@pytest.mark.slow
def test_a_point_that_fails_tells_its_error(tmp_path: Path) -> None:
    bench = tmp_path / "fails.py"
    bench.write_text(FAILING, encoding="utf-8")
    (trial,) = try_all(groups_of({"bench": str(bench), "topology": "tiny", "parameters": {"M": 2}}, tmp_path))
    assert trial.error is not None
    assert "ValueError: no luck" in trial.error


@pytest.mark.slow
def test_a_process_that_dies_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ALONE", "import os; os.kill(os.getpid(), 9)")
    (trial,) = try_all(groups_of(GRID, tmp_path))
    assert trial.whole is None
    assert trial.error == "the process of the trial died; it may need more memory"


@pytest.mark.slow
def test_a_point_is_cut_when_its_time_is_up_and_it_is_known_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_EVERY_S", 0)
    monkeypatch.setattr("kernbench.engine.session.WORK_A_CALL", 50)
    (group, _) = groups_of(GRID, tmp_path)
    out = StringIO()
    module._Structure(7, group, -1.0, out).run()
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert {line.pop("structure") for line in told} == {7}
    trials = [Trial(**line) for line in told]
    assert trials[0].share == 0
    assert trials[-1].share is not None
    assert module.ENOUGH <= trials[-1].share < 1
    assert 0 < trials[-1].more_s < trials[-1].first_s
    whole = trials[-1].whole
    assert whole is not None
    assert whole.first_s > trials[-1].first_s
    assert trials[-1] == max(trials, key=lambda trial: trial.first_s)


def watched(*lines: str | None, cut_at: int = 1000) -> tuple[list[Trial], bool]:
    """What is known after these lines; there is no time left at look number `cut_at`."""
    queue: SimpleQueue[bytes | None] = SimpleQueue()
    for line in lines:
        queue.put(line if line is None else line.encode())
    looks = iter(range(1000))
    return module._watch(queue, lambda _trials, _begun: float(next(looks) < cut_at))


def told(number: int, trial: Trial) -> str:
    fields = {name: getattr(trial, name) for name in Trial.__slots__}
    return json.dumps({"structure": number, **fields})


def test_a_process_has_time_until_one_trial_is_known_how_far_it_is() -> None:
    unknown, known = Trial(3.0, 0.0, 9, share=0.0), Trial(3.0, 1.0, 9, share=0.1)
    assert module._least_s([]) == module._least_s([unknown]) == module.PATIENCE_S
    assert module._least_s([known, unknown]) == module._least_s([Trial(3.0, 1.0, 9)]) == 1.0
    assert module._least_s([Trial(3.0, 0.0, 9, share=0.0, error="it failed")]) == 1.0


def test_what_was_told_last_of_each_structure_counts() -> None:
    first, later, second = Trial(1.0, 0.5, 9, share=0.5), Trial(2.0, 1.0, 9), Trial(3.0, 1.5, 9, share=0.5)
    lines = (told(0, first), "what a bench prints", '{"other": 1}', "7", told(0, later), told(1, second))
    assert watched(*lines, None) == ([later, second], True)
    assert watched(*lines, cut_at=6) == ([later, second], False)
    assert watched(told(0, first), cut_at=1) == ([first], False)
    assert watched(cut_at=0) == ([], False)


def test_a_point_that_cannot_tell_how_far_it_is_has_taken_as_long_as_was_waited() -> None:
    ((trial,), _) = watched(told(0, Trial(1.0, 0.0, 9, share=0.0)), cut_at=2)
    assert trial.first_s > 1
    assert module._waited([Trial(1.0, 0.5, 9, share=0.5)], 3.0)[0].first_s == 1
    assert module._waited([Trial(1.0, 0.5, 9)], 3.0)[0].first_s == 1
