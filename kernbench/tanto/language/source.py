"""Source text of kernels: decoding, preprocessing without moving any text, and errors with a place and a caret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernbench.errors import InputError
from kernbench.library import show_path

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w*)[ \t]*(.*)", re.DOTALL)
_DEFINE = re.compile(r"(\w+)(\(([^)]*)\))?[ \t]*(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(r"defined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MOST_BYTES = 4 << 20


class KernelSourceError(InputError):
    """A kernel file that is not legal; the text has file:line:column, the line and a caret."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: its text, and the names of its parameters if it takes any."""

    text: str
    parameters: tuple[str, ...] | None = None


@dataclass(slots=True)
class Source:
    """A kernel file whose directives were carried out: they and what they exclude are blank, all else is where it was."""

    file: str
    text: str  # as it stands in the file
    code: bytes  # UTF-8, preprocessed
    macros: dict[str, Macro] = field(default_factory=dict[str, Macro])

    def error(self, line: int, column: int, message: str) -> KernelSourceError:
        """The error at a place; line and column (bytes of UTF-8) count from 0."""
        lines = self.text.split("\n")
        shown = lines[line].rstrip("\r") if line < len(lines) else ""
        coded = self.code.split(b"\n")
        at = len(coded[line][:column].decode(errors="ignore")) if line < len(coded) else column
        margin = "".join("\t" if c == "\t" else " " for c in shown[:at])
        return KernelSourceError(f"{self.file}:{line + 1}:{at + 1}: {message}\n  {shown}\n  {margin}^")

    def error_at(self, node: Any, message: str) -> KernelSourceError:
        """The error at a node of the syntax tree."""
        row, column = node.start_point
        return self.error(row, column, message)


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
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    source = Source(file, text, b"", {name: Macro(value) for name, value in (defines or {}).items()})
    source.code = _Preprocessor(source).run().encode()
    return source


class _Preprocessor:
    def __init__(self, source: Source) -> None:
        self.source, self.macros = source, source.macros
        self.stack: list[tuple[bool, bool, int]] = []  # (active, one branch was taken, line)

    def run(self) -> str:
        lines, out, at = _blank_comments(self.source.text).split("\n"), list[str](), 0
        while at < len(lines):
            first, whole = at, lines[at]
            if whole.lstrip().startswith("#"):
                while whole.endswith("\\") and at + 1 < len(lines):
                    at += 1
                    whole = whole[:-1] + " " + lines[at]
                self._directive(first, whole)
                out += [""] * (at - first + 1)
            else:
                out.append(whole if self._active() else "")
            at += 1
        if self.stack:
            raise self.source.error(self.stack[-1][2], 0, "#if without #endif; add it")
        return "\n".join(out)

    def _active(self) -> bool:
        return all(active for active, _, _ in self.stack)

    def _directive(self, line: int, text: str) -> None:
        matched = _DIRECTIVE.match(text)
        name, rest = (matched[1], matched[2].strip()) if matched else ("", "")
        if name in ("if", "ifdef", "ifndef"):
            taken = self._active() and self._holds(name, rest, line)
            self.stack.append((taken, taken, line))
        elif name in ("elif", "else", "endif"):
            if not self.stack:
                raise self.source.error(line, 0, f"#{name} without #if")
            _, before, begun = self.stack.pop()
            if name != "endif":
                taken = not before and self._active() and (name == "else" or self._holds("if", rest, line))
                self.stack.append((taken, before or taken, begun))
        elif not self._active():
            return
        elif name == "define":
            self._define(line, rest)
        elif name == "undef":
            self.macros.pop(rest, None)
        elif name not in ("include", "pragma", "line", ""):
            raise self.source.error(line, 0, f"unknown directive #{name}; known: define, undef, if, include, pragma")

    def _define(self, line: int, rest: str) -> None:
        matched = _DEFINE.match(rest)
        if matched is None:
            raise self.source.error(line, 0, "#define without a name")
        parameters = None
        if matched[2] is not None:
            parameters = tuple(part.strip() for part in matched[3].split(",") if part.strip())
        self.macros[matched[1]] = Macro(matched[4].strip(), parameters)

    def _holds(self, directive: str, condition: str, line: int) -> bool:
        if directive != "if":
            return ((condition.split()[0] if condition else "") in self.macros) == (directive == "ifdef")
        text = _DEFINED.sub(lambda m: str(int((m[1] or m[2]) in self.macros)), condition)
        for _ in range(8):
            replaced = _NAME.sub(lambda m: self.macros[m[0]].text if m[0] in self.macros else m[0], text)
            if replaced == text:
                break
            text = replaced
        text = _NUMBER.sub(lambda m: str(int(m[1], 0) if m[1].lower().startswith("0x") else int(m[1])), text)
        text = _NAME.sub("0", text).replace("&&", " and ").replace("||", " or ")
        text = re.sub(r"!(?!=)", " not ", text)
        if not re.fullmatch(r"[\d\s()+\-*/%<>=!&|^~andort]*", text) or "**" in text or len(text) > 500:
            raise self.source.error(line, 0, f"the condition {condition!r} is beyond what #if can hold here")
        try:
            return bool(eval(text, {"__builtins__": {}}))
        except Exception:
            raise self.source.error(line, 0, f"the condition {condition!r} is no expression") from None


def _blank_comments(text: str) -> str:
    """The text with blanks for comments, so that directives inside comments are none."""
    return _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
