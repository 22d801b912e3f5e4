"""Machines whose figures have ranges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernbench.library import shipped

Figure = tuple[float, str, tuple[float, float]]  # value, unit, and the ends of the range


def write_ranged(**sections: Mapping[str, Figure]) -> str:
    """`tiny` with figures that have ranges, as `ranged.yaml` in the working directory; returns its name."""
    text = (shipped() / "topology/tiny.yaml").read_text(encoding="utf-8")
    for section, figures in sections.items():
        text += f"{section}:\n"
        for name, (value, unit, (low, high)) in figures.items():
            text += f'  {name}: {{value: {value}, unit: {unit}, range: [{low}, {high}], source: "measured"}}\n'
    Path("ranged.yaml").write_text(text, encoding="utf-8")
    return "ranged.yaml"
