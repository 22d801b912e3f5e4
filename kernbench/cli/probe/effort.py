"""The last lines of a probe: makespan, simulation effort and the files written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernbench.cli.output.files import show_files
from kernbench.cli.output.screen import say


def show_effort(summary: Mapping[str, Any]) -> None:
    """Print the makespan, the simulation effort and the files."""
    say(
        f"makespan {summary['makespan_ns']:,.3f} ns (simulated); "
        f"{summary['flit_hops']:,} flit hops in {summary['wall_s']:.2f} s"
    )
    show_files(summary["files"])
