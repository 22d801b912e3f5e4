"""The writer of SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from kernbench.report.diagram.svg import Svg, text_width

SPACE = "{http://www.w3.org/2000/svg}"


def test_shapes_and_texts() -> None:
    svg = Svg(100, 50.5, "a <b>")
    svg.rect(1, 2, 3, 4, "#FFF", "#000", radius=2, dash="4 2", tip="x & y")
    svg.circle(5, 6, 7.125, "#FFF", "none")
    svg.polyline([(0, 0), (1.23456, -0.0001)], "#000", line=1.5)
    svg.text(1, 10, "<i> & co", 10, anchor="start", bold=True)
    root = ElementTree.fromstring(svg.render())
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("100", "50.5", "0 0 100 50.5")
    assert root.find(f"{SPACE}title").text == "a <b>"  # type: ignore[union-attr]
    _, rect = root.findall(f"{SPACE}rect")
    assert (rect.get("rx"), rect.get("stroke-dasharray"), rect.find(f"{SPACE}title").text) == ("2", "4 2", "x & y")  # type: ignore[union-attr]
    circle = root.find(f"{SPACE}circle")
    assert (circle.get("r"), circle.get("stroke")) == ("7.12", None)  # type: ignore[union-attr]
    assert root.find(f"{SPACE}polyline").get("points") == "0,0 1.23,0"  # type: ignore[union-attr]
    text = root.find(f"{SPACE}text")
    assert (text.text, text.get("y"), text.get("font-weight")) == ("<i> & co", "13.5", "bold")  # type: ignore[union-attr]


def test_longer_texts_are_wider() -> None:
    assert text_width("four", 10) == 2 * text_width("tw", 10)
    assert text_width("m", 25) == pytest.approx(14)
