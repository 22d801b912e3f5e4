"""One run of an evaluation: its numbers are right, or there is no row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import RunError

if TYPE_CHECKING:
    from kernbench.runs.result import RunResult

OnRow = Callable[[Mapping[str, Any]], object]  # called with each row of a table when it is known


def measure(
    bench: str,
    topology: str | Path,
    parameters: Mapping[str, Any],
    overrides: Mapping[str, object] | None,
    mode: str,
    verify: bool,
) -> RunResult:
    """Run a bench. Errors: those of the run; RunError when a check of the numbers fails."""
    from kernbench.frontends.run import run_bench

    result = run_bench(bench, topology, parameters=parameters, overrides=overrides, mode=mode, verify=verify)
    if result.mismatches:
        raise RunError(f"{bench} {dict(parameters)}: {'; '.join(result.mismatches)}")
    return result
