"""Transfers and their flits on networks whose queues have no limit."""
