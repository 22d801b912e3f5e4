"""What a sweep returns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.sweep.plan import Plan

if TYPE_CHECKING:
    import polars

    from kernbench.sweep.auto import Decided


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A finished sweep. `plan.missing` are the points that ran."""

    plan: Plan
    table: polars.DataFrame  # sweep/table.py
    table_path: Path
    failed: int  # points without a result
    wall_s: float
    decided: Decided | None = None  # of mode auto
