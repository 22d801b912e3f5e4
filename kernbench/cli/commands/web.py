"""`kernbench web`: the viewer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernbench.cli.names import completion


@click.command("web")
@click.argument("given", nargs=-1, metavar="[RUN_DIR|SWEEP_DIR|TOPOLOGY]...", shell_complete=completion.web)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="Serve on this port.  [default: a free one]",
)
@click.option("--no-open", is_flag=True, help="Open no browser; print the address alone.")
@click.option(
    "--code",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Let jobs run the Python files in this directory too, beside those in ./benches and ./models; repeatable.",
)
def command(**arguments: Any) -> None:
    """Show runs, sweeps, also while they run, and machines in a browser: one page, on this computer alone, no network.

    RUN_DIR is a directory that kernbench run --out leaves, SWEEP_DIR one that kernbench sweep --out leaves or is filling,
    TOPOLOGY a name or a YAML file; without any, all runs and sweeps in results/ are shown. Ctrl-C ends the viewer.
    """
    from kernbench.cli.actions.web import serve

    serve(**arguments)
