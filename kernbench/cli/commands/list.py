"""`kernbench list`: all that has a name, with a line about each."""

from __future__ import annotations

import click

from kernbench.cli.commands import options


@click.command("list")
@click.argument("words", nargs=-1)
@options.KIND
@options.AS_JSON
def command(words: tuple[str, ...], kind: str | None, as_json: bool) -> None:
    """List benches, machines and sweeps; with WORDS all that has these in its name, kind or description.

    Files of the working directory's benches/, topology/ and sweeps/ come first; then those that came with KernBench. Yours
    are read, not run; a default that their text does not give is shown as it is written. With
    WORDS or --kind, model sheets and collective algorithms are listed too. A file that cannot be read is named on stderr;
    the rest is listed, and the exit code is 0.
    """
    from kernbench.cli.actions.list import list_all

    list_all(words, kind, as_json=as_json)
