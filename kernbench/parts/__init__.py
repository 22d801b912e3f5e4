"""Kinds of parts: their parameters with units, and the figures that durations of programs are amounts of."""
