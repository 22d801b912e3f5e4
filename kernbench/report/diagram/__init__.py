"""Diagrams of machines and runs, as SVG."""

from kernbench.report.diagram.draw import draw_view

__all__ = ["draw_view"]
