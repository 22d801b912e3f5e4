"""The examples of the page on diagrams print what it shows."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from kernbench.machine import load_machine
from kernbench.machine.views import find_view
from tests.readme import ROOT, make_checkout, read_steps, run_step


@pytest.mark.slow
def test_every_step_of_the_page_on_diagrams(tmp_path: Path) -> None:
    steps = read_steps((ROOT / "docs" / "diagrams.md").read_text(encoding="utf-8"))
    assert [step.kind for step in steps] == ["command", "python"]
    make_checkout(tmp_path)
    printed, said = (run_step(step, tmp_path) for step in steps)
    assert printed.strip() == steps[0].output
    assert said.startswith("[('PE 0', ")


@pytest.mark.parametrize("name", ["cube", "sip"])
def test_the_pictures_show_the_machine_as_it_is(name: str) -> None:
    """Its parts at least; their figures may have changed since."""
    root = ElementTree.parse(ROOT / "docs" / "images" / f"{name}.svg").getroot()
    told = {(tip.text or "").split(",")[0] for tip in root.iter("{http://www.w3.org/2000/svg}title")}
    assert {box.name for box in find_view(load_machine("sip_2x4x4"), name).boxes} <= told
