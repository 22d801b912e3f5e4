"""The result of a sweep."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.errors import RunError
from kernbench.sweep.plan import Plan
from kernbench.unfinished import second_name

if TYPE_CHECKING:
    import polars

    from kernbench.sweep.auto import AutoSummary


@dataclass(frozen=True, slots=True)
class FinishedSweep:
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
        """A scan of the table as it is now, whatever other processes write in its place. Errors: RunError if it is gone."""
        import polars

        with ExitStack() as stack:
            try:
                path = stack.enter_context(second_name(self.table_path))
            except OSError as error:
                raise RunError(
                    f"{self.table_path} cannot be read ({error.strerror}); run the same command again"
                ) from None
            yield polars.scan_parquet(path)
