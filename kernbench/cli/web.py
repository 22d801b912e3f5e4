"""`kernbench web`: the viewer."""

from __future__ import annotations

from urllib.parse import quote

import click


@click.command("web")
@click.argument("directories", nargs=-1, metavar="[SWEEP_DIR]...")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="Serve on this port.  [default: a free one]",
)
@click.option("--no-open", is_flag=True, help="Open no browser; print the address alone.")
def command(directories: tuple[str, ...], port: int, no_open: bool) -> None:
    """Show sweeps in a browser, also while they run: one page, on this computer alone, without a network.

    SWEEP_DIR is a directory that kernbench sweep --out leaves or is filling; without one, all those in results/ are
    shown. Ctrl-C ends the viewer.
    """
    from kernbench.cli.main import TerminatedError
    from kernbench.web.server import HOST, make_server
    from kernbench.web.sources import Sources

    sources = Sources(directories)
    with make_server(sources, port) as server:
        address = f"http://{HOST}:{server.server_port}/"
        if len(directories) == 1:
            address += "#/sweep/" + quote(next(iter(sources.list())), safe="")
        click.echo(f"the viewer is at {address} (Ctrl-C ends it)")
        if not no_open:
            click.launch(address)
        try:
            server.serve_forever(poll_interval=0.1)
        except TerminatedError:
            raise
        except KeyboardInterrupt:
            click.echo("stopped")
