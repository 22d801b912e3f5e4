"""Modes of a run: how its times are found."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from kernbench.errors import InputError, suggest


class Mode(StrEnum):
    """A mode, by the word that users write."""

    HYBRID = "hybrid"  # events; uncontended transfers in closed form
    FLIT = "flit"  # events; every flit at every station
    ANALYTIC = "analytic"  # bounds, without events
    AUTO = "auto"  # of a sweep: bounds of all points, events where bounds cannot decide


EVENT_MODES = (Mode.HYBRID, Mode.FLIT)
RUN_MODES = (*EVENT_MODES, Mode.ANALYTIC)
SWEEP_MODES = (*RUN_MODES, Mode.AUTO)


def check_mode(mode: str, modes: Sequence[Mode] = EVENT_MODES) -> None:
    """Errors: InputError for a mode that is not one of these."""
    if mode not in modes:
        raise InputError(f"unknown mode {mode!r}{suggest(mode, map(str, modes))}")
