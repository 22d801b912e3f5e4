"""The result of a sweep."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.sweep.plan import Plan
from kernbench.sweep.results.store import hold

if TYPE_CHECKING:
    import polars

    from kernbench.sweep.auto import AutoSummary


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A finished sweep. `plan.missing` are the points that ran."""

    plan: Plan
    table_path: Path  # sweep/results/table.py
    count: int  # rows of the table
    failed: int  # of them without a result
    wall_s: float
    decided: AutoSummary | None = None  # of mode auto

    @property
    def table(self) -> polars.DataFrame:
        """The whole table, read from the disk."""
        with self.scan() as scan:
            return scan.collect()

    @contextmanager
    def scan(self) -> Generator[polars.LazyFrame]:
        """A scan of the table as it is now, whatever other processes write in its place."""
        import polars

        with hold(self.table_path) as path:
            yield polars.scan_parquet(path)
