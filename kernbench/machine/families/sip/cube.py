"""One cube of a `sip` machine: its routers, its memories, ports and M_CPU, and its PEs.

Vertical links of the mesh are added before horizontal ones, so that routes go horizontally first (see `builder`).
"""

from __future__ import annotations

import math

from kernbench.machine.builder import Builder
from kernbench.machine.families.sip.places import ONE_SERVER, PE_PARTS, READ_WRITE
from kernbench.machine.families.sip.spec import SipSpec, parse_router
from kernbench.machine.intents import PORT_PENALTY, EdgeKind
from kernbench.machine.sheets.field_provenance import Source
from kernbench.machine.sheets.quantities import Rate, Time, rate, time
from kernbench.parts.derived import Origin

PART_PITCH_MM = 0.2  # between the nine parts of a PE, for drawing
CONN_SHIFT_MM = 0.75  # the most between a connection and its router, along the side; so it does not cover other parts

# The places of the nine parts of a PE, row by row; the last row is nearest to the router, which it is linked to.
_LAYOUT = (("fetch_store", "gemm", "math"), ("tcm", "scheduler", "ipcq"), ("mmu", "dma", "cpu"))
_AT = {name: (column - 1, 1 - row) for row, names in enumerate(_LAYOUT) for column, name in enumerate(names)}

# The links between the parts of a PE.
_CHAINING = (
    ("cpu", "scheduler"),
    ("cpu", "ipcq"),
    ("scheduler", "dma"),
    ("scheduler", "fetch_store"),
    ("scheduler", "gemm"),
    ("scheduler", "math"),
    ("dma", "tcm"),
    ("dma", "mmu"),
    ("dma", "ipcq"),
    ("fetch_store", "tcm"),
    ("fetch_store", "gemm"),
    ("fetch_store", "math"),
    ("gemm", "math"),
)


def router_at(spec: SipSpec, name: str) -> tuple[float, float]:
    """The position of a router in its cube, in mm."""
    row, col = parse_router(name)
    return spec.cube.grid.x_mm[col], spec.cube.grid.y_mm[row]


def forwarding(spec: SipSpec, part: str) -> tuple[Time, bool]:
    """The overhead of a part for a message that passes, and whether the part is store-and-forward."""
    return time(spec, f"{part}.overhead_fs"), getattr(spec, part).stores()


def build_cube(spec: SipSpec) -> Builder:
    """A cube at the origin, with names relative to the cube."""
    cube = Builder()
    noc = forwarding(spec, "noc")
    routers = {name: cube.node(name, "router", router_at(spec, name), *noc) for name in spec.cube.grid.routers()}
    _mesh(cube, spec, routers)
    m_cpu = cube.node("m_cpu", "m_cpu", spec.cube.m_cpu_mm, *forwarding(spec, "m_cpu"))
    cube.server("m_cpu", "cpu", spec.m_cpu.slots())
    _attach(cube, spec, _nearest(cube, routers, m_cpu), m_cpu, "noc.gbs")
    sram = cube.node("sram", "sram", spec.cube.sram_mm)
    _attach(cube, spec, _nearest(cube, routers, sram), sram, "sram.gbs")
    cube.memory(sram, stripes=1, rate=rate(spec, "sram.gbs"), quantum_bytes=1, overhead=time(spec, "sram.overhead_fs"))
    for side, names in spec.cube.grid.sides.items():
        _port(cube, spec, side, [routers[name] for name in names])
    for pe, name in enumerate(spec.cube.grid.pe_routers[: spec.cube.pes]):
        _slice(cube, spec, pe, routers[name])
        _pe(cube, spec, pe, routers[name])
    return cube


def _mesh(cube: Builder, spec: SipSpec, routers: dict[str, int]) -> None:
    noc = rate(spec, "noc.gbs")
    for down, right in ((1, 0), (0, 1)):
        for name, router in routers.items():
            row, col = parse_router(name)
            neighbour = routers.get(f"r{row + down}c{col + right}")
            if neighbour is not None:
                cube.link(router, neighbour, EdgeKind.NOC, noc)


