"""`python -m benches.perf [--rewrite] [pytest's arguments]`: measure, compare with the reference or make it anew."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from benches.perf.compare import main

HERE = Path(__file__).resolve().parent
REFERENCE = Path("results/reference/perf.json")
PAGE = Path("docs/performance.md")


def run(arguments: list[str]) -> int:
    """Exit status: pytest's if a benchmark failed, 1 if a ratio fell."""
    rewrite = "--rewrite" in arguments
    selected = [argument for argument in arguments if argument != "--rewrite"]
    if rewrite and selected:
        print("error: --rewrite takes no other argument; a reference is of all benchmarks", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "run.json"
        status = pytest.main(
            [str(HERE), "--benchmark-only", "--benchmark-quiet", f"--benchmark-json={found}", "-q", *selected]
        )
        return status or main(found, REFERENCE, PAGE if rewrite else None)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
