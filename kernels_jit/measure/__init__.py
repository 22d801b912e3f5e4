"""Sums over the rows of a program and their times."""
