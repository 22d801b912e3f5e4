"""Tables on the terminal. A terminal wraps at its width; a file or a pipe gets whole lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable
    from rich.table import Table

_PIPE_WIDTH = 400


def show(table: ConsoleRenderable) -> None:
    """Print a table on stdout."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=_PIPE_WIDTH)
    with console.capture() as captured:
        console.print(table)
    console.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def show_first(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, tuple[str, str]], most: int) -> None:
    """Print the first rows as `figures_table`, and how many more there are."""
    show(figures_table(rows[:most], columns))
    if len(rows) > most:
        click.echo(f"and {len(rows) - most} more, in --json")


def figures_table(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, tuple[str, str]]) -> Table:
    """Rows as a table; `columns` gives the title and the format of each field that is shown. Texts have no format."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title, form in columns.values():
        table.add_column(title, justify="right" if form else "left", overflow="fold")  # narrow, but without loss
    for row in rows:
        table.add_row(*(Text(format(row[name], form)) for name, (_, form) in columns.items()))
    return table
