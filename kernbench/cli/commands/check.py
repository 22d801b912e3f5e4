"""`kernbench check`: files of kernels and programs, without running them."""

from __future__ import annotations

from pathlib import Path

import click

from kernbench.cli.commands import options


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option(
    "-D", "--define", "defines", multiple=True, metavar="NAME=TEXT", help="A macro, such as T=float32; may be repeated."
)
@options.AS_JSON
def command(paths: tuple[Path, ...], defines: tuple[str, ...], as_json: bool) -> None:
    """Check kernel files, or all in folders; say what each uses, what it may race on, and what takes room in L1.

    Of a Tanto program (.json) among them, say how much its objects take; of a bench or a task graph (.py), whether it declares
    what it needs.
    """
    from kernbench.cli.actions.check import check

    check(paths, defines, as_json=as_json)
