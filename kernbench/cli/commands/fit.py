"""`kernbench fit`: a machine whose uncertain figures reproduce measured times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernbench.cli.commands import options
from kernbench.cli.names import completion


@click.command("fit")
@click.argument("machine", shell_complete=completion.topologies)
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="FIELD[=LOW..HIGH]",
    help="A figure to fit, with its range (noc.gbs=100..400); may be repeated. The word chosen means all figures whose source "
    "is chosen.  [default: chosen]",
)
@options.assignments("A topology field that is certain (topology.hbm.channels=16)")
@click.option("--workers", type=int, help="How many threads simulate.  [default: one a core]")
@click.option(
    "--time-limit", metavar="TIME", help="End a fit that takes longer: seconds, or 10 min, 2 h.  [default: none]"
)
@options.AS_JSON
@click.option(
    "--out",
    "--output",
    "out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the fitted machine to this YAML file.",
)
def command(**given: Any) -> None:
    """Fit uncertain figures of MACHINE to the measured times in DATA, a CSV file.

    A row is a bench with its parameters, or a flow, and a time. The figures move inside their ranges until simulated times are
    as near to the measured ones as they can be. What the measurements do not determine keeps its value and is named.
    """
    from kernbench.cli.actions.fit import fit

    fit(**given)
