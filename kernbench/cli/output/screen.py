"""What commands print: tables and sentences. A terminal gets lines of its width, a file or a pipe whole lines without colours.

`NO_COLOR` takes the colours away, `FORCE_COLOR` gives them to files and pipes too.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click

from kernbench.characters import show_controls
from kernbench.text import wrap

if TYPE_CHECKING:
    from kernbench.text_table import Field, TextTable

COLOURS = {"error:": "red", "warning:": "yellow"}


def find_width(stream: TextIO) -> int | None:
    """The characters in a line of the terminal that a stream writes to; None if it writes to none."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def wants_colour() -> bool | None:
    """Whether what is printed has colours; None if the stream decides, since a terminal has some and a file has none."""
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def say(
    text: str = "", *, bold: bool = False, colour: str | None = None, first: str | None = None, err: bool = False
) -> None:
    """Print sentences, wrapped at words on a terminal; `colour` is that of all words, `first` that of the first, in bold."""
    stream = sys.stderr if err else sys.stdout
    lines = wrap(text, find_width(stream))
    if bold or colour:
        lines = [click.style(line, bold=bold or None, fg=colour) if line else line for line in lines]
    if first is not None:
        word, blank, rest = lines[0].partition(" ")
        lines[0] = f"{click.style(word, bold=True, fg=first)}{blank}{rest}"
    click.echo("\n".join(lines), file=stream, color=wants_colour())  # the stream of now: a progress bar may be below it


def complain(text: str) -> None:
    """Print an error or a warning on stderr, the word that says so in colour; nothing in it can steer a terminal."""
    for line in show_controls(text).split("\n"):
        say(line, first=COLOURS.get(line.partition(" ")[0].lower()), err=True)


def show(table: TextTable) -> None:
    """Print a table on stdout."""
    for line in table.lay_out(find_width(sys.stdout)):
        texts = (click.style(text, **{style: True}) if style else text for text, style in line)
        click.echo("".join(texts), file=sys.stdout, color=wants_colour())


def show_first(rows: Sequence[Mapping[str, Any]], fields: Mapping[str, Field], most: int) -> None:
    """Print the first rows as `figures_table`, and how many more there are."""
    from kernbench.text_table import figures_table

    show(figures_table(rows[:most], fields))
    if len(rows) > most:
        say(f"and {len(rows) - most} more, in --json")
