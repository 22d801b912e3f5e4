"""The family `mesh`: a bare network of endpoints, each on a router of its own, for studies of traffic.

Vertical links are laid before horizontal ones, so routes go along the row first, then along the column (see `builder`). A
torus is folded: every link is two pitches long, and the way round is as short as it looks.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kernbench.components.fabric import Noc
from kernbench.components.part import Section
from kernbench.machine.builder import Builder
from kernbench.machine.intents import EdgeKind
from kernbench.machine.machine import Machine
from kernbench.machine.mesh_places import MeshShape
from kernbench.spec.fields import Bytes, Count, Mm, NsPerMm
from kernbench.spec.model import Model
from kernbench.units import FS_PER_NS


class Mesh(Section):
    """The routers: w columns, h rows, and whether each row and column closes to a ring."""

    w: Annotated[Count, Field(le=512)]
    h: Annotated[Count, Field(le=512)]
    torus: bool
    pitch_mm: Mm


class PartNames(Model):
    """The sheet of each part, by name."""

    noc: str = "noc"


class MeshSpec(Model):
    """A checked topology of family `mesh`, with the sheet of its routers."""

    family: Literal["mesh"]
    description: str
    flit_bytes: Bytes
    ns_per_mm: NsPerMm
    mesh: Mesh
    parts: PartNames = PartNames()
    noc: Noc


def expand(spec: MeshSpec, name: str, digest: str) -> Machine:
    """The machine of a checked topology."""
    mesh, builder = spec.mesh, Builder()
    places = [(row, col) for row in range(mesh.h) for col in range(mesh.w)]
    routers = {
        (row, col): builder.node(
            f"r{row}c{col}", "router", (col * mesh.pitch_mm, row * mesh.pitch_mm), spec.noc.overhead_fs
        )
        for row, col in places
    }
    um = round(1000 * mesh.pitch_mm * (2 if mesh.torus else 1))
    for down, right in ((1, 0), (0, 1)):
        for row, col in places:
            there = _neighbour(mesh, row + down, col + right)
            if there is not None and there != (row, col):
                builder.link(routers[row, col], routers[there], EdgeKind.NOC, spec.noc.gbs, um=um)
    for (row, col), router in routers.items():
        endpoint = builder.node(f"r{row}c{col}.endpoint", "endpoint", builder.position[router])
        builder.server(f"r{row}c{col}.endpoint", "cpu")
        builder.link(router, endpoint, EdgeKind.NOC, spec.noc.gbs, least_mm=spec.noc.attach_mm)
    figures = {"zero": 0.0, "ns": float(FS_PER_NS)}
    figures |= {f"noc.{figure}": value for figure, value in spec.noc.figures().items()}
    return builder.finish(
        name=name,
        family=spec.family,
        digest=digest,
        flit_bytes=spec.flit_bytes,
        ns_per_mm=spec.ns_per_mm,
        figures=figures,
        shape=MeshShape(mesh.w, mesh.h),
    )


def _neighbour(mesh: Mesh, row: int, col: int) -> tuple[int, int] | None:
    """Where a step leads; a ring of two has one link, not two side by side."""
    if row < mesh.h and col < mesh.w:
        return row, col
    closes = mesh.torus and (mesh.h if row == mesh.h else mesh.w) > 2
    return (row % mesh.h, col % mesh.w) if closes else None
