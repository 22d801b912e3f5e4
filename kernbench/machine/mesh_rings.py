"""The rings of a torus of family `mesh`: the ways along one, for the check of its channels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernbench.machine.channel_dependencies import Channels, check_channels
from kernbench.machine.mesh_places import router_name

if TYPE_CHECKING:
    from kernbench.machine.flow_control import FlowControl
    from kernbench.machine.mesh_places import MeshShape


def check_rings(mesh: MeshShape, control: FlowControl) -> None:
    """Check that packets on the rings of a torus cannot stand still. Errors: InputError.

    Ways go along a row first, so a cycle of channels lies in one dimension; there all rings, and both networks, are alike.
    """
    if mesh.torus:
        check_channels(
            _ways(mesh, control), "set virtual_channels to 2 or more and dateline to true, or torus to false"
        )


def _ways(mesh: MeshShape, control: FlowControl) -> Iterator[list[Channels]]:
    """The longest ways from each node of a row and of a column, in each direction."""
    for count, is_row in ((mesh.w, True), (mesh.h, False)):
        hops = count - 1 if mesh.one_way else count // 2
        for start in range(count if count > 2 else 0):
            for step in (1,) if mesh.one_way else (1, -1):
                yield _way(control, count, is_row, start, step, hops)


def _way(control: FlowControl, count: int, is_row: bool, start: int, step: int, hops: int) -> list[Channels]:
    found, at, side = list[Channels](), start, 1
    for _ in range(hops):
        to = (at + step) % count
        side = 2 if abs(to - at) > 1 else side
        found.append(
            (
                f"{_router(is_row, at)} -> {_router(is_row, to)}",
                control.channels_of(side, control.ports[0].virtual_channels),
            )
        )
        at = to
    return found


def _router(is_row: bool, at: int) -> str:
    return router_name(0, at, 0) if is_row else router_name(at, 0, 0)
