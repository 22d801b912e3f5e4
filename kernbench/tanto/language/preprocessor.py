"""Directives and macros of a kernel file. Lines stay lines: what is left out is blank, macros are expanded in place."""

from __future__ import annotations

import re

from kernbench.tanto.language.conditions import evaluate
from kernbench.tanto.language.macros import ELEMENT, TOKEN, Expander, Macro, MacroError, Token, tokens_of
from kernbench.tanto.language.source import Source, SourcePiece

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w*)[ \t]*(.*)", re.DOTALL)
_DEFINE = re.compile(r"(\w+)(\(([^)]*)\))?[ \t]*(.*)", re.DOTALL)
_DEFINED = re.compile(r"defined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_IGNORED = ("include", "pragma", "line", "warning", "")


class Preprocessor:
    """Carries out the directives of a source, and expands its macros."""

    def __init__(self, source: Source) -> None:
        self.source, self.macros = source, source.macros
        self.stack: list[tuple[bool, bool, int]] = []  # (active, one branch was taken, line)
        self.lines = _blank_comments(source.text).split("\n")
        self.at = 0  # the line that is next

    def run(self) -> str:
        """The preprocessed text. Errors: KernelSourceError."""
        out = list[str]()
        while self.at < len(self.lines):
            first, line = self.at, self.lines[self.at]
            self.at += 1
            if line.lstrip().startswith("#"):
                while line.endswith("\\") and self.at < len(self.lines):
                    line = f"{line[:-1]} {self.lines[self.at]}"
                    self.at += 1
                self._directive(first, line)
                out.append("")
            else:
                out.append(self._expanded(first, line) if self._active() else "")
            out += [""] * (self.at - first - 1)
        if self.stack:
            raise self.source.error(self.stack[-1][2], 0, "#if without #endif; add it")
        return "\n".join(out)

    def _active(self) -> bool:
        return all(active for active, _, _ in self.stack)

    def _expanded(self, number: int, line: str) -> str:
        """A line without macros; arguments that go on in the following lines are taken from there."""
        if not any(word in self.macros and word != ELEMENT for word in TOKEN.findall(line)):
            return line
        tokens = self._expand(tokens_of(line, number))
        start, pieces = 0, list[SourcePiece]()
        for token in tokens:
            pieces.append(SourcePiece(start, token.line, token.column, token.macro))
            start += len(token.text.encode())
        self.source.pieces[number] = pieces
        return "".join(token.text for token in tokens)

    def _expand(self, tokens: list[Token]) -> list[Token]:
        try:
            return Expander(self.macros, self._more).expand(tokens)
        except MacroError as error:
            raise self.source.error(error.token.line, error.token.column, str(error)) from None

    def _more(self) -> list[Token]:
        if self.at >= len(self.lines):
            return []
        self.at += 1
        return [*tokens_of(self.lines[self.at - 1], self.at - 1), Token(" ", self.at - 1, 0)]

    # Directives

    def _directive(self, line: int, text: str) -> None:
        matched = _DIRECTIVE.match(text)
        name, rest = (matched[1], matched[2].strip()) if matched else ("", "")
        if name in ("if", "ifdef", "ifndef"):
            taken = self._active() and self._holds(name, rest, line)
            self.stack.append((taken, taken, line))
        elif name in ("elif", "else", "endif"):
            self._branch(line, name, rest)
        elif not self._active():
            return
        elif name == "define":
            self._define(line, rest)
        elif name == "undef":
            self.macros.pop(rest, None)
        elif name == "error":
            raise self.source.error(line, 0, f"#error {rest}".rstrip())
        elif name not in _IGNORED:
            raise self.source.error(line, 0, f"unknown directive #{name}; known: define, undef, if, include, pragma")

    def _branch(self, line: int, name: str, rest: str) -> None:
        if not self.stack:
            raise self.source.error(line, 0, f"#{name} without #if")
        _, before, begun = self.stack.pop()
        if name != "endif":
            taken = not before and self._active() and (name == "else" or self._holds("if", rest, line))
            self.stack.append((taken, before or taken, begun))

    def _define(self, line: int, rest: str) -> None:
        matched = _DEFINE.match(rest)
        if matched is None:
            raise self.source.error(line, 0, "#define without a name")
        parameters = None
        if matched[2] is None and rest[matched.end(1) :].startswith("("):
            raise self.source.error(line, 0, f"the parameters of macro {matched[1]} have no end; add ')'")
        if matched[2] is not None:
            parameters = tuple(part.strip() for part in matched[3].split(",") if part.strip())
        self.macros[matched[1]] = Macro(matched[4].strip(), parameters)

    def _holds(self, directive: str, condition: str, line: int) -> bool:
        if directive != "if":
            return ((condition.split()[0] if condition else "") in self.macros) == (directive == "ifdef")
        text = _DEFINED.sub(lambda found: str(int((found[1] or found[2]) in self.macros)), condition)
        text = "".join(token.text for token in self._expand(tokens_of(text, line)))
        try:
            return bool(evaluate(text))
        except (ValueError, KeyError, ZeroDivisionError, RecursionError):
            raise self.source.error(line, 0, f"the condition {condition!r} is no expression") from None


def _blank_comments(text: str) -> str:
    """The text with blanks for comments, so that directives inside comments are none."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0])

    return _COMMENT.sub(blank, text)
