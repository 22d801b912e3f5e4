"""`kernbench sweep`: one bench, or the traffic of one pattern, at every point of a grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernbench.cli.commands import options
from kernbench.cli.main import Settings
from kernbench.cli.names import completion
from kernbench.modes import SWEEP_MODES


@click.command("sweep")
@click.argument("grid", metavar="GRID|BENCH", shell_complete=completion.swept)
@options.assignments("Values of a parameter: M=64,128 or topology.hbm.channel_gbs=16:128:x2; a grid's own are replaced")
@click.option(
    "--topology",
    "-t",
    help="The machine: a name or a YAML file.  [default: the grid's, else that of its kind of program]",
    shell_complete=completion.topologies,
)
@click.option(
    "--mode",
    help="hybrid, flit, analytic or auto.  [default: the grid's, else hybrid]",
    shell_complete=completion.modes(SWEEP_MODES),
)
@click.option(
    "--objective", "objectives", multiple=True, metavar="'min|max COLUMN'", help="What is best; may be repeated."
)
@click.option(
    "--error-bars",
    is_flag=True,
    help="Run each point at the ends of uncertain figures of the machine too; the table gets latency_low_ns and _high_ns.",
)
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE.yaml", help="Write what is asked for as a grid.")
@options.out(
    "Where rows are kept.  [default: results/<name of the grid, or of the bench>, and -2 … for other questions]"
)
@options.FORMS
@click.option("--workers", type=int, help="Processes that run points.  [default: one a core]")
@click.option(
    "--scheduler",
    metavar="local|processes|tcp://HOST:PORT",
    default="local",
    help="Who runs the points: this computer's own workers, a Dask cluster of processes here, or the one at an address.",
)
@click.option("--retry", is_flag=True, help="Run the points that failed before once more.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first point that fails.")
@options.TIME_LIMIT
@options.OP_LIMIT
@click.option(
    "--trace-point",
    "traced",
    type=int,
    multiple=True,
    metavar="N",
    help="Keep a trace of the N-th point, from 1 in the order of the table; may be repeated.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Check the grid; say what would run, how long and in how much memory. Your Python files are read, not run.",
)
@click.option(
    "--try", "tries", is_flag=True, help="With --dry-run: run your Python files too, to try a few points of them."
)
@options.AS_JSON
@click.pass_obj
def command(settings: Settings, **given: Any) -> int:
    """Run a program, or the traffic of a pattern, at every point of a grid.

    It keeps a table, and says what is best, what nothing beats and what matters.

    GRID is a YAML file, or the name of one in sweeps/. BENCH is what kernbench run takes (a bench, a network, a Tanto
    program, a task graph) or a pattern of traffic, with the values of --set; bench:NAME is the bench where a grid has the
    same name. Values are 64, a list 64,128, steps 16:64:16, factors 16:128:x2, or counts 0.5:2:lin4 and 8:64:log4; sizes may
    have units, as 4KiB.

    Finished points are kept as they finish: stop when you like, run the same command again and only the missing points run.
    """
    from kernbench.cli.actions.sweep import sweep

    return sweep(settings, **given)
