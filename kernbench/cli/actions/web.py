"""What `kernbench web` does: it serves the viewer."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import click

from kernbench.cli.main import TerminatedError
from kernbench.cli.output.screen import say
from kernbench.web.run_jobs import RunJobs
from kernbench.web.server import HOST, kind_of, make_server
from kernbench.web.sources import Source, Sources


def serve(given: tuple[str, ...], port: int, no_open: bool, code: tuple[Path, ...]) -> None:
    """Serve the viewer until it is stopped."""
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
