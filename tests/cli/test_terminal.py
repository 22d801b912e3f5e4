"""What commands print on a terminal: no line is wider than it, no number is cut; errors have colour."""

from __future__ import annotations

import re

import pytest

from kernbench.cli.main import main
from kernbench.cli.output import screen
from kernbench.text import count_cells, wrap
from kernbench.text_table import Line, TextTable

WIDTHS = (80, 100, 120)
NUMBER = re.compile(r"(?<![\w.,])[\d,]*\d(?:\.\d+)?(?![\w.])")
WORD = re.compile(r"[A-Za-z]{3,}")
LEFT_OUT = "left out, for lack of room: they are in --json"

COMMANDS = (
    ["run", "gemm-single-pe", "-t", "tiny", "--set", "M=32", "--set", "N=32", "--set", "K=32"],
    ["list"],
    ["probe", "-t", "tiny"],
    ["probe", "-t", "tiny", "--flow", "host:sip0.cube0.pe0:4KiB", "--flow", "sip0.cube0.pe0:sip0.cube0.pe1:1MiB"],
    ["probe", "-t", "mesh_8x8_credit", "--explain", "--flow", "0:9:4KiB", "--flow", "1:9:4KiB"],
    ["pto", "run", "vector_example", "-t", "ascend_tiny"],
)  # fmt: skip


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str | TextTable]:
    """The sentences and tables that commands print from now on, before they are fitted to a terminal."""
    found: list[str | TextTable] = []
    lay_out = TextTable.lay_out

    def record(table: TextTable, width: int | None) -> list[Line]:
        found.append(table)
        return lay_out(table, width)

    def record_text(text: str, width: int | None) -> list[str]:
        found.append(text)
        return wrap(text, width)

    monkeypatch.setattr(TextTable, "lay_out", record)
    monkeypatch.setattr(screen, "wrap", record_text)
    return found


def lines_of(one: str | TextTable, width: int | None) -> list[str]:
    """A sentence or a table on a terminal of this width, or in a pipe."""
    if isinstance(one, str):
        return wrap(one, width)
    return ["".join(text for text, _ in line) for line in one.lay_out(width)]


@pytest.mark.parametrize("given", COMMANDS, ids=" ".join)
def test_every_command_fits_the_terminal(given: list[str], said: list[str | TextTable]) -> None:
    assert main(given) == 0
    assert any(isinstance(one, TextTable) for one in said)
    for one in list(said):
        whole = "\n".join(lines_of(one, None))
        for width in WIDTHS:
            lines = lines_of(one, width)
            assert [line for line in lines if count_cells(line) > width] == []
            for pattern in (NUMBER, WORD):
                assert set(pattern.findall("\n".join(lines))) <= set(pattern.findall(f"{whole}\n{LEFT_OUT}"))


def test_an_error_is_wrapped_at_words_and_red(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "find_width", lambda _: 80)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["run", "gem"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("\x1b[31m\x1b[1merror:\x1b[0m unknown bench 'gem'")
    assert len(said) > 1
    assert all(len(click_free) <= 80 for click_free in (re.sub(r"\x1b\[\d+m", "", line) for line in said))


@pytest.mark.parametrize(("set_", "coloured"), [({}, False), ({"FORCE_COLOR": "1"}, True),
                                               ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)])  # fmt: skip
def test_a_pipe_has_colours_only_if_they_are_asked_for(
    set_: dict[str, str], coloured: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in set_.items():
        monkeypatch.setenv(name, value)
    screen.complain("warning: old cache")
    screen.complain("neither\nError: two")
    first, second, third = capsys.readouterr().err.splitlines()
    assert third == ("\x1b[31m\x1b[1mError:\x1b[0m two" if coloured else "Error: two")
    assert first == ("\x1b[33m\x1b[1mwarning:\x1b[0m old cache" if coloured else "warning: old cache")
    assert second == "neither"
