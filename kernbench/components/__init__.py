"""Kinds of parts: their parameters with units, and the figures that programs pay by."""
