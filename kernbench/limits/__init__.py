"""Limits of a run: of time, of operations, and of the memory of the computer that it runs on."""
