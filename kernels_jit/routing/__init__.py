"""Shortest paths."""
