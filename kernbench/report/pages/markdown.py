"""Texts and tables in Markdown: what it or HTML would read as markup has a backslash before it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kernbench.characters import visible

_MARKUP = re.compile(r"[\\|`*\[$~]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<!\w)_|_(?!\w)")


def plain_markdown(text: str) -> str:
    """A text without markup, on one line."""
    return _MARKUP.sub(r"\\\g<0>", visible(text.strip()))


def markdown_table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a table."""
    lines = ["| " + " | ".join(plain_markdown(text) for text in row) + " |" for row in (heads, *map(tuple, rows))]
    return [lines[0], "|" + "---|" * len(heads), *lines[1:]]
