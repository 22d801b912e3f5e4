"""The complete probe of the default machine, and its pictures, as whole processes. The yardstick is importing numba."""

from __future__ import annotations

from pathlib import Path

from benches.perf.figures import Figures
from benches.perf.processes import seconds


def test_the_default_machine(figures: Figures, tmp_path: Path) -> None:
    """`kernbench probe` (144 runs) and `kernbench diagram` (four views)."""
    numba, probe, diagram = figures.side_by_side(
        lambda: seconds("-c", "import numba"),
        lambda: seconds("-m", "kernbench", "probe"),
        lambda: seconds("-m", "kernbench", "diagram", "--bandwidths", "--out", str(tmp_path)),
        rounds=3,
    )
    figures.show("kernbench probe of the default machine, warm, whole process", probe, "s", "< 10")
    figures.show("kernbench diagram of the default machine, whole process", diagram, "s", "< 2")
    figures.ratio("import numba over kernbench probe", numba / probe)
