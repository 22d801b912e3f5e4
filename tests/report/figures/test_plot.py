from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars
import pytest

from kernbench.report.figures.plot import choose_layout, plot_latency
from kernbench.sweep.results.bounds import answerable
from tests.report.sample_tables import table

BANDWIDTH = "topology__hbm__channel_gbs"


def columns(given: polars.DataFrame) -> tuple[object, ...]:
    layout = choose_layout(given)
    assert layout is not None
    return (
        layout.across.column,
        layout.line and layout.line.column,
        layout.panel and layout.panel.column,
        [axis.column for axis in layout.folded],
    )


def test_the_first_numeric_axis_goes_across() -> None:
    assert columns(table(lambda *_: 1.0, variant=["a", "b"], M=[1, 2])) == ("M", "variant", None, [])
    assert columns(table(lambda *_: 1.0, M=[1, 2])) == ("M", None, None, [])
    assert columns(table(lambda *_: 1.0, variant=["a", "b"])) == ("variant", None, None, [])


def test_the_third_axis_makes_panels_and_the_rest_is_folded() -> None:
    given = table(lambda *_: 1.0, M=[1, 2], N=[1, 2], K=[*range(13)], variant=["a", "b"], P=[1, 2])
    assert columns(given) == ("M", "N", "variant", ["K", "P"])


def test_panels_stand_in_order_though_the_first_points_are_no_answers() -> None:
    given = table(lambda m, _, k: None if k < 3 and m == 1 else 1.0, M=[1, 2], N=[1, 2], K=[1, 2, 3])
    layout = choose_layout(answerable(given))
    assert layout is not None
    assert layout.panel is not None
    assert (layout.panel.values, layout.panel.in_order) == ((3, 1, 2), (1, 2, 3))


def test_more_lines_than_can_be_told_apart_are_folded() -> None:
    assert columns(table(lambda *_: 1.0, M=[1, 2], N=[*range(13)], K=[1, 2])) == ("M", "K", None, ["N"])


def test_nothing_varies_nothing_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "latency.svg").touch()  # of an earlier table
    assert plot_latency(table(lambda *_: 1.0, M=[1]), tmp_path / "latency", "t") == []
    assert plot_latency(table(lambda *_: None, M=[1, 2]), tmp_path / "latency", "t") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_plot_says_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.figure

    kept: list[matplotlib.figure.Figure] = []
    monkeypatch.setattr(
        matplotlib.figure.Figure, "savefig", lambda figure, path, **_: kept.append(figure) or path.touch()
    )
    given = table(
        lambda m, gbs, variant, _: m * 4000 / gbs, M=[64, 128], **{BANDWIDTH: [8, 16]}, variant=["a", "b"], N=[1, 2]
    )
    paths = plot_latency(given, tmp_path / "latency", "a title")
    assert [path.name for path in paths] == ["latency.svg", "latency.png"]
    figure = kept[0]
    left, right = figure.axes
    assert (left.get_title(loc="left"), right.get_title(loc="left")) == ("variant = a", "variant = b")
    assert (left.get_xlabel(), right.get_xlabel()) == ("M", "M")
    assert figure.get_supylabel() == "latency (µs)"
    assert figure.get_suptitle() == "a title"
    remark, legend = figure.legends
    assert legend.get_title().get_text() == "hbm.\nchannel_gbs\n(GB/s)"
    assert [text.get_text() for text in legend.get_texts()] == ["8", "16"]
    assert remark.get_title().get_text() == "the fastest over N"
    assert [list(line.get_ydata()) for line in left.lines] == [[32000.0, 64000.0], [16000.0, 32000.0]]


@pytest.mark.slow
def test_bounds_are_hollow_and_in_no_solid_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.figure

    kept: list[matplotlib.figure.Figure] = []
    monkeypatch.setattr(
        matplotlib.figure.Figure, "savefig", lambda figure, path, **_: kept.append(figure) or path.touch()
    )
    given = table(lambda m, n: 10.0 * m + n, M=[1, 2, 3], N=[0, 1]).with_columns(
        fidelity=polars.Series(["hybrid", "hybrid", "hybrid", "analytic", "analytic", "hybrid"])
    )
    plot_latency(given, tmp_path / "latency", "t")
    (axes,) = kept[0].axes
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert [[y for y in line.get_ydata() if y == y] for line in hollow] == [[30.0], [21.0]]
    solid = [line for line in axes.lines if line.get_linestyle() == "-"]
    assert [[y for y in line.get_ydata() if y == y] for line in solid] == [[10.0, 20.0], [11.0, 31.0]]
    (legend,) = kept[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1", "lower bound"]


DRAW = """
import sys
from pathlib import Path
from kernbench.report.figures.plot import plot_latency
from tests.report.sample_tables import table
plot_latency(table(lambda m, v: m * 4000.0, M=[64, 128, 256], variant=["a", "b"]), Path(sys.argv[1]), "a title")
"""


@pytest.mark.slow
def test_the_same_table_gives_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    for name in ("one", "two"):
        subprocess.run([sys.executable, "-c", DRAW, str(tmp_path / name)], check=True, cwd=root)
    for suffix in ("svg", "png"):
        one = (tmp_path / f"one.{suffix}").read_bytes()
        assert len(one) > 5000
        assert one == (tmp_path / f"two.{suffix}").read_bytes()
