"""`kernbench list`: what can be run, on what, and over what."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import click

from kernbench.cli import options

if TYPE_CHECKING:
    from rich.table import Table


@click.command("list")
@options.AS_JSON
def command(as_json: bool) -> None:
    """List the benches, machines and sweeps that can be named.

    Files of the working directory's benches/, topology/ and sweeps/ come first; then those that came with KernBench.
    """
    from kernbench import library
    from kernbench.host.bench import list_benches

    with redirect_stdout(sys.stderr):  # what a bench file prints is no bench
        benches = [bench.to_dict() for bench in list_benches()]
    names = {kind: library.list_names(kind) for kind in ("topology", "sweeps")}
    if as_json:
        click.echo(json.dumps({"benches": benches, "topologies": names["topology"], "sweeps": names["sweeps"]}))
        return
    from kernbench.cli.screen import show

    show(_bench_table(benches))
    for kind, found in names.items():
        click.echo(f"\n{kind}: {', '.join(found)}")


def _bench_table(benches: Iterable[Mapping[str, object]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("", "bench", "what it does", "parameters with their defaults"):
        table.add_column(title, justify="left" if title else "right")
    for index, bench in enumerate(benches):
        parameters: Mapping[str, object] = bench["parameters"]  # type: ignore[assignment]
        defaults = " ".join(f"{name}={value}" for name, value in parameters.items())
        table.add_row(str(index), Text(str(bench["name"])), Text(str(bench["description"])), Text(defaults))
    return table