def _nearest(cube: Builder, routers: dict[str, int], node: int) -> int:
    x, y = cube.position[node]
    return min(routers.values(), key=lambda r: ((cube.position[r][0] - x) ** 2 + (cube.position[r][1] - y) ** 2, r))


def _attach(cube: Builder, spec: SipSpec, router: int, node: int, port: str) -> None:
    cube.link(router, node, EdgeKind.NOC, rate(spec, port), least_mm=spec.noc.attach_mm)


def _port(cube: Builder, spec: SipSpec, side: str, routers: list[int]) -> None:
    width, height = spec.cube.width_mm, spec.cube.height_mm
    at = {"N": (width / 2, 0.0), "S": (width / 2, height), "W": (0.0, height / 2), "E": (width, height / 2)}[side]
    port = cube.node(f"ucie_{side}", "ucie", at, *forwarding(spec, "ucie"))
    for i, router in enumerate(routers):
        x, y = cube.position[router]
        conn_at = (_towards(x, at[0]), (y + at[1]) / 2) if side in "NS" else ((x + at[0]) / 2, _towards(y, at[1]))
        conn = cube.node(f"ucie_{side}.conn{i}", "conn", conn_at)
        cube.link(router, conn, EdgeKind.UCIE, rate(spec, "ucie.gbs"))
        cube.link(conn, port, EdgeKind.UCIE, rate(spec, "ucie.gbs"), penalty=PORT_PENALTY)


def _towards(start: float, end: float) -> float:
    """A point between a router and its port, so that a connection there makes the path no longer."""
    return start + max(-CONN_SHIFT_MM, min(CONN_SHIFT_MM, (end - start) / 2))


def _outward(cube: Builder, spec: SipSpec, router: int) -> float:
    return -spec.noc.attach_mm if cube.position[router][1] < spec.cube.height_mm / 2 else spec.noc.attach_mm


def _slice(cube: Builder, spec: SipSpec, pe: int, router: int) -> None:
    x, y = cube.position[router]
    node = cube.node(f"hbm_ctrl.pe{pe}", "hbm_ctrl", (x, y - _outward(cube, spec, router)))
    hbm = spec.hbm
    _attach(cube, spec, router, node, "noc.gbs")
    cube.memory(
        node,
        stripes=hbm.channels,
        rate=rate(spec, "hbm.channel_gbs"),
        quantum_bytes=hbm.burst_bytes,
        turn=time(spec, "hbm.turn_fs"),
        overhead=time(spec, "hbm.overhead_fs"),
    )


def _pe(cube: Builder, spec: SipSpec, pe: int, router: int) -> None:
    x, y = cube.position[router]
    outward = _outward(cube, spec, router)
    away = math.copysign(PART_PITCH_MM, outward)
    prefix = f"pe{pe}.pe_"
    part: dict[str, int] = {}
    for name in PE_PARTS:
        column, row = _AT[name]
        at = (x + PART_PITCH_MM * column, y + outward + away * row)
        part[name] = cube.node(prefix + name, f"pe_{name}", at, *forwarding(spec, f"pe_{name}"))
    for name, kind, port in (
        ("dma", EdgeKind.NOC, "pe_dma.gbs"),
        ("cpu", EdgeKind.COMMAND, "noc.gbs"),
        ("mmu", EdgeKind.COMMAND, "noc.gbs"),
    ):  # equally long, so that no path from a router to one of them passes another
        cube.link(router, part[name], kind, rate(spec, port), um=round(1000 * spec.noc.attach_mm))
    chain = Rate(spec.pe_tcm.chain_gbs(), Source("pe_tcm.read_gbs", Origin("pe_tcm.read_gbs", 1)))
    for a, b in _CHAINING:
        cube.link(part[a], part[b], EdgeKind.PE, chain, um=0)
    for name in ONE_SERVER:
        cube.server(prefix + name, name, getattr(spec, f"pe_{name}").slots())
    for name in READ_WRITE:
        for way in ("read", "write"):
            cube.server(f"{prefix}{name}.{way}", f"{name}_{way}", getattr(spec, f"pe_{name}").slots(way))
