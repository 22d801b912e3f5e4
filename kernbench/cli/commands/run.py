"""`kernbench run`: a program of any front-end on a machine."""

from __future__ import annotations

from typing import Any

import click

from kernbench.cli.commands import options
from kernbench.cli.commands.program_help import ProgramCommand
from kernbench.cli.names import completion
from kernbench.errors import InputError
from kernbench.modes import RUN_MODES


@click.command("run", cls=ProgramCommand)
@click.argument("programs", nargs=-1, required=True, metavar="PROGRAM...", shell_complete=completion.programs)
@click.option(
    "--topology",
    "-t",
    help="The machine: a name or a YAML file.  [default: that of what runs: sip_2x4x4 of a bench on PEs]",
    shell_complete=completion.topologies,
)
@options.mode("; analytic: bounds of benches on PEs, without events", RUN_MODES)
@click.option("--verify-data", is_flag=True, help="Compute the numbers too, compare them with the bench's reference.")
@click.option(
    "--no-data",
    is_flag=True,
    help="Only times. Benches compute no numbers unasked; Tanto programs and task graphs do, unless this is given.",
)
@click.option("--live", is_flag=True, help="Run kernels step by step with their data, for those that branch on values.")
@click.option("--device", default="all", show_default=True, help="Which SIPs the bench may use: all or sip:N.")
@options.assignments("A parameter of the program (M=256) or a topology field (topology.hbm.channel_gbs=64)")
@click.option(
    "--explain",
    is_flag=True,
    help="Say where the time went: critical path, what-if table (of runs below 260,000 events), utilisation, queueing, "
    "roofline; with credits, waiting in the network by link.",
)
@click.option(
    "--what-if", is_flag=True, help="Simulate each field of the topology twice as fast, however long it takes."
)
@click.option(
    "--energy",
    is_flag=True,
    help="Say where the energy went: by part and action, die, operation, launch and kernel line.",
)
@click.option("--call", help="Of a file of Triton, the function to call; without it the file runs as a program.")
@click.option(
    "--grid", metavar="X[,Y[,Z]]", help="Of a kernel of Triton, FILE.py:KERNEL: its programs along each axis."
)
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Of a kernel of Triton, an argument: M=256, a_ptr=f16[M, 512], stride_am=512; may be repeated.",
    shell_complete=completion.arguments,
)
@options.TIME_LIMIT
@options.OP_LIMIT
@options.TRACE
@options.TRACE_FILTER
@options.AS_JSON
@options.out("Keep the op log, the machine and the result in this directory, for kernbench web.")
@options.FORMS
def command(**given: Any) -> int:
    """Run PROGRAM on a machine; say how long it takes, why so long and whether its numbers are right.

    PROGRAM is a name or an index of `kernbench list`, or a file: a bench, a network (also its config.json or an ONNX
    file), a task graph, a Tanto program, a measured graph, a file of Triton, or FILE.py:KERNEL for one of its kernels.
    Several Tanto programs run in turn on one chip, which keeps its buffers. `kernbench run PROGRAM --help` explains its
    parameters.
    """
    from kernbench.cli.actions.run import Asked, run

    brief = {name: given.pop(name) for name in ("call", "grid")}  # options for parameters
    named = [f"{name}={value}" for name, value in brief.items() if value is not None]
    arguments: tuple[str, ...] = given.pop("arguments")
    if wrong := next((one for one in arguments if not all(one.partition("="))), None):
        raise InputError(f"--arg takes NAME=VALUE, such as M=256 or a_ptr=f16[M,512], and got {wrong!r}")
    given["assignments"] = (*given["assignments"], *named, *arguments)
    return run(Asked(**given))
