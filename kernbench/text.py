"""Text for messages: counted nouns, and lines of words that fit a width."""

from __future__ import annotations

import re

# A change is one word, and a number with its unit
_WORD = re.compile(r"\S+ → \S+|\S*\d (?:[fpnµm]?s|min|h|[KMGT]?i?B|[MGT]B/s|[GT]FLOPS|%|x)(?!\w)\S*|\S+")


def plural(count: int, noun: str) -> str:
    """A count with its noun: "1 point", "1,200 points"."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def bare_name(name: str) -> str:
    """A name or a path without folders and without the ending of a file: the dot of "llama-3.1-8b" begins none."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem, _, ending = last.rpartition(".")
    return stem if stem and ending.isalpha() else last


def count_cells(text: str) -> int:
    """The characters of a terminal's line that a text takes: a wide one, as of Chinese, takes two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def wrap(text: str, width: int | None) -> list[str]:
    """The lines of a text, broken at blanks so that none is wider than `width` characters, without a width as they are.

    A word is never cut, so a line of one word may be wider; a number stays with its unit. What is broken keeps the indent
    of its line.
    """
    return [part for line in text.split("\n") for part in _wrap_line(line, width)]


def join_lines(text: str) -> str:
    """A text whose paragraphs are each one line, to be wrapped anew; a paragraph with an indented line stays as it is."""
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(
        one if re.search(r"^[ \t]", one, re.MULTILINE) else " ".join(one.split("\n")) for one in paragraphs
    )


def split_words(text: str) -> list[str]:
    """The words of a text; a number and its unit are one."""
    return _WORD.findall(text)


def clip(text: str, width: int) -> str:
    """The first words of a text that fit a width, with "…" if that is not all."""
    return text if count_cells(text) <= width else f"{wrap(text, width - 2)[0]} …"


def _wrap_line(line: str, width: int | None) -> list[str]:
    if width is None or count_cells(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip(" "))]
    first, *words = split_words(line)
    lines = [indent + first]
    for word in words:
        longer = f"{lines[-1]} {word}"
        if count_cells(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(indent + word)
    return lines
