"""The family `mesh`: a network of endpoints, each on a router of its own, for studies of traffic.

All links between routers are equally long, so routing counts them; their length is for their energy alone.

Every time is a field of the topology itself. A flit occupies a link for its bytes over `link_gbs` and reaches the next router
`hop_ns` later; between an endpoint and its router the delay is `injection_ns` or `ejection_ns` instead.

Vertical links are added before horizontal ones, so routes go along the row first, then along the column (see `builder`). On a
torus they go the shorter way round; which of two equally long ways they take follows from their source (see `mesh_places`).
On a one-way torus links lead to rising indices alone. Two networks side by side are alike, and an endpoint has a link to its
router in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from kernbench.machine.builder import Builder
from kernbench.machine.families.mesh.places import MeshShape, node_name, router_name
from kernbench.machine.families.mesh.spec import MeshSpec
from kernbench.machine.intents import EdgeKind
from kernbench.machine.machine import Machine
from kernbench.machine.network.flow_control import Dateline
from kernbench.machine.network.flow_control_spec import build_mesh_flow_control
from kernbench.machine.network.rings import Ring, check_rings
from kernbench.machine.sheets.quantities import rate
from kernbench.units import FS_PER_NS

_EAST, _WEST, _SOUTH, _NORTH, _LOCAL = range(5)  # ports of a router, in the order of its arbiters
PITCH_MM = 1.0  # for pictures


def expand(spec: MeshSpec, name: str, digest: str) -> Machine:
    """The machine of a checked topology of family `mesh`."""
    shape, builder = _shape(spec), Builder()
    places = list(product(range(shape.h), range(shape.w)))
    routers = {
        (row, col, network): builder.node(router_name(row, col, network), "router", (col * PITCH_MM, row * PITCH_MM))
        for network, (row, col) in product(range(spec.networks), places)
    }
    _link_routers(builder, spec, shape, routers)
    end_rate = rate(spec, "endpoint_gbs" if spec.endpoint_gbs else "link_gbs")
    ends_fs = (round(spec.ejection_ns * FS_PER_NS), round(spec.injection_ns * FS_PER_NS))
    for row, col in places:
        endpoint = builder.node(node_name(row, col), "endpoint", (col * PITCH_MM, row * PITCH_MM))
        builder.server(node_name(row, col), "cpu")
        for network in range(spec.networks):
            router, ports = routers[row, col, network], (_LOCAL, _LOCAL)
            builder.link(router, endpoint, EdgeKind.NOC, end_rate, delays_fs=ends_fs, ports=ports)
    flow_control = build_mesh_flow_control(spec, Dateline.CROSS if shape.one_way else Dateline.PACKET)
    if flow_control and shape.torus:
        remedy = "set virtual_channels to 2 or more and dateline to cross, or torus to false"
        check_rings(_rings(shape), flow_control, spec.virtual_channels, remedy)
    return builder.finish(
        name=name,
        family=spec.family,
        digest=digest,
        flit_bytes=spec.flit_bytes,
        ns_per_mm=0.0,
        figures={"zero": 0.0, "ns": float(FS_PER_NS)},
        origins={},
        shape=shape,
        flow_control=flow_control,
        packet_flits=spec.packet_flits if spec.interleave == "packets" else None,
    )


def _shape(spec: MeshSpec) -> MeshShape:
    return MeshShape(
        w=spec.columns,
        h=spec.rows,
        torus=spec.torus,
        one_way=spec.one_way,
        networks=spec.networks,
        acknowledged=spec.acknowledged,
        issue_fs=round(spec.issue_ns * FS_PER_NS),
        outstanding=spec.outstanding,
    )


def _link_routers(
    builder: Builder, spec: MeshSpec, shape: MeshShape, routers: Mapping[tuple[int, int, int], int]
) -> None:
    """Add the links between routers, by (row, column, network): all vertical ones first."""
    link_rate, hop_fs = rate(spec, "link_gbs"), round(spec.hop_ns * FS_PER_NS)
    for down, right, ports in ((1, 0, (_SOUTH, _NORTH)), (0, 1, (_EAST, _WEST))):
        along = shape.h if down else shape.w
        one_way = shape.one_way and along > 2  # the two links of a ring of two are both directions of one
        for (row, col, network), router in routers.items():
            there = _neighbour(shape, row + down, col + right)
            if there is not None and there != (row, col):
                builder.link(
                    router,
                    routers[*there, network],
                    EdgeKind.NOC,
                    link_rate,
                    um=round(1000 * spec.hop_mm),
                    delays_fs=(hop_fs, hop_fs),
                    one_way=one_way,
                    ports=ports,
                )


def _rings(mesh: MeshShape) -> list[Ring]:
    """A row and a column of a torus. All others, and both networks, are alike."""
    row, column = (router_name(0, col, 0) for col in range(mesh.w)), (router_name(row, 0, 0) for row in range(mesh.h))
    steps = (1,) if mesh.one_way else (1, -1)
    return [
        Ring(tuple(names), steps, count - 1 if mesh.one_way else count // 2)
        for names, count in ((row, mesh.w), (column, mesh.h))
    ]


def _neighbour(mesh: MeshShape, row: int, col: int) -> tuple[int, int] | None:
    """The place after a step, or None beyond an end. A ring of two has one link, not two side by side."""
    if row < mesh.h and col < mesh.w:
        return row, col
    closes = mesh.torus and (mesh.h if row == mesh.h else mesh.w) > 2
    return (row % mesh.h, col % mesh.w) if closes else None
