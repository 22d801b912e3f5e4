"""The family `sip`: tray → SIP (a package) → cubes and IO chiplets → routers, memories and PEs.

A cube is built once and pasted w × h times into a SIP, which is pasted once for each SIP of the tray; row 0 is in the north.
SIPs are joined by a switch, to which every PCIe endpoint is linked, or by direct links between ports of their IO chiplets.
"""

from __future__ import annotations

from kernbench.limits.memory_budget import check_fits
from kernbench.machine.builder import Builder
from kernbench.machine.costs import FLOP
from kernbench.machine.families.sip.channels import find_flow_control, with_layers
from kernbench.machine.families.sip.cube import build_cube, forwarding
from kernbench.machine.families.sip.io_chiplet import add_io_chiplets, cubes_mm, sip_mm
from kernbench.machine.families.sip.network import OPPOSITE, SipNetwork, link_chiplets
from kernbench.machine.families.sip.places import SipShape
from kernbench.machine.families.sip.spec import SipSpec
from kernbench.machine.intents import SIP_PENALTY, EdgeKind
from kernbench.machine.machine import Machine
from kernbench.machine.sheets.quantities import list_figure_origins, list_figures, rate

BYTES_A_PE = 47_000  # at the peak, measured on machines of 1,000 to 33,000 PEs: 47 to 51 KB


def expand(spec: SipSpec, name: str, digest: str) -> Machine:
    """The machine of a checked topology of family `sip`. Errors: LimitError if this computer's memory cannot hold it."""
    pes = spec.sips.count * spec.sip.cubes.w * spec.sip.cubes.h * spec.cube.pes
    check_fits(pes * BYTES_A_PE, f"a machine of {pes:,} PEs", "give it fewer SIPs, cubes or PEs")
    builder = Builder()
    across, down = spec.sips.grid()
    network = SipNetwork.of(spec.sips.grid_topology, across, down) if spec.sips.wiring == "direct" else None
    cell, (width, height), gap = _sip(spec, network), sip_mm(spec), spec.sips.gap_mm
    places = [(sip % across * (width + gap), sip // across * (height + gap)) for sip in range(spec.sips.count)]
    if network is None:
        switch_at = ((across * (width + gap) - gap) / 2, -gap)
        switch = builder.node("switch", "switch", switch_at, *forwarding(spec, "switch"))
        for sip, at in enumerate(places):
            _link_to_switch(builder, spec, cell, builder.paste(cell, f"sip{sip}.", at), switch)
    else:
        shifts = [builder.paste(cell, f"sip{sip}.", at) for sip, at in enumerate(places)]
        _link_directly(builder, spec, cell, shifts, network)
    machine = builder.finish(
        name=name,
        family=spec.family,
        digest=digest,
        flit_bytes=spec.flit_bytes,
        ns_per_mm=spec.ns_per_mm,
        figures=list_figures(spec, FLOP),
        origins=list_figure_origins(spec),
        shape=SipShape(
            sip_count=spec.sips.count,
            sip_w=across,
            sip_h=down,
            sip_topology=spec.sips.grid_topology,
            sip_wiring=spec.sips.wiring,
            io_sides=spec.sip.sides,
            cube_w=spec.sip.cubes.w,
            cube_h=spec.sip.cubes.h,
            pes_per_cube=spec.cube.pes,
            pe_routers=spec.cube.grid.pe_routers[: spec.cube.pes],
            slice_bytes=spec.hbm.slice_bytes,
            sram_bytes=spec.sram.bytes,
            tcm_bytes=spec.pe_tcm.bytes,
            address_model=spec.mmu.model,
        ),
        flow_control=find_flow_control(spec),
    )
    return with_layers(machine)


def _link_to_switch(builder: Builder, spec: SipSpec, cell: Builder, shift: int, switch: int) -> None:
    """Link the PCIe endpoints of a SIP to the switch."""
    for chiplet in range(spec.sip.io_chiplets):
        pcie_ep = shift + cell.names.index(f"io{chiplet}.pcie_ep")
        builder.link(pcie_ep, switch, EdgeKind.PCIE, rate(spec, "pcie_ep.gbs"), penalty=SIP_PENALTY)


def _link_directly(builder: Builder, spec: SipSpec, cell: Builder, shifts: list[int], network: SipNetwork) -> None:
    """Link the ports of neighbouring SIPs that face each other."""
    chiplets = link_chiplets(spec.sip.sides, network.directions)
    port = {way: cell.names.index(f"io{chiplet}.sip_link_{way}") for way, chiplet in chiplets.items()}
    for sip, way, to in network.links():
        ends = shifts[sip] + port[way], shifts[to] + port[OPPOSITE[way]]
        builder.link(*ends, EdgeKind.SIP, rate(spec, "sip_link.gbs"), penalty=SIP_PENALTY)


def _sip(spec: SipSpec, network: SipNetwork | None) -> Builder:
    sip, cube = Builder(), build_cube(spec)
    cubes, gap, (left, top) = spec.sip.cubes, spec.sip.gap_mm, cubes_mm(spec)
    ports: dict[tuple[int, int, str], int] = {}
    for row in range(cubes.h):
        for col in range(cubes.w):
            at = (left + col * (spec.cube.width_mm + gap), top + row * (spec.cube.height_mm + gap))
            shift = sip.paste(cube, f"cube{row * cubes.w + col}.", at)
            for side in "NSWE":
                ports[row, col, side] = shift + cube.names.index(f"ucie_{side}")
    for row in range(cubes.h - 1):
        for col in range(cubes.w):
            _join(sip, spec, ports[row, col, "S"], ports[row + 1, col, "N"], len(spec.cube.grid.sides["N"]))
    for row in range(cubes.h):
        for col in range(cubes.w - 1):
            _join(sip, spec, ports[row, col, "E"], ports[row, col + 1, "W"], len(spec.cube.grid.sides["E"]))
    add_io_chiplets(sip, spec, ports, network)
    return sip


def _join(sip: Builder, spec: SipSpec, a: int, b: int, connections: int) -> None:
    sip.link(a, b, EdgeKind.UCIE, rate(spec, "ucie.gbs", connections), least_mm=spec.sip.gap_mm)
