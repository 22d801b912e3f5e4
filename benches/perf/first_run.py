"""`python -m benches.perf.first_run`: what the first run ever, which compiles, costs in times of `import numba`."""

from __future__ import annotations

import statistics
import sys
import tempfile

from benches.perf.processes import Cost, cost

RUNS = {
    "without limits": ("gemm-single-pe",),
    "with credits": ("gemm-single-pe", "--topology", "tiny", "--set", "topology.flow_control=credit"),
}
"""Arguments of `kernbench run`, by the kind of network that they compile the loop for."""


def first_run(*arguments: str, **environment: str) -> Cost:
    """The cost of `kernbench run` with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        return cost("-m", "kernbench", "run", *arguments, KERNBENCH_CACHE=folder, **environment)


def import_numba_s(times: int = 5) -> float:
    """Processor seconds of `import numba` in a process of its own, the median of a few."""
    return statistics.median(cost("-c", "import numba").processor_s for _ in range(times))


def main() -> int:
    """Print a line for each kind of network, and one for the build with assertions, which the tests use."""
    yardstick_s = import_numba_s()
    builds = [(name, arguments, {}) for name, arguments in RUNS.items()]
    builds.append(("without limits, with assertions", RUNS["without limits"], {"KERNBENCH_CHECKED": "1"}))
    for name, arguments, environment in builds:
        found = first_run(*arguments, **environment)
        print(
            f"first run, network {name}: {found.processor_s / yardstick_s:.0f} times import numba "
            f"({found.processor_s:.1f} s of processor time), {found.peak_bytes / 1e6:.0f} MB"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
