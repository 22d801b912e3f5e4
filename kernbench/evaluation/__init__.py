"""Evaluations: fixed sets of runs that answer one question about a machine, as a table from which figures are drawn."""
