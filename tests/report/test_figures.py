"""Every figure of a sweep over data that are awkward to draw: no text meets another, nothing leaves the figure."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import polars
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.heatmap import plot_heat
from kernbench.report.figures.parallel import plot_parallel
from kernbench.report.figures.pareto import plot_pareto
from kernbench.report.figures.plot import plot_latency
from kernbench.sweep.grid.grid import Objective
from tests.report.sample_tables import table

LATENCY, RATE = Objective("latency_ns"), Objective("achieved_tflops", least=False)
NAMES = [f"a_variant_whose_name_has_forty_letters__{i}" for i in range(5)]
GBS, BYTES = "topology__hbm__channel_gbs", "topology__pe_tcm__bytes"
SLACK_PX = 1.0  # by which a text may stand over the edge, and texts may meet

TABLES: dict[str, Callable[[], polars.DataFrame]] = {
    "one point": lambda: table(lambda m, n: 10.0 * m if m * n == 1 else None, M=[1, 2], N=[1, 2]),
    "12 x 12 cells": lambda: table(
        lambda m, n: 1229.0 * m / (n + 3),
        **{BYTES: [2**k for k in range(12, 24)], GBS: [8.0 * i for i in range(1, 13)]},
    ),
    "thirteen decades": lambda: table(lambda m, n: 10.0 ** (m - 3) * n, M=[*range(13)], N=[1, 2]),
    "nine parameters": lambda: table(
        lambda *v: 1000.0 + sum(i * len(str(x)) for i, x in enumerate(v)),
        **{f"a_parameter_{i}": [1, 16] for i in range(8)},
        variant=["load_load", "ref_ref"],
    ),
    "names": lambda: table(lambda v, w: 5e3 * (NAMES.index(v) + 1) + len(w), variant=NAMES, other=NAMES[::-1]),
    "panels": lambda: table(lambda v, m, n: 5e3 * m * n * (NAMES.index(v) + 1), variant=NAMES, M=[1, 2, 8], N=[1, 2]),
    "equal": lambda: table(lambda *_: 500.0, M=[1, 2, 3], N=[1, 2]),
    "failed points": lambda: table(
        lambda m, n: None if (m + n) % 3 == 0 else 100.0 * m * n, M=[1, 2, 3, 4], N=[1, 2, 3]
    ),
    "thirty series": lambda: table(lambda m, n: 100.0 * m + 37 * n, M=[16, 32, 64, 128], N=[*range(30)]),
    "negative values": lambda: table(lambda m, n: 500.0 + 10 * m + n, M=[-2, -1, 0, 1, 2], N=[-3, 0, 3]),
    "values close to each other": lambda: table(lambda m, n: 1e6 + m + n, M=[1000, 1001, 1024], N=[1, 1000]),
}


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Figure | None]:
    """Draws one kind of figure of a table; None if there is none."""
    kept: list[Figure] = []
    monkeypatch.setitem(style.LOOK, "figure.dpi", 72)
    monkeypatch.setattr(Figure, "savefig", lambda figure, path, **_: kept.append(figure) or path.touch())
    kinds: dict[str, Callable[[polars.DataFrame, Path], Any]] = {
        "latency": lambda given, stem: plot_latency(given, stem, "a title"),
        "heat": lambda given, stem: plot_heat(given, LATENCY, stem, "a title"),
        "pareto": lambda given, stem: plot_pareto(given, (LATENCY, RATE), stem, "a title"),
        "parallel": lambda given, stem: plot_parallel(given, (LATENCY, RATE), stem, "a title"),
    }

    def drawn(kind: str, given: polars.DataFrame) -> Figure | None:
        kept.clear()
        kinds[kind](given, tmp_path / kind)
        return kept[0] if kept else None

    return drawn


def extents(figure: Figure) -> dict[str, Any]:
    """Each text that is seen with its extent in px, by the text and its place."""
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_visible()]
    boxes = [(text, text.get_window_extent()) for text in texts if text.get_text().strip()]
    return {f"{text.get_text()} at {box.x0:.0f}, {box.y0:.0f}": (text, box) for text, box in boxes}


def meet(one: tuple[Text, Any], other: tuple[Text, Any]) -> bool:
    (text, a), (beside, b) = one, other
    if text.get_rotation() and text.get_rotation() == beside.get_rotation() and text.get_rotation() % 90:
        return False  # turned names: their frames meet, they do not
    across = min(a.x1, b.x1) - max(a.x0, b.x0)
    up = min(a.y1, b.y1) - max(a.y0, b.y0)
    return across > SLACK_PX and up > SLACK_PX


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["latency", "heat", "pareto", "parallel"])
@pytest.mark.parametrize("name", TABLES)
def test_no_text_meets_another_or_leaves_the_figure(draw: Callable[..., Figure | None], name: str, kind: str) -> None:
    figure = draw(kind, TABLES[name]())
    if figure is None:
        assert kind != "latency" or name == "one point"
        return
    assert figure.get_figwidth() == style.PAGE
    seen = extents(figure)
    whole = figure.bbox.padded(SLACK_PX)
    assert not [text for text, (_, box) in seen.items() if not (whole.contains(*box.min) and whole.contains(*box.max))]
    assert not [(one, other) for one, other in combinations(seen, 2) if meet(seen[one], seen[other])]
    assert not [text for text in seen if "e+" in text or "e-" in text]


@pytest.mark.slow
def test_lines_are_at_ticks_that_were_swept(draw: Callable[..., Figure | None]) -> None:
    sizes = [2**k for k in range(10, 22)]
    figure = draw("latency", table(lambda m, n: 1.0 * m * n, slot_bytes=sizes, N=[1, 2]))
    assert figure is not None
    (axes,) = figure.axes
    assert set(axes.get_xticks()) <= set(sizes)
    assert len(axes.get_xticks()) >= 4
    assert axes.get_xticklabels()[0].get_text() == "1 KiB"


@pytest.mark.slow
def test_a_value_has_one_colour_on_all_figures_of_a_page(draw: Callable[..., Figure | None]) -> None:
    given = table(lambda v, m, n: 10.0 * m * n + len(v), variant=["a", "bb"], M=[1, 2, 4], N=[1, 2, 3])
    shades: list[dict[str, str]] = []
    for kind in ("latency", "pareto"):
        figure = draw(kind, given)
        assert figure is not None
        lines = [line for line in figure.axes[0].lines if not line.get_label().startswith(("_", "Pareto"))]
        shades.append({line.get_label(): to_hex(line.get_color()) for line in lines})
    assert shades[0] == shades[1] == {"a": colours.CATEGORIES[0].lower(), "bb": colours.CATEGORIES[1].lower()}
