"""Bounds of a program's time without running it, at one point or at a million."""

from kernbench.analytic.sheet import Bounds, Sheet, bounds

__all__ = ["Bounds", "Sheet", "bounds"]
