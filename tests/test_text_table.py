"""Tables on terminals of any width: no number and no word is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench.text import count_cells, split_words
from kernbench.text_table import (
    KEEP,
    SHORT,
    Column,
    Field,
    TextTable,
    figures_table,
    list_table,
    shorten_names,
)

WORDS = st.text("abcdé世x_1", min_size=1, max_size=12)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
FIGURES = st.floats(0, 1e12).map(lambda value: f"≥ {value:,.3f}") | st.integers(0, 10**9).map(str)
NAMES = st.lists(st.sampled_from(["sip0", "cube12", "pe3", "dma"]), min_size=1, max_size=5).map(".".join)
HEADINGS = st.sampled_from(["", "latency ns", "hbm.channel_gbs", "bytes_per_pe", "1 % more gives"])


@st.composite
def columns(draw: st.DrawFn, rows: int) -> Column:
    kind, shortens = draw(st.sampled_from([(FIGURES, False), (TEXTS, False), (NAMES, True)]))
    cells = draw(st.lists(kind, min_size=rows, max_size=rows))
    rank = draw(st.sampled_from([1, 2, 3, KEEP]))
    return Column(draw(HEADINGS), cells, right=kind is FIGURES, rank=rank, shortens=shortens)


TABLES = st.integers(1, 4).flatmap(lambda rows: st.lists(columns(rows), min_size=1, max_size=8)).map(TextTable)


def shown(table: TextTable, width: int | None) -> list[str]:
    return ["".join(text for text, _ in line) for line in table.lay_out(width)]


def widest_word(table: TextTable) -> int:
    """The widest text that must not be broken."""
    texts = [column.heading for column in table.columns]
    whole = [cell for column in table.columns for cell in column.cells if column.right or column.shortens]
    words = [word for column in table.columns for text in (column.heading, *column.cells) for word in split_words(text)]
    return max((count_cells(text) for text in (*whole, *words, *texts)), default=0)


@pytest.mark.slow
@given(TABLES, st.integers(1, 160))
def test_no_line_is_wider_than_the_terminal_but_for_a_single_word(table: TextTable, width: int) -> None:
    room = max(width, widest_word(table) + 2, len("lack of room: "))
    assert all(count_cells(line) <= room for line in shown(table, width))


@pytest.mark.slow
@given(TABLES, st.integers(1, 160))
def test_no_word_is_cut(table: TextTable, width: int) -> None:
    """Whatever is shown is a whole word of a cell; what is missing belongs to a column that the last line names."""
    lines = shown(table, width)
    said = " ".join(" ".join(lines).split())
    left_out = said.partition("left out, for lack of room: ")[2]
    for column in table.columns:
        if column.rank < KEEP and column.heading in left_out:
            continue
        for cell in column.cells:
            assert all(word in said for word in split_words(cell)) or (column.shortens and is_shortened(cell, said))


def is_shortened(name: str, said: str) -> bool:
    """Whether a text has the name without whole parts of its middle."""
    ends = [word.split("…") for word in said.split() if "…" in word]
    return any(name.startswith(head) and head.endswith(".") and name.endswith(tail) for head, tail in ends)


@pytest.mark.slow
@given(TABLES)
def test_a_pipe_gets_everything_on_whole_lines(table: TextTable) -> None:
    lines = shown(table, None)
    headed = any(column.heading for column in table.columns)
    assert len(lines) == len(table.columns[0].cells) + headed
    for row, line in enumerate(lines[headed:]):
        assert line.split() == [word for column in table.columns for word in column.cells[row].split()]


def test_short_texts_stay_on_one_line_and_long_ones_are_wrapped() -> None:
    rows = [{"name": "hbm_ctrl channels", "about": "what is said of it at length", "ns": 1234.5}]
    assert len(rows[0]["name"]) <= SHORT < len(rows[0]["about"])
    fields = {"name": Field("bottleneck"), "about": Field("about"), "ns": Field("latency ns", ",.1f")}
    assert shown(figures_table(rows, fields), 40) == [
        "                                 latency",
        "bottleneck         about              ns",
        "hbm_ctrl channels  what is said  1,234.5",
        "                   of it at",
        "                   length",
    ]


def test_a_heading_of_several_words_has_two_lines_where_texts_can_be_wrapped() -> None:
    about = "Paged attention in tasks: window against schedulers, shards of ready queues and batch"
    rows = [{"name": "window", "about": about}]
    table = figures_table(rows, {"name": Field("sweep of task graphs"), "about": Field("what it is")})
    assert shown(table, 60) == [
        "sweep of",
        "task graphs  what it is",
        "window       Paged attention in tasks: window against",
        "             schedulers, shards of ready queues and batch",
    ]


def test_the_least_important_column_goes_first_and_is_named() -> None:
    rows = [{"a": 1, "b": 22, "busy": 0.5}]
    fields = {"a": Field("first", "d", rank=2), "b": Field("second", "d", rank=1), "busy": Field("busy", ".0%")}
    assert shown(figures_table(rows, fields), 16)[:2] == ["first  busy", "    1   50%"]
    assert " ".join(shown(figures_table(rows, fields), 16)[2:]) == (
        "left out, for lack of room: second; it is in --json"
    )


def test_what_must_stay_is_listed_where_columns_do_not_fit() -> None:
    rows = [{"ns": 1234567.8, "part": "sip0.cube0.hbm_ctrl.pe0"}, {"ns": 8.0, "part": "gemm"}]
    table = figures_table(rows, {"ns": Field("latency ns", ",.1f"), "part": Field("bottleneck")})
    assert shown(table, 30) == [
        "latency ns  1,234,567.8",
        "bottleneck",
        "  sip0.cube0.hbm_ctrl.pe0",
        "",
        "latency ns  8.0",
        "bottleneck  gemm",
    ]


def test_labels_figures_and_remarks() -> None:
    table = list_table([("latency", "1,214.143 ns", "simulated time of 32 KiB"), ("", "≤ 9.000 ns", "all")])
    assert shown(table, 38) == [
        "latency  1,214.143 ns  simulated time",
        "                       of 32 KiB",
        "           ≤ 9.000 ns  all",
    ]


def test_names_lose_whole_parts_of_their_middle_unless_they_would_be_alike() -> None:
    place = "/home/me/benches/deep/gemm.py:12"
    assert shorten_names([place], 20) == ["/home/me/…gemm.py:12"]
    for width in range(12):  # the name of the file and the line stay
        assert shorten_names([place], width) == ["/home/…gemm.py:12"]
    assert shorten_names(["benches/deep_gemm.py:12"], 4) == ["benches/deep_gemm.py:12"]
    alike = ["sip0.cube0.dma", "sip0.cube1.dma"]
    assert shorten_names(alike, 12) == alike
    assert shorten_names(["plain"], 2) == ["plain"]


def test_texts_of_users_cannot_steer_the_terminal() -> None:
    lines = shown(TextTable([Column("a\x1b[2J", ["one\ntwo", "[bold]x"])]), None)
    assert lines == ["a\\x1b[2J", "one\\ntwo", "[bold]x"]
