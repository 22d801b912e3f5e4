"""Families of machines, a folder each (see `registry`)."""
