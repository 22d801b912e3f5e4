"""The table of a sweep while it runs: `progress.parquet`, for who watches it.

It has the shape of `table.parquet` and the rows that are on the disk so far. It is written again and again in a small share of
the time, and goes when the table is written: where it is found, the sweep runs or was killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from kernbench.modes import Mode
from kernbench.sweep.auto import EVENTS, AutoRows, RefinedPoints
from kernbench.sweep.plan import Plan
from kernbench.sweep.results.file_names import PROGRESS
from kernbench.sweep.results.store import Store
from kernbench.sweep.results.stored_rows import StoredRows
from kernbench.sweep.results.table import write_table

LEAST_S = 1.0  # between two tables
WRITING_SHARE = 0.05  # of the time may be spent on writing them


class LiveTable:
    """Writes the rows of a plan that are done, no more often than `WRITING_SHARE` of the time allows."""

    def __init__(self, plan: Plan, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = plan.directory / PROGRESS
        self._plan, self._clock = plan, clock
        self._store = Store(plan.directory)
        self._next = clock() + LEAST_S

    def on_row(self) -> None:
        """Take note that a row is on the disk. Errors: as `write_table`."""
        started = self._clock()
        if started < self._next:
            return
        write_table(self._plan.grid, self._plan.points, self._rows(), self.path)
        ended = self._clock()
        self._next = ended + max(LEAST_S, (ended - started) / WRITING_SHARE)

    def close(self) -> None:
        """Remove the file, as the whole table is there."""
        with suppress(OSError):  # it may never have been written, and a directory that refuses is named elsewhere
            self.path.unlink()

    def _rows(self) -> StoredRows | AutoRows:
        plan = self._plan
        if plan.grid.mode != Mode.AUTO:
            return StoredRows(self._store, plan.points)
        refined = RefinedPoints(plan.points_in(Mode.AUTO), plan.points_in(EVENTS))
        return AutoRows(self._store, plan.points, refined)
