"""`kernbench list`: benches, machines, sweeps and task graphs."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernbench.cli import options
from kernbench.library import show_path

if TYPE_CHECKING:
    from rich.table import Table


@click.command("list")
@options.AS_JSON
def command(as_json: bool) -> None:
    """List the benches, machines, sweeps and benches of task graphs that can be named.

    Files of the working directory's benches/, topology/ and sweeps/ come first; then those that came with KernBench.
    """
    from kernbench import library
    from kernbench.runs.bench import list_benches, replaces_shipped

    with redirect_stdout(sys.stderr):  # keep prints of bench files out of the output
        found = list_benches()
        replacing = {bench.name for bench in found if replaces_shipped(bench)}
    benches = [bench.to_dict() for bench in found]
    names = {kind: library.list_names(kind) for kind in ("topology", "sweeps", "benches/pto")}
    if as_json:
        known = {"topologies": names["topology"], "sweeps": names["sweeps"], "pto": names["benches/pto"]}
        click.echo(json.dumps({"benches": benches, **known}))
        return
    from kernbench.cli.screen import show

    show(_bench_table(benches, replacing))
    for kind, known in names.items():
        replaced = library.list_replaced(kind)
        shown = (f"{name} ({_instead(replaced[name])})" if name in replaced else name for name in known)
        click.echo(f"\n{kind}: {', '.join(shown)}")


def _instead(file: str | Path) -> str:
    return f"{show_path(file)}, in place of the shipped one"


def _bench_table(benches: Iterable[Mapping[str, object]], replacing: Container[str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("", "bench", "what it does", "parameters with their defaults"):
        table.add_column(title, justify="left" if title else "right")
    for index, bench in enumerate(benches):
        parameters: Mapping[str, object] = bench["parameters"]  # type: ignore[assignment]
        defaults = " ".join(f"{key}={value}" for key, value in parameters.items())
        name, description = str(bench["name"]), str(bench["description"])
        if name in replacing:
            description += f" ({_instead(str(bench['file']))})"
        table.add_row(str(index), Text(name), Text(description), Text(defaults))
    return table
