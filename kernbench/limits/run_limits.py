"""Limits that a user sets on a run, and the default of each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernbench.errors import InputError, shorten
from kernbench.limits.memory_budget import find_free_bytes

# Of a recorded operation: 274 measured for loads (rows, their notes and lines, the pending copy), and the double of it,
# since the run and the op log come after the recording.
BYTES_AN_OP = 550
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_TIME = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(s|min|h)?")


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of one run. `time_s`: seconds of the user's time; None: none. `ops`: operations; None: as many as memory holds."""

    time_s: float | None = None
    ops: int | None = None


NO_LIMITS = RunLimits()


def read_limits(time_limit: float | str | None = None, op_limit: int | None = None) -> RunLimits:
    """Limits as users write them: `time_limit` in seconds or with a unit ("90 s", "10 min", "2 h"). Errors: InputError."""
    try:
        return RunLimits(read_time_limit(time_limit), read_op_limit(op_limit))
    except ValueError as error:
        raise InputError(str(error)) from None


def read_time_limit(given: float | str | None) -> float | None:
    """Seconds. Errors: ValueError."""
    if given is None:
        return None
    matched = None if isinstance(given, bool) else _TIME.fullmatch(str(given).strip())
    seconds = float(matched[1]) * _SECONDS[matched[2] or "s"] if matched else 0.0
    if not seconds:
        raise ValueError(f"time limit: got {shorten(given)!r}, expected more than 0 seconds, alone or with s, min or h")
    return seconds


def read_op_limit(given: object) -> int | None:
    """A number of operations. Errors: ValueError."""
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        raise ValueError(f"op limit: got {shorten(given)!r}, expected a whole number of operations, 1 or more")
    return given


def find_op_limit(limits: RunLimits) -> tuple[int, str]:
    """The most operations of a run, and where the limit comes from, as a part of a sentence."""
    if limits.ops is not None:
        return limits.ops, "the limit that was given"
    free = find_free_bytes()
    if free is None:
        return 1 << 62, ""
    return max(1, free // BYTES_AN_OP), "what the free memory of this computer holds"


def tell_s(seconds: float) -> str:
    """A time of a limit: "90 s", "10 min", "2 h"."""
    unit = next(unit for unit in ("h", "min", "s") if seconds % _SECONDS[unit] == 0 or unit == "s")
    return f"{seconds / _SECONDS[unit]:g} {unit}"
