"""`kernbench web`: the viewer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from kernbench.cli.names import completion
from kernbench.cli.output.screen import say

if TYPE_CHECKING:
    from kernbench.web.sources import Source


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
def command(given: tuple[str, ...], port: int, no_open: bool, code: tuple[Path, ...]) -> None:
    """Show runs, sweeps, also while they run, and machines in a browser: one page, on this computer alone, no network.

    RUN_DIR is a directory that kernbench run --out leaves, SWEEP_DIR one that kernbench sweep --out leaves or is filling,
    TOPOLOGY a name or a YAML file; without any, all runs and sweeps in results/ are shown. Ctrl-C ends the viewer.
    """
    from importlib import import_module
    from threading import Thread

    from kernbench.cli.main import TerminatedError
    from kernbench.web.run_jobs import RunJobs
    from kernbench.web.server import HOST, kind_of, make_server
    from kernbench.web.sources import Sources

    sources = Sources(given)
    with make_server(sources, port, RunJobs(sources, code=code)) as server:
        address = f"http://{HOST}:{server.server_port}/"
        if (source := sources.only) is not None:
            address += _hash(kind_of(source), source)
        say(f"the viewer is at {address} (Ctrl-C ends it)")
        Thread(target=import_module, args=("polars",)).start()  # what reads tables, while the browser starts
        if not no_open:
            click.launch(address)
        try:
            server.serve_forever(poll_interval=0.1)
        except TerminatedError:
            raise
        except KeyboardInterrupt:
            say("stopped")


def _hash(kind: str, source: Source) -> str:
    return f"#/{kind}/{quote(source.name, safe='')}"
