"""Source text of kernels: decoding, and errors with a place and a caret."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tree_sitter import Node

from kernbench.errors import InputError
from kernbench.library import show_path
from kernbench.tanto.language.macros import Macro

_MOST_BYTES = 4 << 20


class KernelSourceError(InputError):
    """A kernel file that is not legal; the text has file:line:column, the line and a caret."""


class Piece(NamedTuple):
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
    pieces: dict[int, list[Piece]] = field(default_factory=dict[int, list[Piece]])  # of rows that macros rewrote
    _rows: list[bytes] = field(default_factory=list[bytes])

    def error(self, line: int, column: int, message: str) -> KernelSourceError:
        """The error at a place of the file; line and column count from 0."""
        lines = self.text.split("\n")
        shown = lines[line].rstrip("\r") if line < len(lines) else ""
        margin = "".join("\t" if c == "\t" else " " for c in shown[:column])
        return KernelSourceError(f"{self.file}:{line + 1}:{column + 1}: {message}\n  {shown}\n  {margin}^")

    def error_at(self, node: Node, message: str) -> KernelSourceError:
        """The error at a node of the syntax tree."""
        line, column, macro = self.origin(node)
        return self.error(line, column, f"in macro {macro}: {message}" if macro else message)

    def place(self, node: Node) -> tuple[int, int]:
        """The line and column of a node in the file, from 1."""
        line, column, _ = self.origin(node)
        return line + 1, column + 1

    def origin(self, node: Node) -> tuple[int, int, str]:
        """The line and column of a node in the file, from 0, and the macro that it comes from or ""."""
        row, start = node.start_point
        pieces = self.pieces.get(row)
        if pieces:
            found = pieces[max(0, bisect_right(pieces, start, key=lambda piece: piece.start) - 1)]
            return found.line, found.column, found.macro
        if not self._rows:
            self._rows = self.code.split(b"\n")
        column = len(self._rows[row][:start].decode(errors="ignore")) if row < len(self._rows) else start
        return row, column, ""


def read_source(path: Path, defines: Mapping[str, str] | None = None) -> Source:
    """Read a kernel file, in UTF-8 or else Latin-1. Errors: InputError for one that cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{show_path(path)}: cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise InputError(f"{show_path(path)}: has {len(data):,} bytes; a kernel file has at most {_MOST_BYTES:,}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return make_source(show_path(path), text, defines)


def make_source(file: str, text: str, defines: Mapping[str, str] | None = None) -> Source:
    """Preprocess a text. Errors: KernelSourceError for a directive that is unknown or has no end."""
    from kernbench.tanto.language.preprocessor import Preprocessor

    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    source = Source(file, text, macros={name: Macro(value) for name, value in (defines or {}).items()})
    source.code = Preprocessor(source).run().encode()
    return source
