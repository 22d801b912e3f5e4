"""Names, values and descriptions that are markup, in everything a sweep leaves and in the pictures of machines."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars
import pytest
from markdown_it import MarkdownIt
from matplotlib.figure import Figure
from matplotlib.text import Text

from kernbench.characters import visible
from kernbench.report.diagram.svg import Svg
from kernbench.report.figures import style
from kernbench.report.pages.html_report import write_page
from kernbench.report.pages.markdown_report import write_report
from kernbench.report.pages.sweep_outputs import choose_objectives, write_outputs
from kernbench.sweep.grid.grid import load_grid
from tests.report.sample_pages import read_points, read_state
from tests.report.sample_tables import table

TEXTS = (
    "a|b\\|c\\",
    "`code` **bold** _it_ ~s~ [x](javascript:y) ![i](u)",
    "<script>alert(1)</script>&lt;&amp;&#65;",
    "]]> --> <!-- ' \" </svg></title></script>",
    "$x^2$ and $\\frac{1}{$",
    "two\nlines\r\tand \x01\x7f\x9b control",
    "_hidden",
    "",
    "\u65e5\u672c \U0001f600 gr\u00f6\u00dfe",
    "# heading",
    "v" * 500,
)
HOSTILE = " ".join(TEXTS)


def _grid(description: str = HOSTILE, bench: str = "# a|b `c` <d>"):
    return load_grid({"bench": bench, "name": "mine", "description": description})


def _table() -> polars.DataFrame:
    given = table(lambda m, v: None if m == 3 else 10.0 * m + len(v), M=[1, 2, 3], variant=TEXTS)
    return given.with_columns(error=polars.when(polars.col("status") != "ok").then(polars.lit(HOSTILE)))


def _cells(tokens: list) -> list[list[str]]:
    """The texts of each row of the tables of a document."""
    rows: list[list[str]] = []
    for before, token in pairwise(tokens):
        if before.type == "tr_open":
            rows.append([])
        if before.type in ("th_open", "td_open"):
            assert all(child.type == "text" or child.type == "text_special" for child in token.children), token.content
            rows[-1].append("".join(child.content for child in token.children))
    return rows


def test_the_report_is_markdown_whose_texts_are_what_was_given(tmp_path: Path) -> None:
    given, grid = _table(), _grid()
    path = write_report(grid, given, choose_objectives(grid, given), [], {}, tmp_path / "report.md")
    tokens = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
    assert {token.type for token in tokens if token.type.startswith(("html", "code", "fence", "hr"))} == set()
    inline = [token for token in tokens if token.type == "inline"]
    assert {child.type for token in inline for child in token.children or ()} <= {"text", "text_special"}
    pairs = pairwise(tokens)
    headings = ["".join(child.content for child in b.children or ()) for a, b in pairs if a.type == "heading_open"]
    assert headings == [visible(HOSTILE), "Best points", "Points that failed"]
    rows = _cells(tokens)
    assert len(rows) == 2 * (1 + len(TEXTS)) + len(TEXTS)
    best = rows[0].index("variant")
    assert {row[best] for row in rows[1 : 1 + 2 * len(TEXTS)]} == {visible(text.strip()) for text in TEXTS}
    assert len({len(row) for row in rows[: 1 + 2 * len(TEXTS)]}) == 1
    assert rows[-1][-1] == visible(HOSTILE)


class _Page(HTMLParser):
    """The tags of a page, and the texts of each kind of tag."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.tags[-1] if self.tags else "", []).append(data)


def test_the_page_has_no_tag_more(tmp_path: Path) -> None:
    pages = []
    for description in (HOSTILE, "plain"):
        given, grid = _table(), _grid(description)
        path = write_page(
            grid, given, given, choose_objectives(grid, given), [], {}, _manifest(), tmp_path / "report.html"
        )
        page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
        pages.append(page)
    hostile, plain = pages
    assert hostile.tags == plain.tags
    assert hostile.tags.count("script") == 5
    assert "".join(hostile.texts["h1"]).startswith(visible(HOSTILE))
    assert [text for text in hostile.texts["dd"] if text.strip()][:2] == [visible(HOSTILE), visible(HOSTILE)]
    assert read_state(path)["description"] == "plain"
    assert set(read_points(path)["variant"]) == set(TEXTS)


def _manifest() -> dict[str, Any]:
    return {"kernbench": HOSTILE, "command": HOSTILE, "date": HOSTILE, "digests": {HOSTILE: HOSTILE}}


@pytest.mark.slow
def test_plots_are_drawn_without_a_word_and_are_xml(tmp_path: Path) -> None:
    files = write_outputs(_grid(), _table().lazy(), tmp_path)  # warnings are errors here
    pictures = [path for path in files.values() if path.suffix == ".svg"]
    assert len(pictures) >= 3
    for path in pictures:
        ElementTree.parse(path)
    page = _Page()
    page.feed(files["page"].read_text(encoding="utf-8"))
    assert page.tags.count("script") == 5


def test_texts_of_plots_are_drawn_as_they_are(tmp_path: Path) -> None:
    with style.look():
        figure = Figure()
        axes = figure.subplots()
        axes.plot([1, 2], [1, 2], label=style.shown("_hidden"))
        axes.plot([1, 2], [2, 1], label=style.shown(""))
        axes.set_xticks(range(len(TEXTS)), [style.shown(text) for text in TEXTS])
        axes.set_xlabel("$x$ \x01")
        style.head(figure, HOSTILE)
        assert len(axes.get_legend_handles_labels()[1]) == 2
        style.save(figure, tmp_path / "plot")
    assert axes.get_xlabel() == "$x$ \\x01"
    assert not any(text.get_parse_math() for text in figure.findobj(Text) if isinstance(text, Text))
    ElementTree.parse(tmp_path / "plot.svg")


def test_what_the_font_lacks_is_a_square() -> None:
    drawn = f"größe {style.MISSING} {style.MISSING}\n$"
    assert style.drawable("größe \u65e5 \u672c\n$") == drawn
    assert style.shown("v" * 500) == "v" * 20 + "…" + "v" * 19


@pytest.mark.parametrize("text", TEXTS)
def test_pictures_of_machines_are_xml(text: str) -> None:
    svg = Svg(10, 10, text)
    svg.text(1, 1, text, 10)
    svg.rect(1, 1, 2, 2, "#FFF", "#000", tip=text or "x")
    root = ElementTree.fromstring(svg.render())
    space = "{http://www.w3.org/2000/svg}"
    assert [found.text or "" for found in root.iter(f"{space}text")] == [visible(text)]
    assert [found.text or "" for found in root.iter(f"{space}title")] == [visible(text), visible(text or "x")]
