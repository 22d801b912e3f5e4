"""Tables on the terminal. A terminal wraps at its own width; a file or a pipe gets whole lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

_PIPE_WIDTH = 400


def show(table: Table) -> None:
    """Print a table on stdout."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=_PIPE_WIDTH)
    with console.capture() as captured:
        console.print(table)
    console.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
