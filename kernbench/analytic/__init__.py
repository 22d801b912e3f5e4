"""Bounds of a program's time without running it, at one point or at a million."""

from kernbench.analytic.bound_model import BoundModel, Bounds, bounds

__all__ = ["BoundModel", "Bounds", "bounds"]
