"""What `kernbench show` does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from kernbench.cli.names.assignment import read_fields
from kernbench.cli.names.catalogue import KINDS, TITLES, kinds_of_file, names_of
from kernbench.cli.output.screen import say
from kernbench.cli.output.screen import show as show_table
from kernbench.cli.show.collective import show_collective
from kernbench.cli.show.cost import show_cost
from kernbench.cli.show.machine import show_difference, show_machine, show_sheet
from kernbench.cli.show.sweep import show_sweep
from kernbench.errors import InputError, shorten, suggest
from kernbench.frontends.registry import find_front_end, list_kinds
from kernbench.frontends.shown import Shown
from kernbench.library import exists, is_file, is_path
from kernbench.text import join_lines
from kernbench.text_table import Field, figures_table
from kernbench.user_modules import looking

_WITH_FIELDS = ("machine", "sheet")  # what can be compared, and what `--set` is for


def show(
    names: Sequence[str], kind: str | None, assignments: Sequence[str], *, diff: bool, cost: bool, as_json: bool
) -> None:
    """Print what a name is, or in what two differ. Errors: InputError."""
    overrides = read_fields(assignments)
    with looking():
        if cost:
            shown, also = _cost(names, overrides, diff=diff), list[str]()
        else:
            shown, also = _difference(names, kind, overrides) if diff else _one(names, kind, overrides)
    for other in also:
        say(f"{names[0]} is also a {TITLES[other]}; --kind {other} shows it", err=True)
    if as_json:
        click.echo(json.dumps({**shown.data, "also": also}))
        return
    _print(shown)


def _one(names: Sequence[str], kind: str | None, overrides: Mapping[str, str]) -> tuple[Shown, list[str]]:
    name, *rest = names
    if len(rest) > 1:
        raise InputError(f"show takes a name and a field, and got {len(names)} words; --diff compares two machines")
    kind, *also = [kind] if kind else _kinds(name)
    if overrides and kind != "machine":
        raise InputError(f"--set changes fields of a machine, and {name} is a {TITLES[kind]}")
    return _show(kind, name, overrides, rest[0] if rest else None), also


def _cost(names: Sequence[str], overrides: Mapping[str, str], *, diff: bool) -> Shown:
    if diff or len(names) > 1:
        raise InputError("--cost takes one machine; kernbench show --cost MACHINE, for each of several")
    return show_cost(names[0], overrides)


def _difference(names: Sequence[str], kind: str | None, overrides: Mapping[str, str]) -> tuple[Shown, list[str]]:
    if len(names) not in (2, 3):
        raise InputError(f"--diff takes two names, and a field if you like; got {len(names)}")
    first, second, *rest = names
    both = [one for one in _kinds(first) if one in _kinds(second)] if kind is None else [kind]
    comparable = [one for one in both if one in _WITH_FIELDS]
    if not comparable:
        raise InputError(f"--diff compares two machines or two model sheets, and {first} and {second} are not both one")
    return show_difference(comparable[0], (first, second), overrides, rest[0] if rest else None), []


def _show(kind: str, name: str, overrides: Mapping[str, str], prefix: str | None) -> Shown:
    """The thing of a kind. Errors: InputError, also for a prefix of no field."""
    if kind == "machine":
        return show_machine(name, overrides, prefix)
    if kind == "sheet":
        return show_sheet(name, prefix)
    if kind == "sweep":
        return show_sweep(name, prefix)
    found = show_collective(name) if kind == "collective" else list_kinds()[kind].find(name).describe()
    return found.only(prefix) if prefix else found


def _kinds(name: str) -> list[str]:
    """The kinds that a name is of, in the order of `KINDS`. Errors: InputError for a name of nothing."""
    path = Path(name.rpartition(":")[0] if ".py:" in name else name)
    if is_path(name) or (path.suffix in (".py", ".yaml", ".json", ".onnx") and is_file(path)):
        if not exists(path):
            raise InputError(f"no such file: {shorten(path)}; give a path, or a name of `kernbench list`")
        return [find_front_end(name).kind] if path != Path(name) else kinds_of_file(path)
    bare = path.stem if path.suffix in (".py", ".yaml") else name
    known = {kind: names_of(kind) for kind in KINDS}
    found = [kind for kind, names in known.items() if bare in names]
    if found:
        return found
    every = [one for names in known.values() for one in names]
    try:
        list_kinds()["bench"].find(name)  # an index; else the sentence on a bench whose file does not load
    except InputError as error:
        if str(error).startswith("unknown bench") and "skipped" not in str(error):
            raise InputError(f"nothing is called {shorten(name)!r}{suggest(name, every)}") from None
        raise
    return ["bench"]


def _print(shown: Shown) -> None:
    """Print it on stdout."""
    say(f"{shown.name}: {shown.description}", bold=True)
    say(f"{shown.kind}, {shown.place}")
    if shown.text:
        say(f"\n{join_lines(shown.text)}")
    for section in shown.sections:
        say()
        if section.title:
            say(section.title, bold=True)
        present = {key: title for key, title in section.columns.items() if any(row.get(key) for row in section.rows)}
        rows = [{key: row.get(key, "") for key in present} for row in section.rows]
        show_table(figures_table(rows, {key: Field(title) for key, title in present.items()}))
    for remark in ["", *shown.remarks] if shown.remarks else []:
        say(remark)
