"""`kernbench show`: what a machine, a model sheet, a program or a sweep is, and what may be set of it."""

from __future__ import annotations

import click

from kernbench.cli.commands import options
from kernbench.cli.names import completion


@click.command("show")
@click.argument(
    "names", nargs=-1, required=True, metavar="NAME [FIELD] | --diff A B [FIELD]", shell_complete=completion.shown
)
@options.KIND
@click.option("--diff", is_flag=True, help="Show the fields in which two machines or two model sheets differ.")
@click.option("--cost", is_flag=True, help="Show what a machine takes, draws at most and costs, by part, with sources.")
@options.assignments("Show a machine with this topology field (topology.hbm.channel_gbs=64)")
@options.AS_JSON
def command(
    names: tuple[str, ...], kind: str | None, diff: bool, cost: bool, assignments: tuple[str, ...], as_json: bool
) -> None:
    """Show what NAME is and what may be set of it: a machine, model sheet, bench, sweep or collective algorithm.

    Of a machine all fields with value, unit, meaning and source; of a bench its parameters and the values they take. FIELD
    keeps fields: those below it (hbm, hbm.channel_gbs), else those with it in their paths (gbs). NAME may be a path.
    With --cost the area of dies, the peak power and the price of a machine, and limits that it exceeds.
    """
    from kernbench.cli.actions.show import show

    show(names, kind, assignments, diff=diff, cost=cost, as_json=as_json)
