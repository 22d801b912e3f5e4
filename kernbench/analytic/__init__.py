"""Bounds of a program's time without running it, at one point or at a million."""

import warnings

from kernbench.analytic.bound_model import BoundModel, Bounds, bounds

__all__ = ["BoundModel", "Bounds", "bounds"]


def __getattr__(name: str) -> type[BoundModel]:
    if name == "Sheet":  # the name until November 2026, taken for one release more
        warnings.warn("kernbench.analytic.Sheet is now BoundModel", DeprecationWarning, stacklevel=2)
        return BoundModel
    raise AttributeError(f"module 'kernbench.analytic' has no attribute {name!r}")
