"""What `kernbench diagram` does: it draws the views of a machine."""

from __future__ import annotations

import json
from pathlib import Path

import click

from kernbench.atomic_output import write_directory
from kernbench.cli.commands.diagram import ALL
from kernbench.cli.names.assignment import read_fields
from kernbench.cli.output.files import check_directory, show_files
from kernbench.cli.output.progress import status_line
from kernbench.errors import InputError, suggest
from kernbench.machine import load_machine
from kernbench.machine.families.registry import FAMILIES
from kernbench.machine.views import find_view, list_views
from kernbench.report.diagram import draw_view


def draw_views(
    topology: str,
    names: tuple[str, ...],
    bandwidths: bool,
    assignments: tuple[str, ...],
    as_json: bool,
    out: Path | None,
) -> None:
    """Draw the views of a machine and write them."""
    known = [ALL, *dict.fromkeys(name for family in FAMILIES.values() for name in family.views)]
    for name in names:
        if name not in known:
            raise InputError(f"unknown view {name!r}{suggest(name, known)}")
    overrides = read_fields(assignments)
    out = out or Path("results", f"{Path(topology).stem}-diagram")
    check_directory(out)
    drawn: dict[str, str] = {}
    with status_line() as tell:
        tell("compiling the machine")
        machine = load_machine(topology, overrides)
        for name in list_views(machine) if ALL in names else tuple(dict.fromkeys(names)):
            tell(f"drawing the view of the {name}")
            drawn[name] = draw_view(machine, find_view(machine, name), bandwidths=bandwidths)

    def write(partial: Path) -> None:
        for name, svg in drawn.items():
            (partial / f"{name}.svg").write_text(svg, encoding="utf-8")

    write_directory(out, write)
    files = {name: str(out / f"{name}.svg") for name in drawn}
    if as_json:
        click.echo(json.dumps({"topology": machine.name, "overrides": overrides, "files": files}))
        return
    show_files(files)
