"""What `kernbench sweep` is asked for: a grid or a bench, with the options that set values."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

from kernbench.cli.names.assignment import read_assignments
from kernbench.cli.output.screen import say
from kernbench.sweep.request import BENCH, Request, RequestedGrid, read_request
from kernbench.sweep.saved_grid import check_grid_file


def read_asked(
    target: str,
    assignments: tuple[str, ...],
    topology: str | None,
    mode: str | None,
    objectives: tuple[str, ...],
    save: Path | None,
    error_bars: bool = False,
) -> RequestedGrid:
    """The grid that is asked for, under the name of the file that it is saved to. Errors: InputError."""
    if save is not None:
        check_grid_file(save)
    request = Request(read_assignments(assignments), topology, mode, objectives, error_bars=error_bars)
    with redirect_stdout(sys.stderr):  # keep prints of bench files out of the output
        requested = read_request(target, request)
    if requested.hides and request:
        say(f"{target}: the grid of this name; {BENCH}{target} is the bench", err=True)
    return requested if save is None else requested.renamed(save.stem)
