"""Bounds of a program's time without running it, at one point or at a million."""

from kernbench.analytic.bound_model import Bounds, Sheet, bounds

__all__ = ["Bounds", "Sheet", "bounds"]
