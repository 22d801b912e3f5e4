"""The family `sip`: tray → package → cubes and IO chiplet → routers, memories and PEs.

A cube is built once and pasted w × h times into a package, the package once for each in the tray. Inside a cube vertical
links come before horizontal ones, so that routing goes horizontally first (see `builder`). Row 0 is in the north, where
the IO chiplet stands: its port i joins the north port of the cube in column i.
"""

from __future__ import annotations

from kernbench.components.part import Section
from kernbench.machine.builder import Builder
from kernbench.machine.intents import IO_PENALTY, PORT_PENALTY, EdgeKind
from kernbench.machine.machine import Machine
from kernbench.machine.places import ONE_SERVER, PE_PARTS, READ_WRITE, Shape
from kernbench.machine.sip_spec import SipSpec, parse_router
from kernbench.units import FS_PER_NS

PART_PITCH_MM = 0.2  # between the nine parts of a PE, for drawing


def expand(spec: SipSpec, name: str, digest: str) -> Machine:
    """The machine of a checked topology."""
    builder = Builder()
    package, width, height = _package(spec), *_package_mm(spec)
    across, down = spec.sips.grid()
    gap = spec.sips.gap_mm
    switch_at = ((across * (width + gap) - gap) / 2, -gap)
    switch = builder.node("switch", "switch", switch_at, spec.switch.overhead_fs)
    for sip in range(spec.sips.count):
        shift = builder.paste(package, f"sip{sip}.", (sip % across * (width + gap), sip // across * (height + gap)))
        pcie_ep = shift + package.names.index("io0.pcie_ep")
        builder.link(pcie_ep, switch, EdgeKind.PCIE, spec.pcie_ep.gbs)
    return builder.finish(
        name=name,
        family=spec.family,
        digest=digest,
        flit_bytes=spec.flit_bytes,
        ns_per_mm=spec.ns_per_mm,
        figures=figures(spec),
        shape=Shape(
            sip_count=spec.sips.count,
            sip_w=across,
            sip_h=down,
            sip_topology=spec.sips.topology,
            cube_w=spec.sip.cubes.w,
            cube_h=spec.sip.cubes.h,
            pes_per_cube=spec.cube.pes,
            pe_routers=tuple(spec.cube.pe_routers[: spec.cube.pes]),
            slice_bytes=spec.hbm.slice_bytes,
        ),
    )


def figures(spec: SipSpec) -> dict[str, float]:
    """All figures of a topology, by "<part>.<figure>"."""
    found: dict[str, float] = {"zero": 0.0, "ns": float(FS_PER_NS)}
    for part, section in spec:
        if isinstance(section, Section):
            found |= {f"{part}.{figure}": value for figure, value in section.figures().items()}
    return found


def _package_mm(spec: SipSpec) -> tuple[float, float]:
    cubes, gap = spec.sip.cubes, spec.sip.gap_mm
    return cubes.w * (spec.cube.width_mm + gap) - gap, spec.sip.io_chiplet_mm + cubes.h * (spec.cube.height_mm + gap)


def _package(spec: SipSpec) -> Builder:
    package, cube = Builder(), _cube(spec)
    cubes, gap = spec.sip.cubes, spec.sip.gap_mm
    ports: dict[tuple[int, int, str], int] = {}
    for row in range(cubes.h):
        for col in range(cubes.w):
            top = spec.sip.io_chiplet_mm + gap + row * (spec.cube.height_mm + gap)
            at = (col * (spec.cube.width_mm + gap), top)
            shift = package.paste(cube, f"cube{row * cubes.w + col}.", at)
            for side in "NSWE":
                ports[row, col, side] = shift + cube.names.index(f"ucie_{side}")
    for row in range(cubes.h - 1):
        for col in range(cubes.w):
            _join(package, spec, ports[row, col, "S"], ports[row + 1, col, "N"], len(spec.cube.ucie.N))
    for row in range(cubes.h):
        for col in range(cubes.w - 1):
            _join(package, spec, ports[row, col, "E"], ports[row, col + 1, "W"], len(spec.cube.ucie.E))
    _io_chiplet(package, spec, [ports[0, col, "N"] for col in range(cubes.w)])
    return package


def _join(package: Builder, spec: SipSpec, a: int, b: int, connections: int) -> None:
    package.link(a, b, EdgeKind.UCIE, connections * spec.ucie.gbs, least_mm=spec.sip.gap_mm)


def _io_chiplet(package: Builder, spec: SipSpec, cube_ports: list[int]) -> None:
    width, height = _package_mm(spec)[0], spec.sip.io_chiplet_mm
    noc = package.node("io0.io_noc", "io_noc", (width / 2, height / 2), spec.io_noc.overhead_fs)
    pcie_ep = package.node("io0.pcie_ep", "pcie_ep", (width / 2, 0.0), spec.pcie_ep.overhead_fs, whole=True)
    io_cpu = package.node(
        "io0.io_cpu", "io_cpu", (width / 2 + height / 2, height / 2), spec.io_cpu.overhead_fs, whole=True
    )
    package.server("io0.pcie_ep", "cpu")
    package.server("io0.io_cpu", "cpu")
    package.link(noc, pcie_ep, EdgeKind.IO, spec.pcie_ep.gbs)
    package.link(noc, io_cpu, EdgeKind.COMMAND, spec.pcie_ep.gbs)
    for column, cube_port in enumerate(cube_ports):
        left = column * (spec.cube.width_mm + spec.sip.gap_mm)
        at = (left + spec.cube.width_mm / 2, height)
        port = package.node(f"io0.io_ucie{column}", "io_ucie", at, spec.ucie.overhead_fs)
        for i, router in enumerate(spec.cube.ucie.N):
            conn_at = (left + _router_at(spec, router)[0], height * 0.75)
            conn = package.node(f"io0.io_ucie{column}.conn{i}", "conn", conn_at)
            package.link(noc, conn, EdgeKind.IO, spec.ucie.gbs)
            package.link(conn, port, EdgeKind.IO, spec.ucie.gbs, penalty=IO_PENALTY)
        _join(package, spec, port, cube_port, len(spec.cube.ucie.N))


def _router_at(spec: SipSpec, name: str) -> tuple[float, float]:
    row, col = parse_router(name)
    (x, y), (dx, dy) = spec.cube.origin_mm, spec.cube.pitch_mm
    return x + dx * col, y + dy * row


def _cube(spec: SipSpec) -> Builder:
    cube = Builder()
    routers = {
        name: cube.node(name, "router", _router_at(spec, name), spec.noc.overhead_fs) for name in spec.cube.routers()
    }
    _mesh(cube, spec, routers)
    m_cpu = cube.node("m_cpu", "m_cpu", spec.cube.m_cpu_mm, spec.m_cpu.overhead_fs, whole=True)
    cube.server("m_cpu", "cpu")
    _attach(cube, spec, _nearest(cube, routers, m_cpu), m_cpu, spec.noc.gbs)
    sram = cube.node("sram", "sram", spec.cube.sram_mm)
    _attach(cube, spec, _nearest(cube, routers, sram), sram, spec.sram.gbs)
    cube.memory(sram, stripes=1, gbs=spec.sram.gbs, quantum_bytes=1, turn_fs=0, overhead_fs=spec.sram.overhead_fs)
    for side, names in spec.cube.ucie:
        _port(cube, spec, side, [routers[name] for name in names])
    for pe, name in enumerate(spec.cube.pe_routers[: spec.cube.pes]):
        _slice(cube, spec, pe, routers[name])
        _pe(cube, spec, pe, routers[name])
    return cube


def _mesh(cube: Builder, spec: SipSpec, routers: dict[str, int]) -> None:
    for down, right in ((1, 0), (0, 1)):
        for name, router in routers.items():
            row, col = parse_router(name)
            neighbour = routers.get(f"r{row + down}c{col + right}")
            if neighbour is not None:
                cube.link(router, neighbour, EdgeKind.NOC, spec.noc.gbs)


def _nearest(cube: Builder, routers: dict[str, int], node: int) -> int:
    x, y = cube.position[node]
    return min(routers.values(), key=lambda r: ((cube.position[r][0] - x) ** 2 + (cube.position[r][1] - y) ** 2, r))


def _attach(cube: Builder, spec: SipSpec, router: int, node: int, gbs: float) -> None:
    cube.link(router, node, EdgeKind.NOC, gbs, least_mm=spec.noc.attach_mm)


def _port(cube: Builder, spec: SipSpec, side: str, routers: list[int]) -> None:
    width, height = spec.cube.width_mm, spec.cube.height_mm
    at = {"N": (width / 2, 0.0), "S": (width / 2, height), "W": (0.0, height / 2), "E": (width, height / 2)}[side]
    port = cube.node(f"ucie_{side}", "ucie", at, spec.ucie.overhead_fs)
    for i, router in enumerate(routers):
        x, y = cube.position[router]
        conn_at = (x, (y + at[1]) / 2) if side in "NS" else ((x + at[0]) / 2, y)
        conn = cube.node(f"ucie_{side}.conn{i}", "conn", conn_at)
        cube.link(router, conn, EdgeKind.UCIE, spec.ucie.gbs)
        cube.link(conn, port, EdgeKind.UCIE, spec.ucie.gbs, penalty=PORT_PENALTY)


def _outward(cube: Builder, spec: SipSpec, router: int) -> float:
    return -spec.noc.attach_mm if cube.position[router][1] < spec.cube.height_mm / 2 else spec.noc.attach_mm


def _slice(cube: Builder, spec: SipSpec, pe: int, router: int) -> None:
    x, y = cube.position[router]
    node = cube.node(f"hbm_ctrl.pe{pe}", "hbm_ctrl", (x, y - _outward(cube, spec, router)))
    hbm = spec.hbm
    _attach(cube, spec, router, node, spec.noc.gbs)
    cube.memory(
        node,
        stripes=hbm.channels,
        gbs=hbm.channel_gbs,
        quantum_bytes=hbm.burst_bytes,
        turn_fs=round(hbm.turn_ns * FS_PER_NS),
        overhead_fs=hbm.overhead_fs,
    )


def _pe(cube: Builder, spec: SipSpec, pe: int, router: int) -> None:
    x, y = cube.position[router]
    y += _outward(cube, spec, router)
    prefix = f"pe{pe}.pe_"
    part = {}
    for i, name in enumerate(PE_PARTS):
        at = (x + PART_PITCH_MM * (i % 3 - 1), y + PART_PITCH_MM * (i // 3 - 1))
        overhead_fs = getattr(getattr(spec, f"pe_{name}"), "overhead_fs", 0)
        part[name] = cube.node(prefix + name, f"pe_{name}", at, overhead_fs)
    for name, kind, gbs in (
        ("dma", EdgeKind.NOC, spec.pe_dma.gbs),
        ("cpu", EdgeKind.COMMAND, spec.noc.gbs),
        ("mmu", EdgeKind.COMMAND, spec.noc.gbs),
    ):  # of one length, so that no way from a router to one of them leads through another
        cube.link(router, part[name], kind, gbs, um=round(1000 * spec.noc.attach_mm))
    for a, b in _CHAINING:
        cube.link(part[a], part[b], EdgeKind.PE, spec.pe_tcm.read_gbs, um=0)
    slots = {"dma.read": spec.pe_dma.read_channels, "dma.write": spec.pe_dma.write_channels}
    for name in (*ONE_SERVER, *(f"{name}.{way}" for name in READ_WRITE for way in ("read", "write"))):
        cube.server(prefix + name, name.replace(".", "_"), slots.get(name, 1))


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
