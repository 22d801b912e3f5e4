"""Runs of benches: record the program, run it, and report times, bounds and numbers."""
