"""What the page on networks shows is what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.readme import ROOT, make_checkout, read_steps, run_step, without_wall_time


@pytest.mark.slow
def test_every_step_of_the_page_on_networks(tmp_path: Path) -> None:
    steps = read_steps((ROOT / "docs" / "networks.md").read_text(encoding="utf-8"))
    assert [step.kind for step in steps] == ["command", "command", "python"]
    make_checkout(tmp_path)
    for step in steps:
        printed = run_step(step, tmp_path)
        shown = without_wall_time(step.output)
        assert without_wall_time(printed)[: len(shown)] == shown
