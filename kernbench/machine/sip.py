"""The family `sip`: tray → SIP (a package) → cubes and IO chiplet → routers, memories and PEs.

A cube is built once and pasted w × h times into a SIP, which is pasted once for each SIP of the tray. Row 0 is in the north,
beside the IO chiplet: port i of the chiplet joins the north port of the cube in column i.
"""

from __future__ import annotations

from kernbench.components.part import Section, plain
from kernbench.machine.builder import Builder
from kernbench.machine.costs import FLOP
from kernbench.machine.intents import IO_PENALTY, EdgeKind
from kernbench.machine.machine import Machine
from kernbench.machine.part_index import Shape
from kernbench.machine.quantities import list_figure_origins, rate
from kernbench.machine.sip_cube import build_cube, forwarding, router_at
from kernbench.machine.sip_spec import SipSpec
from kernbench.units import FS_PER_NS


def expand_sip(spec: SipSpec, name: str, digest: str) -> Machine:
    """The machine of a checked topology of family `sip`."""
    builder = Builder()
    cell, (width, height) = _sip(spec), _sip_mm(spec)
    across, down = spec.sips.grid()
    gap = spec.sips.gap_mm
    switch_at = ((across * (width + gap) - gap) / 2, -gap)
    switch = builder.node("switch", "switch", switch_at, *forwarding(spec, "switch"))
    for sip in range(spec.sips.count):
        shift = builder.paste(cell, f"sip{sip}.", (sip % across * (width + gap), sip // across * (height + gap)))
        pcie_ep = shift + cell.names.index("io0.pcie_ep")
        builder.link(pcie_ep, switch, EdgeKind.PCIE, rate(spec, "pcie_ep.gbs"))
    return builder.finish(
        name=name,
        family=spec.family,
        digest=digest,
        flit_bytes=spec.flit_bytes,
        ns_per_mm=spec.ns_per_mm,
        figures=figures(spec),
        origins=list_figure_origins(spec),
        shape=Shape(
            sip_count=spec.sips.count,
            sip_w=across,
            sip_h=down,
            sip_topology=spec.sips.wiring,
            cube_w=spec.sip.cubes.w,
            cube_h=spec.sip.cubes.h,
            pes_per_cube=spec.cube.pes,
            pe_routers=spec.cube.grid.pe_routers[: spec.cube.pes],
            slice_bytes=spec.hbm.slice_bytes,
            sram_bytes=spec.sram.bytes,
            tcm_bytes=spec.pe_tcm.bytes,
            address_model=spec.mmu.model,
        ),
    )


def figures(spec: SipSpec) -> dict[str, float]:
    """All figures of a topology, by "<part>.<figure>"."""
    found: dict[str, float] = {"zero": 0.0, FLOP: 0.0, "ns": float(FS_PER_NS)}
    for part, section in spec:
        if isinstance(section, Section):
            found |= {f"{part}.{figure}": plain(value) for figure, value in section.figures().items()}
    return found


def _sip_mm(spec: SipSpec) -> tuple[float, float]:
    cubes, gap = spec.sip.cubes, spec.sip.gap_mm
    return cubes.w * (spec.cube.width_mm + gap) - gap, spec.sip.io_chiplet_mm + cubes.h * (spec.cube.height_mm + gap)


def _sip(spec: SipSpec) -> Builder:
    sip, cube = Builder(), build_cube(spec)
    cubes, gap = spec.sip.cubes, spec.sip.gap_mm
    ports: dict[tuple[int, int, str], int] = {}
    for row in range(cubes.h):
        for col in range(cubes.w):
            top = spec.sip.io_chiplet_mm + gap + row * (spec.cube.height_mm + gap)
            at = (col * (spec.cube.width_mm + gap), top)
            shift = sip.paste(cube, f"cube{row * cubes.w + col}.", at)
            for side in "NSWE":
                ports[row, col, side] = shift + cube.names.index(f"ucie_{side}")
    for row in range(cubes.h - 1):
        for col in range(cubes.w):
            _join(sip, spec, ports[row, col, "S"], ports[row + 1, col, "N"], len(spec.cube.grid.sides["N"]))
    for row in range(cubes.h):
        for col in range(cubes.w - 1):
            _join(sip, spec, ports[row, col, "E"], ports[row, col + 1, "W"], len(spec.cube.grid.sides["E"]))
    _io_chiplet(sip, spec, [ports[0, col, "N"] for col in range(cubes.w)])
    return sip


def _join(sip: Builder, spec: SipSpec, a: int, b: int, connections: int) -> None:
    sip.link(a, b, EdgeKind.UCIE, rate(spec, "ucie.gbs", connections), least_mm=spec.sip.gap_mm)


def _io_chiplet(sip: Builder, spec: SipSpec, cube_ports: list[int]) -> None:
    width, height = _sip_mm(spec)[0], spec.sip.io_chiplet_mm
    noc = sip.node("io0.io_noc", "io_noc", (width / 2, height / 2), *forwarding(spec, "io_noc"))
    pcie_ep = sip.node("io0.pcie_ep", "pcie_ep", (width / 2, 0.0), *forwarding(spec, "pcie_ep"))
    io_cpu = sip.node("io0.io_cpu", "io_cpu", (width / 2 + height / 2, height / 2), *forwarding(spec, "io_cpu"))
    sip.server("io0.pcie_ep", "cpu", spec.pcie_ep.slots())
    sip.server("io0.io_cpu", "cpu", spec.io_cpu.slots())
    sip.link(noc, pcie_ep, EdgeKind.IO, rate(spec, "pcie_ep.gbs"))
    sip.link(noc, io_cpu, EdgeKind.COMMAND, rate(spec, "pcie_ep.gbs"))
    for column, cube_port in enumerate(cube_ports):
        left = column * (spec.cube.width_mm + spec.sip.gap_mm)
        at = (left + spec.cube.width_mm / 2, height)
        port = sip.node(f"io0.io_ucie{column}", "io_ucie", at, *forwarding(spec, "ucie"))
        for i, router in enumerate(spec.cube.grid.sides["N"]):
            conn_at = (left + router_at(spec, router)[0], height * 0.75)
            conn = sip.node(f"io0.io_ucie{column}.conn{i}", "conn", conn_at)
            sip.link(noc, conn, EdgeKind.IO, rate(spec, "ucie.gbs"))
            sip.link(conn, port, EdgeKind.IO, rate(spec, "ucie.gbs"), penalty=IO_PENALTY)
        _join(sip, spec, port, cube_port, len(spec.cube.grid.sides["N"]))
