"""Bounds of a program's time without running it, at one point or at a million."""

from kernbench.analytic.bounds import Bounds, bounds
from kernbench.analytic.sheet import Sheet

__all__ = ["Bounds", "Sheet", "bounds"]
