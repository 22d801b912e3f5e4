"""The text of `--help`: whole words and whole lines, on a narrow terminal too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from kernbench.text import count_cells, join_lines, wrap

_SHARE = 3  # the terms of a list take a third of the line at most; longer ones have a line of their own
_LEAST = 10  # characters of a line of text, however narrow the terminal is


class HelpFormatter(click.HelpFormatter):
    """A formatter that breaks lines at blanks alone: no word is cut in two, and no number loses its unit."""

    def write_text(self, text: str) -> None:
        """Paragraphs, each indented as its section is."""
        self._write_lines(wrap(join_lines(text), max(self.width - self.current_indent, _LEAST)))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Terms with their texts in two columns."""
        rows = list(rows)
        most = min(col_max, self.width // _SHARE)
        column = min(max(count_cells(term) for term, _ in rows), most) + col_spacing
        for term, text in rows:
            lines = wrap(join_lines(text), max(self.width - self.current_indent - column, _LEAST))
            beside = count_cells(term) <= column - col_spacing
            first = f"{term}{' ' * (column - count_cells(term))}{lines.pop(0)}" if beside else term
            self._write_lines([first, *(f"{' ' * column}{line}" for line in lines)])

    def _write_lines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.write(f"{' ' * self.current_indent}{line}".rstrip() + "\n")


class HelpContext(click.Context):
    """The context of a command whose help is written by `HelpFormatter`."""

    formatter_class = HelpFormatter
