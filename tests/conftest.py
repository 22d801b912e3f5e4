"""What holds for all tests: no randomness from outside, no display, no threads that compete."""

from __future__ import annotations

import os

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does; before numpy is loaded

# The same examples in every run: a failure is found again, and nothing is flaky. No deadline: the first example compiles.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.load_profile("same")
