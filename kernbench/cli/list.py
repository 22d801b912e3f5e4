"""`kernbench list`: all that has a name, with a line about each."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from kernbench.cli import options
from kernbench.cli.catalogue import KINDS, TITLES, Entry, list_entries
from kernbench.cli.screen import complain, say, show
from kernbench.library import show_path
from kernbench.report.tables.text_table import Field, figures_table
from kernbench.user_modules import looking

if TYPE_CHECKING:
    from kernbench.runs.bench import Bench

SHOWN = ("bench", "machine", "sweep", "pto", "pto-sweep")  # without words and --kind; the others are many
KEYS = {"machine": "topologies", "sweep": "sweeps", "pto": "pto", "pto-sweep": "pto_sweeps", "sheet": "sheets",
        "collective": "collectives"}  # fmt: skip  # of --json


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
    kinds = [kind] if kind else list(KINDS) if words else list(SHOWN)
    found: dict[str, list[Entry]] = {}
    for one in kinds:
        if one != "bench":
            entries, problems = list_entries(one)
            found[one] = [entry for entry in entries if entry.matches(words)]
            for problem in problems:
                complain(f"warning: skipped: {problem}")
    benches, tanto = _benches(words) if "bench" in kinds else ([], [])
    if as_json:
        data: dict[str, Any] = {"benches": _plain(benches), "tanto": _plain(tanto)} if "bench" in kinds else {}
        click.echo(json.dumps(data | {KEYS[one]: [_entry(entry) for entry in found[one]] for one in found}))
        return
    _print(benches, tanto, found)
    if words and not (benches or tanto or any(found.values())):
        say(f"nothing has {' and '.join(map(repr, words))} in its name, kind or description", err=True)


def _benches(words: Sequence[str]) -> tuple[list[tuple[int, Bench]], list[tuple[int, Bench]]]:
    """The benches of PEs, and of Tanto programs, each with its index in the whole list."""
    from kernbench.runs.bench import list_benches, list_tanto_benches

    with looking(), redirect_stdout(sys.stderr):  # keep prints of shipped bench files out of the output
        both = [list(enumerate(some)) for some in (list_benches(), list_tanto_benches())]
    sim, tanto = ([(at, bench) for at, bench in some if _as_entry(bench).matches(words)] for some in both)
    return sim, tanto


def _as_entry(bench: Bench) -> Entry:
    return Entry("bench", bench.name, bench.description, bench.file)


def _plain(benches: Sequence[tuple[int, Bench]]) -> list[dict[str, object]]:
    return [bench.to_dict() for _, bench in benches]


def _entry(entry: Entry) -> dict[str, str]:
    return {"name": entry.name, "description": entry.description, "file": str(entry.file)}


def _print(
    benches: Sequence[tuple[int, Bench]], tanto: Sequence[tuple[int, Bench]], found: dict[str, list[Entry]]
) -> None:
    from kernbench.runs.bench import replaces_shipped

    tables: list[tuple[list[dict[str, object]], dict[str, Field]]] = []
    for title, some in (("bench", benches), ("Tanto bench", tanto)):
        rows = [_bench_row(at, bench, title == "bench" and replaces_shipped(bench)) for at, bench in some]
        columns = {"index": Field("", "d")} if title == "bench" else {}  # `kernbench run` takes an index
        columns |= {"name": Field(title), "description": Field("what it does")}
        tables.append((rows, {**columns, "parameters": Field("parameters with their defaults")}))
    for kind, entries in found.items():
        known: list[dict[str, object]] = [{"name": one.name, "description": _description(one)} for one in entries]
        tables.append((known, {"name": Field(TITLES[kind]), "description": Field("what it is")}))
    filled = [(rows, columns) for rows, columns in tables if rows]
    for number, (rows, columns) in enumerate(filled):
        if number:
            say()
        show(figures_table(rows, columns))


def _bench_row(index: int, bench: Bench, replaces: bool) -> dict[str, object]:
    return {
        "index": index,
        "name": bench.name,
        "description": _description(Entry("bench", bench.name, bench.description, bench.file, replaces)),
        "parameters": " ".join(f"{key}={_text(value)}" for key, value in bench.parameters.items()),
    }


def _text(value: object) -> object:
    return '""' if value == "" else value


def _description(entry: Entry) -> str:
    if not entry.replaces:
        return entry.description
    instead = f"{show_path(entry.file)}, in place of the shipped one"
    return f"{entry.description} ({instead})" if entry.description else instead
