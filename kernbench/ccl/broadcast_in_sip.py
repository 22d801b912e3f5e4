"""Broadcast a result to the copies of a replicated tensor within a SIP: a device kernel.

The source is the copy in PE 0 of cube 0. The result goes east along the first row of cubes and south from each of them, then
in each cube east along the first row of PEs and south from each of those. Every PE forwards a piece before it stores it.
"""

from __future__ import annotations

from typing import Any

from kernbench.ccl.plan import Plan
from kernbench.ccl.ring import pass_on
from kernbench.ccl.wiring import row_of_pes


def spread(
    ptr: int,
    plan: Plan,
    cubes: int,
    pes: int,
    cube_w: int,
    pes_per_cube: int,
    over_cubes: bool,
    over_pes: bool,
    *,
    tl: Any,
) -> None:
    """The kernel of one PE. `cubes` cubes and `pes` PEs of each hold the tensor, replicated over one axis or both."""
    cube, pe = tl.program_id(axis=1), tl.program_id(axis=0)
    source, targets = None, []
    if over_cubes and (pe == 0 or not over_pes):
        source, targets = _step("", cube, cube_w, cubes)
    if over_pes:
        within, further = _step("intra_", pe, row_of_pes(pes_per_cube), pes)
        source, targets = within or source, targets + further
    for piece in plan.cut(plan.part(tl, 0)):
        if source is None:
            tensor = tl.load(ptr + piece.offset, piece.elements, plan.dtype)
            pass_on(tl, targets, tensor)
        else:
            tensor = tl.recv(source, piece.elements, plan.dtype)
            pass_on(tl, targets, tensor)
            tl.store(ptr + piece.offset, tensor)


def _step(level: str, index: int, w: int, count: int) -> tuple[str | None, list[str]]:
    """The source direction and the target directions of a member of a grid of `w` columns, filled row by row."""
    x, y = index % w, index // w
    source = None if index == 0 else f"{level}W" if y == 0 else f"{level}N"
    targets = [f"{level}E"] if y == 0 and x + 1 < min(w, count) else []
    return source, targets + ([f"{level}S"] if index + w < count else [])
