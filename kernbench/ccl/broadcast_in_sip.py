"""Broadcast a result to the copies of a replicated tensor within a SIP: a device kernel.

The source is the copy in PE 0 of cube 0. The result goes east along the first row of cubes and south from each of them, then
in each cube east along the first row of PEs and south from each of those. Every PE forwards a piece before it stores it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kernbench.ccl.plan import Plan
from kernbench.ccl.ring import pass_on
from kernbench.ccl.wiring import row_of_pes

if TYPE_CHECKING:
    from kernbench.ccl.time_model import SharedLink, TimeModel


class Copies(NamedTuple):
    """A replicated tensor: `cubes` cubes and `pes` PEs of each hold it, replicated over one axis or both."""

    cubes: int
    pes: int
    cube_w: int
    pes_per_cube: int
    over_cubes: bool
    over_pes: bool


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
    """The kernel of one PE; what follows the plan is a `Copies`."""
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


def estimate_spread(model: TimeModel, nbytes: int, copies: Copies, plan: Plan) -> float:
    """The time (ns) that `spread` takes about: piece after piece down the two meshes."""
    pieces, size = plan.count_pieces(nbytes)
    links: list[SharedLink] = []
    depth = 0
    for taken, count, w, next_to in (
        (copies.over_cubes, copies.cubes, copies.cube_w, (1, 0)),
        (copies.over_pes, copies.pes, row_of_pes(copies.pes_per_cube), (0, 1)),
    ):
        if taken and count > 1:
            depth += min(w, count) - 1 + (count - 1) // w
            links.append(model.between((0, 0), next_to))
    return model.tree_ns(links, depth, 2, pieces, size, plan.window, add=False)
