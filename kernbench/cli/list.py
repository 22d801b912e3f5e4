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
    from kernbench.runs.bench import list_benches, list_tanto_benches, replaces_shipped

    with redirect_stdout(sys.stderr):  # keep prints of bench files out of the output
        found, tanto = list_benches(), list_tanto_benches()
        replacing = {bench.name for bench in found if replaces_shipped(bench)}
    benches, chip = ([bench.to_dict() for bench in some] for some in (found, tanto))
    names = {kind: library.list_names(kind) for kind in ("topology", "sweeps", "benches/pto")}
    if as_json:
        known = {"topologies": names["topology"], "sweeps": names["sweeps"], "pto": names["benches/pto"]}
        click.echo(json.dumps({"benches": benches, "tanto": chip, **known}))
        return
    from kernbench.cli.screen import show

    show(_bench_table(benches, replacing))
    if chip:
        click.echo()
        show(_bench_table(chip, (), title="Tanto bench"))
    for kind, known in names.items():
        replaced = library.list_replaced(kind)
        shown = (f"{name} ({_instead(replaced[name])})" if name in replaced else name for name in known)
        click.echo(f"\n{kind}: {', '.join(shown)}")


def _instead(file: str | Path) -> str:
    return f"{show_path(file)}, in place of the shipped one"


def _bench_table(benches: Iterable[Mapping[str, object]], replacing: Container[str], title: str | None = None) -> Table:
    """The benches of a table; those that have no title of their own are numbered, as `kernbench run` takes them."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("", title or "bench", "what it does", "parameters with their defaults"):
        table.add_column(column, justify="left" if column else "right")
    for index, bench in enumerate(benches):
        parameters: Mapping[str, object] = bench["parameters"]  # type: ignore[assignment]
        defaults = " ".join(f"{key}={value}" for key, value in parameters.items())
        name, description = str(bench["name"]), str(bench["description"])
        if name in replacing:
            description += f" ({_instead(str(bench['file']))})"
        table.add_row("" if title else str(index), Text(name), Text(description), Text(defaults))
    return table
