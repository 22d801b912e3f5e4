"""All front-ends, in the order in which they are asked what a grid names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.sweep.front_ends import benches, tanto_benches, tanto_programs, task_graphs, traffic

if TYPE_CHECKING:
    from kernbench.sweep.grid.grid import Grid
    from kernbench.sweep.workload import FrontEnd, Workload

# The last takes all that no other has, or says that there is no such bench.
FRONT_ENDS: dict[str, FrontEnd] = {
    one.name: one
    for one in (
        traffic.FRONT_END,
        task_graphs.FRONT_END,
        tanto_programs.FRONT_END,
        tanto_benches.FRONT_END,
        benches.FRONT_END,
    )
}


def find_workload(grid: Grid) -> Workload:
    """The workload of a grid. Errors: InputError for an unknown bench or pattern."""
    found = (workload for one in FRONT_ENDS.values() if (workload := one.find(grid)) is not None)
    return next(found)
