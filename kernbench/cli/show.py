"""`kernbench show`: what a machine, a model sheet, a bench or a sweep is, and what may be set of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernbench.cli import completion, options
from kernbench.cli.catalogue import KINDS, TITLES, kinds_of_file, names_of
from kernbench.cli.screen import say
from kernbench.errors import InputError, shorten, suggest
from kernbench.library import exists, is_file, is_path
from kernbench.user_modules import looking

if TYPE_CHECKING:
    from kernbench.cli.shown import Shown

_WITH_FIELDS = ("machine", "sheet")  # what can be compared, and what `--set` is for


@click.command("show")
@click.argument(
    "names", nargs=-1, required=True, metavar="NAME [FIELD] | --diff A B [FIELD]", shell_complete=completion.shown
)
@options.KIND
@click.option("--diff", is_flag=True, help="Show the fields in which two machines or two model sheets differ.")
@options.assignments("Show a machine with this topology field (topology.hbm.channel_gbs=64)")
@options.AS_JSON
def command(names: tuple[str, ...], kind: str | None, diff: bool, assignments: tuple[str, ...], as_json: bool) -> None:
    """Show what NAME is and what may be set of it: a machine, model sheet, bench, sweep or collective algorithm.

    Of a machine all fields with value, unit, meaning and source; of a bench its parameters and the values they take. FIELD
    keeps fields: those below it (hbm, hbm.channel_gbs), else those with it in their paths (gbs). NAME may be a path.
    """
    from kernbench.cli.assignment import read_fields
    from kernbench.cli.shown import print_shown

    overrides = read_fields(assignments)
    with looking():
        shown, also = _difference(names, kind, overrides) if diff else _one(names, kind, overrides)
    for other in also:
        say(f"{names[0]} is also a {TITLES[other]}; --kind {other} shows it", err=True)
    if as_json:
        click.echo(json.dumps({**shown.data, "also": also}))
        return
    print_shown(shown)


def _one(names: tuple[str, ...], kind: str | None, overrides: Mapping[str, str]) -> tuple[Shown, list[str]]:
    name, *rest = names
    if len(rest) > 1:
        raise InputError(f"show takes a name and a field, and got {len(names)} words; --diff compares two machines")
    kind, *also = [kind] if kind else _kinds(name)
    if overrides and kind != "machine":
        raise InputError(f"--set changes fields of a machine, and {name} is a {TITLES[kind]}")
    return _show(kind, name, overrides, rest[0] if rest else None), also


def _difference(names: tuple[str, ...], kind: str | None, overrides: Mapping[str, str]) -> tuple[Shown, list[str]]:
    from kernbench.cli.show_machine import show_difference

    if len(names) not in (2, 3):
        raise InputError(f"--diff takes two names, and a field if you like; got {len(names)}")
    first, second, *rest = names
    both = [one for one in _kinds(first) if one in _kinds(second)] if kind is None else [kind]
    comparable = [one for one in both if one in _WITH_FIELDS]
    if not comparable:
        raise InputError(f"--diff compares two machines or two model sheets, and {first} and {second} are not both one")
    return show_difference(comparable[0], (first, second), overrides, rest[0] if rest else None), []


def _show(kind: str, name: str, overrides: Mapping[str, str], prefix: str | None) -> Shown:
    """The thing of a kind; modules are imported as they are needed."""
    if kind in _WITH_FIELDS:
        from kernbench.cli.show_machine import show_machine, show_sheet

        return show_machine(name, overrides, prefix) if kind == "machine" else show_sheet(name, prefix)
    if kind == "tanto-program":
        from kernbench.cli.show_program import show_program

        return show_program(name, prefix)
    if "sweep" in kind:
        from kernbench.cli.show_sweep import show_sweep

        return show_sweep(name, prefix, kind)
    from kernbench.cli.show_bench import show_bench, show_collective, show_pto

    found: dict[str, Callable[[str, str | None], Shown]] = {
        "bench": show_bench, "pto": show_pto, "collective": show_collective
    }  # fmt: skip
    return found[kind](name, prefix)


def _kinds(name: str) -> list[str]:
    """The kinds that a name is of, in the order of `KINDS`. Errors: InputError for a name of nothing."""
    path = Path(name.rpartition(":")[0] if ".py:" in name else name)
    if is_path(name) or (path.suffix in (".py", ".yaml", ".json") and is_file(path)):
        if not exists(path):
            raise InputError(f"no such file: {shorten(path)}; give a path, or a name of `kernbench list`")
        return kinds_of_file(path)
    bare = path.stem if path.suffix in (".py", ".yaml") else name
    known = {kind: names_of(kind) for kind in KINDS}
    found = [kind for kind, names in known.items() if bare in names]
    if found:
        return found
    every = [one for names in known.values() for one in names]
    try:
        from kernbench.runs.bench import find_bench

        find_bench(name)  # an index; else the sentence on a bench whose file does not load
    except InputError as error:
        if str(error).startswith("unknown bench") and "skipped" not in str(error):
            raise InputError(f"nothing is called {shorten(name)!r}{suggest(name, every)}") from None
        raise
    return ["bench"]
