"""Bounds of the time of one program on its machine as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.analytic.sheet import Bounds, Sheet

if TYPE_CHECKING:
    from kernbench.program.program import Program


def bounds(program: Program) -> Bounds:
    """The bounds of a program's time, from its start to its last event.

    The program is flushed, so it must have been run, or not be meant to. Errors: as `Sheet`.
    """
    return Sheet(program, vary=False).bounds()
