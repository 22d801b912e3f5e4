"""Flow routing: from the names of two parts to a route and to the agent that issues the transfer.

A *PE* issues as for a `tl.load` or `tl.store`: its CPU, scheduler and address translation first, then its DMA, which holds one
channel for the whole round trip. As a destination it is its slice of HBM. A *CPU* acts once and then lets the transfer go: a
`pcie_ep`, which is also the `host` of its SIP, an `io_cpu` or an `m_cpu`. Any other *node* sends without an act.

A destination that is no memory receives a message. A read of it is a request, which pays the wires only, and a message back.
An endpoint of a mesh may be both ends of a flow, which then passes its router alone. Messages of a mesh may be acknowledged.

A multicast is one flow to several destinations, all of them memories or none. On a mesh they may be rectangles of nodes.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.errors import InputError, KernBenchError, shorten, suggest
from kernbench.machine.families.mesh.places import MeshPlaces
from kernbench.machine.families.sip.places import pe_path, sip_path
from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.ops import NONE
from kernbench.traffic.flows import MANY, RECTANGLE

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.traffic.flows import Flows

HOST = "host"
CPUS = ("pcie_ep", "io_cpu", "m_cpu")
_PE = re.compile(r"sip\d+\.cube\d+\.pe\d+")
_SIP = re.compile(r"sip(\d+)\.")


class Agent(IntEnum):
    """The kind of part that issues a flow."""

    NODE = 0
    CPU = 1
    PE = 2


class FlowRoute(NamedTuple):
    """The route and the issuer of all flows from one part to another in one direction."""

    agent: int
    issuer: int  # node: the DMA, the CPU, or where the bytes come from
    hold: int  # server, or NONE
    route: int
    request_fs: int  # before the bytes of a read from what is no memory begin to move
    source: int  # node: where the flow starts, of a read its request


def find_flow_routes(machine: Machine, flows: Flows) -> tuple[np.ndarray, np.ndarray]:
    """int64[n, 6] the columns of `FlowRoute`, and int64[flow] the row of each flow; each pair of parts is routed once.

    Errors: InputError naming the first flow with an unknown part, or between parts that no route joins.
    """
    key = (flows.src * len(flows.names) + flows.dst) * 2 + flows.read
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    finder = _Finder(machine)
    routes = np.zeros((len(first), len(FlowRoute._fields)), np.int64)
    for row in np.argsort(first).tolist():
        flow = int(first[row])
        try:
            routes[row] = finder.find(
                flows.names[int(flows.src[flow])], flows.names[int(flows.dst[flow])], bool(flows.read[flow])
            )
        except KernBenchError as error:
            raise InputError(f"{flows.where(flow)}: {error}") from None
    return routes, which


def count_hops(machine: Machine, route: np.ndarray) -> np.ndarray:
    """int64[n] the links of each route; in a mesh those between routers."""
    tables = machine.routing.tables()
    links = np.concatenate([[0], np.cumsum(tables.station < machine.edge_count)])
    hops = links[tables.end[route]] - links[tables.start[route]]
    if not isinstance(machine.places, MeshPlaces):
        return hops
    at_source = links[tables.start[route] + 1] - links[tables.start[route]]
    return hops - at_source - np.maximum(tables.destinations[route], 1)


def find_waypoints(machine: Machine, route: int) -> list[str]:
    """The SIPs between the first and the last one of a route, or the switch; nothing on a machine without SIPs."""
    if not machine.places.sip_count:
        return []
    edges, sip_of = machine.routing.edges(route), machine.places.sip_of()
    nodes = [int(machine.edge_src[edges[0]]), *machine.edge_dst[edges].tolist()]
    passed = [machine.node_name[node] if sip_of[node] < 0 else sip_path(int(sip_of[node])) for node in nodes]
    return [name for name, _ in groupby(passed)][1:-1]


class _Finder:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        places = machine.places
        self._find_endpoint = cache(places.find_endpoint) if isinstance(places, MeshPlaces) else None

    def find(self, src: str, dst: str, read: bool) -> FlowRoute:
        """The route of flows from one part to another. Errors: InputError, UnreachableError."""
        machine = self._machine
        if MANY in dst or RECTANGLE in dst:
            return self._find_multicast(src, dst, read)
        source, agent, hold = self._source(src, dst, read)
        target = self._target(dst, src)
        if source == target and not isinstance(machine.places, MeshPlaces):
            raise InputError(f"{src} and {dst} are one part; a flow needs two")
        memory = target in machine.terminals
        of_node = Intent.M_CPU_DMA if memory and machine.node_kind[source] in CPUS else Intent.ALL
        intent = Intent.PE_DMA if agent == Agent.PE else of_node
        route = machine.routing.route
        if memory:
            kind = RouteKind.READ if read else RouteKind.WRITE
            return FlowRoute(agent, source, hold, route(source, target, intent, kind), 0, source)
        if not read:
            return FlowRoute(agent, source, hold, route(source, target, intent, self._message_kind()), 0, source)
        request = machine.routing.edges_between(source, target, intent)
        request_fs = int(machine.stations.propagation_fs[request].sum())
        issuer = source if agent else target
        return FlowRoute(agent, issuer, hold, route(target, source, intent, RouteKind.MESSAGE), request_fs, source)

    def _find_multicast(self, src: str, dst: str, read: bool) -> FlowRoute:
        machine = self._machine
        if read:
            raise InputError(f"a multicast cannot read; write to {shorten(dst)}, or read from one part at a time")
        names = [name.strip() for name in dst.split(MANY)]
        if not all(names):
            raise InputError(
                f"got {shorten(dst)!r}, where a destination of a multicast has no name; expected names with {MANY} in between"
            )
        source, agent, hold = self._source(src, names[0], read)
        targets = [target for name in names for target in self._targets(name, src)]
        memories = {target in machine.terminals for target in targets}
        if len(memories) > 1:
            raise InputError(
                f"{shorten(dst)} names memories and other parts; a multicast needs destinations of one kind"
            )
        memory = memories == {True}
        of_node = Intent.M_CPU_DMA if memory and machine.node_kind[source] in CPUS else Intent.ALL
        intent = Intent.PE_DMA if agent == Agent.PE else of_node
        kind = RouteKind.WRITE if memory else self._message_kind()
        return FlowRoute(agent, source, hold, machine.routing.multicast(source, targets, intent, kind), 0, source)

    def _targets(self, name: str, peer: str) -> list[int]:
        """The nodes of a name in a multicast: one, or those of a rectangle of a mesh."""
        places, corners = self._machine.places, [corner.strip() for corner in name.split(RECTANGLE)]
        if len(corners) == 1:
            return [self._target(name, peer)]
        if not isinstance(places, MeshPlaces) or len(corners) > 2:
            raise InputError(
                f"got {shorten(name)!r}, where {RECTANGLE} stands between two corners of a rectangle of a mesh; "
                "name the parts one by one"
            )
        return places.find_rectangle(*corners)

    def _message_kind(self) -> RouteKind:
        places = self._machine.places
        acknowledged = isinstance(places, MeshPlaces) and places.mesh.acknowledged
        return RouteKind.ACKNOWLEDGED if acknowledged else RouteKind.MESSAGE

    def _source(self, name: str, peer: str, read: bool) -> tuple[int, int, int]:
        """The node where a flow's request starts, its agent, and the server that it holds."""
        machine = self._machine
        if not isinstance(machine.places, MeshPlaces) and _PE.fullmatch(name):
            place = machine.places.pe(*machine.places.find_pe(name))
            return place.dma, Agent.PE, place.dma_read if read else place.dma_write
        node = self._node(name, peer)
        return node, Agent.CPU if machine.node_kind[node] in CPUS else Agent.NODE, NONE

    def _target(self, name: str, peer: str) -> int:
        places = self._machine.places
        if not isinstance(places, MeshPlaces) and _PE.fullmatch(name):
            return places.hbm(*places.find_pe(name))
        return self._node(name, peer)

    def _node(self, name: str, peer: str) -> int:
        machine = self._machine
        if self._find_endpoint:
            return self._find_endpoint(name)
        found = machine.node_id.get(name)
        if found is None and name == HOST:
            return self._host(peer)
        if found is None:
            raise InputError(f"machine {machine.name} has no part {name!r}{self._suggest(name)}")
        return found

    def _host(self, peer: str) -> int:
        """The PCIe endpoint of the other part's SIP that is nearest to it."""
        matched = _SIP.match(peer)
        if matched is None:
            raise InputError(f"{HOST} is one end of a flow, so the other must be in a SIP, and {peer!r} is not")
        endpoints = self._machine.places.pcie_eps(int(matched[1]))
        if len(endpoints) == 1:
            return endpoints[0]
        return self._machine.routing.nearest(endpoints, self._target(peer, HOST), Intent.ALL)

    def _suggest(self, name: str) -> str:
        places = self._machine.places
        pes = (
            pe_path(sip, cube, pe)
            for sip in range(places.sip_count)
            for cube in range(places.cubes_per_sip)
            for pe in range(places.pes_per_cube)
        )
        return suggest(name, [HOST, *pes, *self._machine.node_name], most=3)
