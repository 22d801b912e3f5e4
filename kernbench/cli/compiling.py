"""The one line that explains why the very first run takes longer."""

from __future__ import annotations

import click


def announce_compiling() -> None:
    """Say on stderr that the loops will be compiled, if they will."""
    from kernbench.engine.jit_status import must_compile

    if must_compile():
        click.echo("compiling the simulator, once (up to a minute; later runs start at once) ...", err=True)
