"""Traces of a chip's two networks: read, lowered, replayed."""
