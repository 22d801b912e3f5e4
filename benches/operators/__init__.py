"""Shares of peak that operators of networks reach, by machine and step."""
