"""Broadcast a result to the copies of a replicated tensor within a SIP: two device kernels.

The source is the copy in PE 0 of cube 0. The result goes east along the first row of cubes and south from each of them. With
`spread` it goes on in each cube east along the first row of PEs and south from each of those, by sends. With
`spread_by_multicast` PE 0 of a cube sends it to the next cubes and to all PEs of its own at once, over queues of its own. Every
PE forwards a piece before it stores it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from kernbench.ccl.plan import Plan
from kernbench.ccl.rehearsal import Outcome
from kernbench.ccl.ring import pass_on
from kernbench.ccl.wiring import INTRA_AHEAD, OPPOSITE, row_of_pes

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


def spread_by_multicast(
    ptr: int,
    plan: Plan,
    cubes: int,
    pes: int,
    cube_w: int,
    pes_per_cube: int,
    over_cubes: bool,
    over_pes: bool,  # noqa: ARG001 (of a `Copies`; else this kernel has nothing to do)
    *,
    tl: Any,
) -> None:
    """The kernel of one PE; what follows the plan is a `Copies`."""
    cube, pe = tl.program_id(axis=1), tl.program_id(axis=0)
    source, targets = _step("", cube, cube_w, cubes) if over_cubes else (None, [])
    if pe == 0:
        targets = targets + [f"{INTRA_AHEAD}{ahead}" for ahead in range(1, pes)]
    else:
        source, targets = f"{INTRA_AHEAD}{pes_per_cube - pe}", []
    for piece in plan.cut(plan.part(tl, 0)):
        if source is None:
            tl.send(targets, tl.load(ptr + piece.offset, piece.elements, plan.dtype))
            continue
        tensor = tl.recv(source, piece.elements, plan.dtype)
        if targets:
            tl.send(targets, tensor)
        tl.store(ptr + piece.offset, tensor)


def cube_queues(copies: Copies) -> dict[tuple[int, int], dict[str, tuple[int, int, str]]]:
    """The neighbours of `spread_by_multicast` by (cube, PE) and direction: cube, PE and direction that leads back."""
    found: dict[tuple[int, int], dict[str, tuple[int, int, str]]] = {
        (cube, pe): {} for cube in range(copies.cubes) for pe in range(copies.pes)
    }
    for cube in range(copies.cubes):
        if copies.over_cubes:
            for direction in _step("", cube, copies.cube_w, copies.cubes)[1]:
                other, back = cube + (1 if direction == "E" else copies.cube_w), OPPOSITE[direction]
                found[cube, 0][direction] = other, 0, back
                found[other, 0][back] = cube, 0, direction
        for pe in range(1, copies.pes):
            there, back = f"{INTRA_AHEAD}{pe}", f"{INTRA_AHEAD}{copies.pes_per_cube - pe}"
            found[cube, 0][there] = cube, pe, back
            found[cube, pe][back] = cube, 0, there
    return found


def _step(level: str, index: int, w: int, count: int) -> tuple[str | None, list[str]]:
    """The source direction and the target directions of a member of a grid of `w` columns, filled row by row."""
    x, y = index % w, index // w
    source = None if index == 0 else f"{level}W" if y == 0 else f"{level}N"
    targets = [f"{level}E"] if y == 0 and x + 1 < min(w, count) else []
    return source, targets + ([f"{level}S"] if index + w < count else [])


def estimate_spread(model: TimeModel, nbytes: int, copies: Copies, plan: Plan) -> Outcome:
    """The time (ns) that `spread` takes about: piece after piece down the two meshes."""
    pieces, size = plan.count_pieces(nbytes)
    links: list[SharedLink] = []
    depth = fan = 0
    for taken, count, w, next_to in (
        (copies.over_cubes, copies.cubes, copies.cube_w, (1, 0)),
        (copies.over_pes, copies.pes, row_of_pes(copies.pes_per_cube), (0, 1)),
    ):
        if taken and count > 1:
            depth += min(w, count) - 1 + (count - 1) // w
            fan += (min(w, count) > 1) + (count > w)  # of the source, which the others wait for
            links.append(model.between((0, 0), next_to))
    return Outcome(model.tree_ns(links, depth, fan, pieces, size, plan.window, add=False), size)


def estimate_multicast(model: TimeModel, nbytes: int, copies: Copies, plan: Plan) -> Outcome:
    """The time (ns) that `spread_by_multicast` takes about: down the mesh of cubes, and to the farthest PE of the last one."""
    pieces, size = plan.count_pieces(nbytes)
    within = [model.between((0, 0), (0, pe)) for pe in range(1, copies.pes)]
    cubes: list[SharedLink] = []
    depth = 0
    if copies.over_cubes and copies.cubes > 1:
        depth = min(copies.cube_w, copies.cubes) - 1 + (copies.cubes - 1) // copies.cube_w
        cubes = [model.between((0, 0), (1, 0))]
    return Outcome(model.multicasts_ns(cubes, depth, within, pieces, size, plan.window), size)


class CopyMethod(NamedTuple):
    """A kernel that brings a result to the copies, its name, and its estimated time (ns)."""

    name: str
    kernel: Callable[..., None]
    estimate: Callable[[TimeModel, int, Copies, Plan], Outcome]


METHODS = {
    "mesh": CopyMethod("spread", spread, estimate_spread),
    "multicast": CopyMethod("spread_by_multicast", spread_by_multicast, estimate_multicast),
}
