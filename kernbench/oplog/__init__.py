"""The record of what happened: one row for each operation, and what was busy."""
