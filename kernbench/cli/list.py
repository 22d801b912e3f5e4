"""`kernbench list`: benches, machines, sweeps and task graphs."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterable, Mapping
from contextlib import redirect_stdout
from pathlib import Path

import click

from kernbench.cli import options
from kernbench.cli.screen import say, show
from kernbench.library import show_path
from kernbench.report.text_table import Field, TextTable, figures_table


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
    show(_bench_table(benches, replacing))
    if chip:
        say()
        show(_bench_table(chip, (), title="Tanto bench"))
    for kind, known in names.items():
        replaced = library.list_replaced(kind)
        shown = (f"{name} ({_instead(replaced[name])})" if name in replaced else name for name in known)
        say(f"\n{kind}: {', '.join(shown)}")


def _instead(file: str | Path) -> str:
    return f"{show_path(file)}, in place of the shipped one"


def _bench_table(
    benches: Iterable[Mapping[str, object]], replacing: Container[str], title: str | None = None
) -> TextTable:
    """The benches of a table; those that have no title of their own are numbered, as `kernbench run` takes them."""
    rows: list[dict[str, object]] = []
    for index, bench in enumerate(benches):
        parameters: Mapping[str, object] = bench["parameters"]  # type: ignore[assignment]
        defaults = " ".join(f"{key}={value}" for key, value in parameters.items())
        instead = f" ({_instead(str(bench['file']))})" if str(bench["name"]) in replacing else ""
        about = f"{bench['description']}{instead}"
        rows.append({"index": None if title else index, "name": bench["name"], "about": about, "defaults": defaults})
    fields = {
        "index": Field("", "d"),
        "name": Field(title or "bench"),
        "about": Field("what it does"),
        "defaults": Field("parameters with their defaults"),
    }
    return figures_table(rows, fields)
