"""A directory of a run on the small machine."""

from __future__ import annotations

from pathlib import Path

from kernbench.frontends.run import run_bench
from kernbench.runs.result import RunResult

NOC_GBS = 99


def run_small() -> RunResult:
    """A GEMM on one PE, on a machine with another bandwidth of routers."""
    return run_bench(
        "gemm-single-pe", "tiny", parameters={"M": 32, "K": 64, "N": 32}, overrides={"noc.gbs": f"{NOC_GBS} GB/s"}
    )


def write_run(directory: Path, result: RunResult | None = None) -> Path:
    """The directory with the files of a run; returns it."""
    (result or run_small()).write(directory)
    return directory
