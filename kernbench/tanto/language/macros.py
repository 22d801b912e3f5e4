"""Macros: texts that stand for names, expanded token by token as C++ does; each token keeps the place of the outermost use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

TOKEN = re.compile(
    r"[A-Za-z_]\w*"
    r"|\.?\d(?:[eEpP][+-]|'\w|[\w.])*"  # numbers
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])+'"
    r"|\s+|##|."
)
_MOST_TOKENS = 200_000
ELEMENT = "T"  # the element type: no macro, though compilers get it as one


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: its text, and the names of its parameters if it takes any."""

    text: str
    parameters: tuple[str, ...] | None = None


class Token(NamedTuple):
    """A token, its place in the file (from 0), the macro it came from, and those that it stands for no more."""

    text: str
    line: int
    column: int
    macro: str = ""
    hidden: frozenset[str] = frozenset()


class MacroError(Exception):
    """A macro that is used wrongly, at a token."""

    def __init__(self, token: Token, message: str) -> None:
        super().__init__(message)
        self.token = token


def tokens_of(text: str, line: int) -> list[Token]:
    """The tokens of a line, blanks included."""
    return [Token(found[0], line, found.start()) for found in TOKEN.finditer(text)]


class Expander:
    """Expands the macros in tokens; `more` supplies the next line where the arguments of a macro go on there."""

    def __init__(self, macros: Mapping[str, Macro], more: Callable[[], list[Token]] = list) -> None:
        self.macros, self._more = macros, more
        self._todo: list[Token] = []  # reversed

    def expand(self, tokens: list[Token]) -> list[Token]:
        """The tokens without macros. Errors: MacroError."""
        out = list[Token]()
        self._todo = tokens[::-1]
        while self._todo:
            token = self._todo.pop()
            macro = None if token.text in token.hidden or token.text == ELEMENT else self.macros.get(token.text)
            if macro is None:
                out.append(token)
            elif macro.parameters is None:
                self._push(_apart(self._placed(macro, token)))
            elif self._opens():
                self._push(_apart(self._substituted(macro, token, self._arguments(token))))
            else:
                out.append(token)
            if len(self._todo) + len(out) > _MOST_TOKENS:
                raise MacroError(token, f"macro {token.text} stands for more than {_MOST_TOKENS:,} tokens")
        return out

    def _push(self, tokens: list[Token]) -> None:
        self._todo += tokens[::-1]

    def _placed(self, macro: Macro, use: Token) -> list[Token]:
        """The tokens of a macro's text, at the place of its use."""
        hidden, name = use.hidden | {use.text}, use.macro or use.text
        return [Token(found[0], use.line, use.column, name, hidden) for found in TOKEN.finditer(macro.text)]

    def _opens(self) -> bool:
        """Whether a parenthesis is next; blanks before it are dropped then."""
        at = len(self._todo)
        while at and self._todo[at - 1].text.isspace():
            at -= 1
        if not at or self._todo[at - 1].text != "(":
            return False
        del self._todo[at - 1 :]
        return True

    def _arguments(self, use: Token) -> list[list[Token]]:
        found, depth = [list[Token]()], 0
        while True:
            if not self._todo:
                following = self._more()
                if not following:
                    raise MacroError(use, f"the arguments of macro {use.text} have no end; add ')'")
                self._push([Token(" ", use.line, use.column), *following])
            token = self._todo.pop()
            if token.text == ")" and depth == 0:
                return found
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if token.text == "," and depth == 0:
                found.append([])
            else:
                found[-1].append(token)

    def _substituted(self, macro: Macro, use: Token, arguments: list[list[Token]]) -> list[Token]:
        given = self._bind(macro, use, arguments)
        body = self._placed(macro, use)
        out = list[Token]()
        for at, token in enumerate(body):
            if token.text not in given:
                out.append(token)
            elif any(text == "##" for text in _around(body, at)):
                out += given[token.text]
            else:
                out += Expander(self.macros).expand(given[token.text])
        return list(_pasted(out))

    def _bind(self, macro: Macro, use: Token, arguments: list[list[Token]]) -> dict[str, list[Token]]:
        names = list(macro.parameters or ())
        if not names and len(arguments) == 1 and all(token.text.isspace() for token in arguments[0]):
            arguments = []
        if names and names[-1] == "...":
            names[-1] = "__VA_ARGS__"
            last = len(names) - 1
            rest = [token for argument in arguments[last:] for token in (Token(",", use.line, use.column), *argument)]
            arguments = [*arguments[:last], rest[1:]]
        if len(arguments) != len(names):
            raise MacroError(use, f"macro {use.text} takes {len(names)} arguments, got {len(arguments)}")
        placed = use.macro or use.text
        return {
            name: [token._replace(macro=token.macro or placed) for token in argument]
            for name, argument in zip(names, arguments, strict=True)
        }


def _apart(tokens: list[Token]) -> list[Token]:
    """Tokens with blanks around them, so that they join no others."""
    return [tokens[0]._replace(text=" "), *tokens, tokens[-1]._replace(text=" ")] if tokens else tokens


def _around(tokens: list[Token], at: int) -> Iterator[str]:
    """The texts of the tokens before and after one, blanks left out."""
    for step in (-1, 1):
        other = at + step
        while 0 <= other < len(tokens) and tokens[other].text.isspace():
            other += step
        if 0 <= other < len(tokens):
            yield tokens[other].text


def _pasted(tokens: list[Token]) -> list[Token]:
    """Tokens, those on both sides of ## joined to one."""
    out = list[Token]()
    joins = False
    for token in tokens:
        if token.text == "##" or (joins and token.text.isspace()):
            while token.text == "##" and out and out[-1].text.isspace():
                out.pop()
            joins = True
        elif joins and out:
            out[-1] = out[-1]._replace(text=out[-1].text + token.text)
            joins = False
        else:
            out.append(token)
            joins = False
    return out
