"""`kernbench compare`: differences between two sweeps or two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernbench.cli.commands import options


@click.command("compare")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option(
    "--threshold",
    "thresholds",
    multiple=True,
    metavar="[COLUMN=]SHARE",
    help="How much a figure may move, up or down: 2% of latency_ns, or achieved_tflops=0.5%. May be repeated.",
)
@click.option("--worse", is_flag=True, help="Only what gets worse is over a threshold.")
@click.option("--column", "columns", multiple=True, help="Compare this column too. May be repeated.")
@options.AS_JSON
def command(**given: Any) -> None:
    """Show what moved from A to B: two sweeps, two evaluations, or two runs kept with --out, point by point.

    Exit code 1 if a figure moved by more than a threshold, or a point of A failed in B or is not there. Points that one side
    bounded and the other simulated are left out; where that leaves none, the exit code is 1 with any threshold.
    """
    from kernbench.cli.actions.compare import compare_results

    compare_results(**given)
