"""The examples of the pages on traffic print what they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.readme import ROOT, make_checkout, read_steps, run_step, without_wall_time


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "kinds"),
    [("networks.md", ["command"] * 4 + ["python"]), ("probe.md", ["command", "python"])],
)
def test_every_step_of_a_page(page: str, kinds: list[str], tmp_path: Path) -> None:
    steps = read_steps((ROOT / "docs" / page).read_text(encoding="utf-8"))
    assert [step.kind for step in steps] == kinds
    make_checkout(tmp_path)
    for step in steps:
        printed = run_step(step, tmp_path)
        shown = without_wall_time(step.output)
        assert without_wall_time(printed)[: len(shown)] == shown
