"""`kernbench diagram`: diagrams of a machine."""

from __future__ import annotations

from typing import Any

import click

from kernbench.cli.commands import options

ALL = "all"


@click.command("diagram")
@options.TOPOLOGY
@click.option(
    "--view",
    "names",
    multiple=True,
    default=(ALL,),
    show_default=True,
    metavar="VIEW",
    help="What to draw: all, or one view, such as system; may be repeated. A wrong one says which the family has.",
)
@click.option("--bandwidths", is_flag=True, help="Write the bandwidth of each link beside it, in GB/s each way.")
@options.assignments("A topology field (cube.rows=4, with or without topology. before it)")
@options.AS_JSON
@options.out("Put the pictures into this directory.  [default: results/<topology>-diagram]")
def command(**given: Any) -> None:
    """Draw a machine to scale, from the places by which routing measures lengths: one SVG a view.

    A view shows the first of what is alike: the tray with its SIPs, one SIP, one cube, one PE.
    """
    from kernbench.cli.actions.diagram import draw_views

    draw_views(**given)
