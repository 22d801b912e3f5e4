"""Longest paths and queueing bounds over many machines at once."""
