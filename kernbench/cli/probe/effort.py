"""The last lines of a probe: makespan, simulation effort, energy and the files written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernbench.cli.output.files import show_files
from kernbench.cli.output.screen import say
from kernbench.frontends.bench_tables import energy_lines


def show_effort(summary: Mapping[str, Any]) -> None:
    """Print the makespan, the simulation effort, the energy if it is known and the files."""
    say(
        f"makespan {summary['makespan_ns']:,.3f} ns (simulated); "
        f"{summary['flit_hops']:,} flit hops in {summary['wall_s']:.2f} s"
    )
    for label, figure, remark in energy_lines(summary):
        say(f"{label} {figure}: {remark}".strip())
    show_files(summary["files"])
