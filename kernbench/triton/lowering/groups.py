"""The scripts of a grid: programs that do the same are recorded once.

All programs are run together first. Where they differ the group is divided, and each part runs from the start. A part of one
program has nothing to differ from, so this ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.triton.lowering.grouped import DivergedError

if TYPE_CHECKING:
    from kernbench.triton.lowering.recorder import Recorder
    from kernbench.triton.lowering.script import Script


class Scripts(NamedTuple):
    """The scripts of a grid: of each program, by its number, which script is its own, and which place it has in the group."""

    scripts: list[Script]
    script: np.ndarray  # int64[program]
    place: np.ndarray  # int64[program]


def record_groups(programs: int, record: Callable[[np.ndarray], Recorder], *, together: bool = True) -> Scripts:
    """Record the programs of a grid; `record` runs int64[program] numbers as one group, or raises DivergedError.

    With `together` False each program is recorded alone.
    """
    script, place = np.zeros(programs, np.int64), np.zeros(programs, np.int64)
    found: list[Script] = []
    numbers = np.arange(programs)
    waiting = [numbers] if together else [numbers[at : at + 1] for at in range(programs - 1, -1, -1)]
    while waiting:
        part = waiting.pop()
        try:
            recorder = record(part)
        except DivergedError as diverged:
            waiting += reversed(_divide(part, diverged.key))
            continue
        script[part], place[part] = len(found), np.arange(len(part))
        found.append(recorder.script)
    return Scripts(found, script, place)


def _divide(part: np.ndarray, key: np.ndarray) -> list[np.ndarray]:
    """The parts of equal key, in the order of their first programs."""
    _, first, which = np.unique(np.broadcast_to(key, len(part)), return_index=True, return_inverse=True)
    order = np.argsort(first)
    parts = [part[which == at] for at in order.tolist()]
    assert len(parts) > 1, "a group that diverged has programs of different keys"
    return parts
