"""Source text of kernels: decoding, and errors with a place and a caret."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from tree_sitter import Node

from kernbench.errors import InputError
from kernbench.tanto.language.macros import Macro

_MOST_SHOWN = 80  # characters of a line on each side of the caret


_BRACKET = re.compile(rb"""([](){}[])|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'""")
_CLOSING = {")": "(", "]": "[", "}": "{"}


class KernelSourceError(InputError):
    """A kernel file that is not legal; the text has file:line:column, the line and a caret."""


class SourcePiece(NamedTuple):
    """Where a token of a line that macros rewrote comes from: its first byte there, and its place in the file (from 0)."""

    start: int
    line: int
    column: int
    macro: str


@dataclass(slots=True)
class Source:
    """A kernel file whose directives were carried out: they and what they exclude are blank, macros are expanded.

    Rows of `code` are lines of the file. What is not in `pieces` is where it was.
    """

    file: str
    text: str  # as it stands in the file
    code: bytes = b""  # UTF-8, preprocessed
    macros: dict[str, Macro] = field(default_factory=dict[str, Macro])
    pieces: dict[int, list[SourcePiece]] = field(
        default_factory=dict[int, list[SourcePiece]]
    )  # of rows that macros rewrote
    _rows: list[bytes] = field(default_factory=list[bytes])

    def error(self, line: int, column: int, message: str) -> KernelSourceError:
        """The error at a place of the file; line and column count from 0."""
        lines = self.text.split("\n")
        shown = lines[line].rstrip("\r") if line < len(lines) else ""
        before, after = shown[:column], shown[column:]
        before = before if len(before) <= _MOST_SHOWN else f"...{before[-_MOST_SHOWN:]}"
        after = after if len(after) <= _MOST_SHOWN else f"{after[:_MOST_SHOWN]}..."
        margin = "".join("\t" if c == "\t" else " " for c in before)
        return KernelSourceError(f"{self.file}:{line + 1}:{column + 1}: {message}\n  {before}{after}\n  {margin}^")

    def error_at(self, node: Node, message: str) -> KernelSourceError:
        """The error at a node of the syntax tree."""
        line, column, macro = self.origin(node)
        return self.error(line, column, f"in macro {macro}: {message}" if macro else message)

    def unmatched_bracket(self) -> KernelSourceError | None:
        """The error at the first bracket that closes nothing, or the last that nothing closes."""
        opened = list[tuple[str, int, int]]()
        for row, code in enumerate(self.code.split(b"\n")):
            for found in _BRACKET.finditer(code):
                bracket, at = found[1].decode() if found[1] else "", found.start()
                if bracket in _CLOSING.values():
                    opened.append((bracket, row, at))
                elif bracket and opened and opened[-1][0] == _CLOSING[bracket]:
                    opened.pop()
                elif bracket:
                    other = f"; {opened[-1][0]!r} of line {opened[-1][1] + 1} is open" if opened else ""
                    return self._error_in_code(row, at, f"{bracket!r} closes nothing{other}")
        return self._error_in_code(*opened[-1][1:], f"{opened[-1][0]!r} is never closed") if opened else None

    def _error_in_code(self, row: int, start: int, message: str) -> KernelSourceError:
        line, column, _ = self.origin_of(row, start)
        return self.error(line, column, message)

    def place(self, node: Node) -> tuple[int, int]:
        """The line and column of a node in the file, from 1."""
        line, column, _ = self.origin(node)
        return line + 1, column + 1

    def origin(self, node: Node) -> tuple[int, int, str]:
        """The line and column of a node in the file, from 0, and the macro that it comes from or ""."""
        return self.origin_of(*node.start_point)

    def origin_of(self, row: int, start: int) -> tuple[int, int, str]:
        """As `origin`, of a row and byte of `code`."""
        pieces = self.pieces.get(row)
        if pieces:
            found = pieces[max(0, bisect_right(pieces, start, key=lambda piece: piece.start) - 1)]
            return found.line, found.column, found.macro
        if not self._rows:
            self._rows = self.code.split(b"\n")
        column = len(self._rows[row][:start].decode(errors="ignore")) if row < len(self._rows) else start
        return row, column, ""
