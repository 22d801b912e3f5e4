"""The family `tensix`: a chip of Tensix cores, DRAM and Ethernet tiles at their places on two networks.

Each network is a torus whose links lead one way: the first goes east, then south, the second north, then west. A core has an
interface on each, and both lead to its L1. A DRAM bank is behind one of the ports of its controller, on both networks. What a
core moves to or from DRAM begins or ends behind its interface, on a link with a rate of its own, from however many banks. The
link to a memory has a weight that no way over a network reaches, so a route leads through a memory only where no other does,
and is refused (`shortest_paths`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kernbench.machine.builder import Builder
from kernbench.machine.families.tensix.places import (
    NETWORKS,
    REPLY_PORTS,
    TensixShape,
    bank_interface_name,
    bank_name,
    dram_side_name,
    interface_name,
    l1_name,
    reply_server_name,
    router_name,
    server_name,
)
from kernbench.machine.families.tensix.spec import TensixSpec
from kernbench.machine.intents import EdgeKind
from kernbench.machine.machine import Machine
from kernbench.machine.network.flow_control import Dateline, FlowControl, PortControl
from kernbench.machine.network.flow_control_spec import build_flow_control
from kernbench.machine.network.rings import Ring, check_classes, check_rings
from kernbench.machine.sheets.quantities import NO_TIME, list_figure_origins, list_figures, rate, time
from kernbench.units import FS_PER_NS

PITCH_MM = 1.0  # for pictures
_MEMORY_PENALTY = 10**9  # more than any way over a network
_EAST, _WEST, _SOUTH, _NORTH, _LOCAL = range(5)
_MEMORIES = ("l1", "dram")
_HALVES = 2  # of the virtual channels, which a dateline divides
ENGINES = ("unpack", "matrix", "vector", "pack")


def expand(spec: TensixSpec, name: str, digest: str) -> Machine:
    """The machine of a checked topology of family `tensix`."""
    builder = Builder()
    routers = _networks(builder, spec)
    for y in spec.rows:
        for x in spec.columns:
            _worker(builder, spec, routers, x, y)
    for controller, ports in enumerate(spec.dram):
        for bank in range(spec.tensix_dram.banks):
            _bank(builder, spec, routers, controller * spec.tensix_dram.banks + bank, ports[spec.bank_ports[bank]])
    for x, y in ((x, y) for y in spec.rows for x in spec.columns):
        _replies(builder, spec, x, y)
    shape = TensixShape(
        width=spec.width,
        height=spec.height,
        columns=tuple(spec.columns),
        rows=tuple(spec.rows),
        banks=len(spec.dram) * spec.tensix_dram.banks,
        bank_places=tuple(
            x + y * spec.width for ports in spec.dram for x, y in (ports[port] for port in spec.bank_ports)
        ),
        dram=tuple(x + y * spec.width for ports in spec.dram for x, y in ports),
        ethernet=tuple(x + y * spec.width for x, y in spec.ethernet),
    )
    machine = builder.finish(
        name=name,
        family=spec.family,
        digest=digest,
        flit_bytes=spec.flit_bytes,
        ns_per_mm=0.0,
        figures=list_figures(spec),
        origins=list_figure_origins(spec),
        shape=shape,
        flow_control=_flow_control(spec),
    )
    return replace(machine, port_class=np.array([kind in _MEMORIES for kind in machine.node_kind], np.uint8))


def _flow_control(spec: TensixSpec) -> FlowControl | None:
    """The flow control of a chip, checked; None if its queues have no limit. Errors: InputError if packets may stand still."""
    ports, memory = (spec.tensix_port, spec.tensix_memory_port), spec.tensix_memory_port
    more = {"queue_flits": memory.queue_flits, "reply_packets": memory.reply_packets}
    found = build_flow_control(spec, tuple(map(PortControl.of, ports)), dateline=Dateline.CROSS, layers=_HALVES, **more)
    if found:
        check_classes(found)
        remedy = "set tensix_port.virtual_channels to 4 or more: requests and replies, before and after the dateline"
        check_rings(_rings(spec), found, spec.tensix_port.virtual_channels, remedy)
    return found


def _rings(spec: TensixSpec) -> list[Ring]:
    """A row and a column of each network. All others are alike."""
    found = list[Ring]()
    for network, step in ((0, 1), (1, -1)):
        row = tuple(router_name(network, x, 0) for x in range(spec.width))
        column = tuple(router_name(network, 0, y) for y in range(spec.height))
        found += [Ring(row, (step,), spec.width - 1), Ring(column, (step,), spec.height - 1)]
    return found


def _fs(ns: float) -> int:
    return round(ns * FS_PER_NS)


def _networks(builder: Builder, spec: TensixSpec) -> dict[tuple[int, int, int], int]:
    """The routers of both networks by (network, x, y).

    Of equally long paths the one with the earlier last link wins: so the first network turns last into a column, the second
    into a row.
    """
    noc, places = spec.tensix_noc, [(x, y) for y in range(spec.height) for x in range(spec.width)]
    routers = {
        (network, x, y): builder.node(router_name(network, x, y), "router", (x * PITCH_MM, y * PITCH_MM))
        for network in range(NETWORKS)
        for x, y in places
    }
    hop = (_fs(noc.hop_ns), _fs(noc.hop_ns))
    down, right = (0, 1, (_SOUTH, _NORTH)), (1, 0, (_EAST, _WEST))
    for network, steps in ((0, (down, right)), (1, (right, down))):
        for dx, dy, ports in steps:
            for x, y in places:
                to = ((x + dx) % spec.width, (y + dy) % spec.height)
                if to == (x, y):
                    continue
                first, second = routers[network, x, y], routers[network, *to]
                builder.link(
                    second if network else first,
                    first if network else second,
                    EdgeKind.NOC,
                    rate(spec, "tensix_noc.gbs"),
                    um=round(1000 * spec.hop_mm),
                    delays_fs=hop,
                    one_way=True,
                    ports=(ports[1], ports[0]) if network else ports,
                )
    return routers


def _interfaces(
    builder: Builder,
    spec: TensixSpec,
    routers: dict[tuple[int, int, int], int],
    place: tuple[int, int],
    memory: int,
    names: Sequence[str],
    part: str,
) -> list[int]:
    """The interfaces between the routers of a place and the memory there, of which `part` is "core" or "dram"."""
    noc, (x, y), made = spec.tensix_noc, place, list[int]()
    for network, name in enumerate(names):
        interface = builder.node(name, "interface", (x * PITCH_MM, y * PITCH_MM))
        outer, inner = _fs(noc.interface_ns), _fs(noc.memory_ns)
        builder.link(
            routers[network, x, y],
            interface,
            EdgeKind.NOC,
            rate(spec, "tensix_noc.gbs"),
            delays_fs=(outer, outer),
            ports=(_LOCAL, _LOCAL),
        )
        builder.link(
            interface,
            memory,
            EdgeKind.NOC,
            rate(spec, f"tensix_noc.{part}_write_gbs"),
            back=rate(spec, f"tensix_noc.{part}_read_gbs"),
            penalty=_MEMORY_PENALTY,
            delays_fs=(inner, inner),
        )
        made.append(interface)
    return made


def _worker(builder: Builder, spec: TensixSpec, routers: dict[tuple[int, int, int], int], x: int, y: int) -> None:
    """A core: its L1, its interfaces, each with a server for its reads and one for its writes, and its engines."""
    at = (x * PITCH_MM, y * PITCH_MM)
    l1 = builder.node(l1_name(x, y), "l1", at)
    names = [interface_name(network, x, y) for network in range(NETWORKS)]
    interfaces = _interfaces(builder, spec, routers, (x, y), l1, names, "core")
    for network, interface in enumerate(interfaces):
        behind = builder.node(dram_side_name(network, x, y), "interface", at)
        builder.link(interface, behind, EdgeKind.NOC, rate(spec, "tensix_noc.core_dram_gbs"), delays_fs=(0, 0))
    for name in names:
        builder.server(f"{name}.read", "dma_read", spec.tensix_noc.outstanding)
        builder.server(f"{name}.write", "dma_write", spec.tensix_noc.outstanding)
    builder.memory(l1, stripes=1, rate=rate(spec, "tensix_core.l1_gbs"), quantum_bytes=16, overhead=NO_TIME)
    for engine in ENGINES:
        builder.server(server_name(engine, x, y), engine)


def _replies(builder: Builder, spec: TensixSpec, x: int, y: int) -> None:
    """The servers of replies at the interfaces of a core, one for the requests of each port."""
    for network in range(NETWORKS):
        for port in REPLY_PORTS:
            builder.server(reply_server_name(network, x, y, port), "reply", spec.tensix_noc.replies)


def _bank(
    builder: Builder, spec: TensixSpec, routers: dict[tuple[int, int, int], int], bank: int, place: tuple[int, int]
) -> None:
    memory = builder.node(bank_name(bank), "dram", (place[0] * PITCH_MM, place[1] * PITCH_MM))
    names = [bank_interface_name(bank, network) for network in range(NETWORKS)]
    _interfaces(builder, spec, routers, place, memory, names, "dram")
    builder.memory(
        memory,
        stripes=1,
        rate=rate(spec, "tensix_dram.bank_gbs"),
        quantum_bytes=spec.tensix_dram.burst_bytes,
        overhead=time(spec, "tensix_dram.access_fs"),
    )
