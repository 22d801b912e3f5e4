"""`kernbench.compare`: what moved between two sweeps, runs or evaluations, on the disk or in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernbench.api.evaluate import EvaluationResult
from kernbench.api.sweep import SweepResult
from kernbench.runs.result import RunResult
from kernbench.sweep.results.comparison import Comparison, Side, compare_sides, read_side, read_summary

Comparable = str | Path | RunResult | SweepResult | EvaluationResult


def compare(a: Comparable, b: Comparable, columns: Sequence[str] = ()) -> Comparison:
    """Compare two sweeps, two runs or two evaluations: results, or directories that they were written to.

    Points are paired by their parameters. `latency_ns` and `pe_exec_ns` are compared, of networks `step_ns` and tokens a
    second, and `columns` besides.
    Errors: InputError for what is none of these, for an unknown column, and for points that cannot be paired.
    """
    return compare_sides(_read(a, "a"), _read(b, "b"), columns)


def _read(given: Comparable, name: str) -> Side:
    if isinstance(given, SweepResult):
        return Side(str(given.directory), given.table, is_run=False)
    if isinstance(given, RunResult | EvaluationResult):
        return read_summary(name, given.to_dict())
    return read_side(Path(given))
