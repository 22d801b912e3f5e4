"""Diagrams of machines and runs, as SVG."""
