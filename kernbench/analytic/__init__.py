"""Bounds of a program's time without running it, at one point or at a million.

The names below are the API. Two belong to a layer above, `kernbench.runs`, which uses this one: they are imported when they are
first used.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kernbench.analytic.bound_model import BoundModel, Bounds, bounds

if TYPE_CHECKING:
    from kernbench.runs.bounds import LaunchBoundModel
    from kernbench.runs.run import record_bench

_ABOVE = {"LaunchBoundModel": "kernbench.runs.bounds", "record_bench": "kernbench.runs.run"}

__all__ = ["BoundModel", "Bounds", "LaunchBoundModel", "bounds", "record_bench"]


def __getattr__(name: str) -> Any:
    if name in _ABOVE:
        value = globals()[name] = getattr(import_module(_ABOVE[name]), name)
        return value
    if name == "Sheet":  # the name until November 2026, taken for one release more
        warnings.warn("kernbench.analytic.Sheet is now BoundModel", DeprecationWarning, stacklevel=2)
        return BoundModel
    raise AttributeError(f"module 'kernbench.analytic' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
