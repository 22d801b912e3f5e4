"""Bounds of the time of one program on its machine as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.analytic.sheet import Sheet

if TYPE_CHECKING:
    from kernbench.program.program import Program


@dataclass(frozen=True, slots=True)
class Bounds:
    """A program ends neither before `lower_fs` nor after `upper_fs`; `binding` is what sets the lower bound."""

    lower_fs: int
    upper_fs: int
    binding: str


def bounds(program: Program) -> Bounds:
    """The bounds of a program's time, from its start to its last event. Errors: as `Sheet`."""
    sheet = Sheet(program, vary=False)
    at = int(np.argmax(sheet.lower[:, 0]))
    return Bounds(int(sheet.lower[at, 0]), int(sheet.upper[0]), sheet.name(at))
