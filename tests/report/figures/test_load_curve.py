"""The latency–load plot."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.report.figures.load_curve import TOP, _draw, _draw_all, plot_load_curve
from kernbench.report.figures.style import shown
from kernbench.traffic.curve import Curve
from kernbench.traffic.injection_process import InjectionProcess
from kernbench.traffic.load_point import LoadPoint


def curve(*latencies: float, saturation: float | None = None, flits: int = 4) -> Curve:
    points = tuple(
        LoadPoint((i + 1) / 10, 0.1, 9, 10.0, latency, latency, 2 * latency, 3 * latency, 99.0, 9, 0.1)
        for i, latency in enumerate(latencies)
    )
    return Curve(
        "mesh_8x8", "8 x 8", "hybrid", InjectionProcess("uniform", flits), 50.0, 100.0, 10.0, saturation, points
    )


@pytest.mark.slow
def test_two_files_the_same_each_time(tmp_path: Path) -> None:
    first = plot_load_curve(curve(11, 14, 90, saturation=0.22), tmp_path / "first")
    second = plot_load_curve(curve(11, 14, 90, saturation=0.22), tmp_path / "second")
    assert [path.name for path in first] == ["first.svg", "first.png"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_what_is_drawn() -> None:
    figure = _draw(curve(11, 14, 90, saturation=0.22))
    (axes,) = figure.axes
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "99 % of packets",
        "mean",
        "mean, each packet alone",
        "saturation, 0.220",
    ]
    assert axes.lines[1].get_xydata().tolist() == [[0.1, 11], [0.2, 14], [0.3, 90]]  # type: ignore[union-attr]
    assert axes.get_ylim() == (0, TOP * 10)
    assert figure.get_suptitle() == "uniform traffic on mesh_8x8 (8 x 8), packets of 4 flits"


def test_without_saturation_all_points_are_in_sight() -> None:
    figure = _draw(curve(11, 14, flits=1))
    (axes,) = figure.axes
    assert len(axes.lines) == 3
    assert axes.get_ylim() == pytest.approx((0, 28 * 1.08))
    assert figure.get_suptitle() == "uniform traffic on mesh_8x8 (8 x 8), packets of 1 flit"


def test_curves_of_several_machines_have_a_line_each() -> None:
    figure = _draw_all("depth", ["2", "$4$"], [curve(11, 30, saturation=0.15), curve(11, 14)])
    (axes,) = figure.axes
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["2, saturated at 0.150", shown("$4$")]
    assert legend.get_title().get_text() == "depth"
    assert axes.lines[0].get_xydata().tolist() == [[0.1, 11], [0.2, 30]]  # type: ignore[union-attr]
    assert axes.get_ylim() == pytest.approx((0, 30 * 1.08))
