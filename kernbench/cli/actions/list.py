"""What `kernbench list` does."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

import click

from kernbench.cli.names.catalogue import KEYS, KINDS, SHOWN, TITLES, Entry, has_names, list_entries
from kernbench.cli.output.screen import complain, say, show
from kernbench.library import show_path
from kernbench.runs.bench import Bench, list_benches, list_tanto_benches, replaces_shipped
from kernbench.text_table import Field, figures_table
from kernbench.user_modules import looking


def list_all(words: Sequence[str], kind: str | None, *, as_json: bool) -> None:
    """Print all that has the words, of a kind or of those that are shown unasked."""
    kinds = [kind] if kind else _listed() if words else list(SHOWN)
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


def _listed() -> list[str]:
    """The kinds whose members have names."""
    return [kind for kind in KINDS if kind == "bench" or has_names(kind)]


def _benches(words: Sequence[str]) -> tuple[list[tuple[int, Bench]], list[tuple[int, Bench]]]:
    """The benches of PEs, and of Tanto programs, each with its index in the whole list."""
    with looking(), redirect_stdout(sys.stderr):  # keep prints of shipped bench files out of the output
        every = [*enumerate(list_benches()), *enumerate(list_tanto_benches())]
    found = [(at, bench) for at, bench in every if _as_entry(bench).matches(words)]
    return [one for one in found if not one[1].is_tanto], [one for one in found if one[1].is_tanto]


def _as_entry(bench: Bench) -> Entry:
    return Entry("bench", bench.name, bench.description, bench.file)


def _plain(benches: Sequence[tuple[int, Bench]]) -> list[dict[str, object]]:
    return [bench.to_dict() for _, bench in benches]


def _entry(entry: Entry) -> dict[str, str]:
    return {"name": entry.name, "description": entry.description, "file": str(entry.file)}


def _print(
    benches: Sequence[tuple[int, Bench]], tanto: Sequence[tuple[int, Bench]], found: dict[str, list[Entry]]
) -> None:
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
