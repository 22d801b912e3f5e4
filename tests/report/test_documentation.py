"""What the page on diagrams shows is what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.readme import ROOT, make_checkout, read_steps, run_step


@pytest.mark.slow
def test_every_step_of_the_page_on_diagrams(tmp_path: Path) -> None:
    steps = read_steps((ROOT / "docs" / "diagrams.md").read_text(encoding="utf-8"))
    assert [step.kind for step in steps] == ["command", "python"]
    make_checkout(tmp_path)
    printed, said = (run_step(step, tmp_path) for step in steps)
    assert printed.strip() == steps[0].output
    assert said.startswith("[('PE 0', ")
