"""A machine as plain values and tables: what it is, its nodes, its links, and the parts that can be busy.

A link is drawn once and has two directed edges; row *l* of the links is that of the edges 2*l* and 2*l* + 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench import library
from kernbench.machine.families.sip.tray_rows import drawn_places
from kernbench.machine.intents import EdgeKind
from kernbench.machine.node_parts import parts_of_nodes
from kernbench.machine.sheets.field_values import ShownPart, show_topology

if TYPE_CHECKING:
    import polars

    from kernbench.machine.machine import Machine

LINKS = {
    EdgeKind.NOC: "network of a cube",
    EdgeKind.UCIE: "between dies",
    EdgeKind.IO: "in an IO chiplet",
    EdgeKind.PCIE: "PCIe",
    EdgeKind.COMMAND: "commands",
    EdgeKind.PE: "in a PE",
    EdgeKind.SIP: "between SIPs",
}


def tell_machine(machine: Machine) -> dict[str, Any]:
    """What a machine is, in plain values for JSON: name, family, file, description, the parts' figures, kinds of links."""
    shown = None if machine.file is None else show_topology(machine.file, machine.overrides)
    return {
        "name": machine.name,
        "family": machine.family,
        "file": library.show_path(shown.file) if shown else "",
        "description": shown.description if shown else "",
        "parts": {name: _tell_part(part) for name, part in shown.parts.items()} if shown else {},
        "links": [LINKS.get(kind, "") for kind in EdgeKind],
    }


def _tell_part(part: ShownPart) -> dict[str, Any]:
    fields = [
        {"name": one.name, "value": one.written, "source": one.source, "place": one.short_place}
        for one in part.fields
        if one.value is not None
    ]
    return {"description": part.description, "sheet": library.show_path(part.sheet), "fields": fields}


def make_node_table(machine: Machine) -> polars.DataFrame:
    """Nodes: name, kind, part whose figures it has ("" for none), x and y in mm where it is drawn."""
    import polars

    x_mm, y_mm = drawn_places(machine)
    return polars.DataFrame(
        {
            "name": list(machine.node_name),
            "kind": list(machine.node_kind),
            "part": parts_of_nodes(machine),
            "x": x_mm,
            "y": y_mm,
        }
    )


def make_link_table(machine: Machine) -> polars.DataFrame:
    """Links: source and target as rows of nodes, kind, bandwidth in GB/s, length in mm, port that it follows from.

    The ends are those of an edge that something travels.
    """
    import polars

    there = np.arange(0, machine.edge_count, 2)
    there = np.where(machine.edge_kind[there] == EdgeKind.CLOSED, there + 1, there)
    sources = machine.provenance.sources
    service: list[int] = machine.provenance.service[there].tolist()
    ports = [sources[index].port if index >= 0 else "" for index in service]
    return polars.DataFrame(
        {
            "source": machine.edge_src[there].astype(np.int32),
            "target": machine.edge_dst[there].astype(np.int32),
            "kind": machine.edge_kind[there].astype(np.int32),
            "gbs": machine.edge_gbs[there].astype(np.float64),
            "mm": machine.edge_um[there] / 1000.0,
            "port": ports,
        }
    )


def make_part_table(machine: Machine) -> polars.DataFrame:
    """Servers, then stations: name, slots, and the row of the node or of the link where each is drawn, -1 for none."""
    import polars

    stations, edges = len(machine.station_name), machine.edge_count
    link = np.full(stations, -1, np.int32)
    link[:edges] = np.arange(edges) // 2
    node = np.full(stations, -1, np.int32)
    for at, terminal in machine.terminals.items():
        node[terminal.first_station : terminal.first_station + terminal.stripes] = at
    servers = [_find_node(machine, name) for name in machine.server_name]
    none = np.full(len(servers), -1, np.int32)
    return polars.DataFrame(
        {
            "name": [*machine.server_name, *machine.station_name],
            "slots": np.append(machine.server_slots, np.ones(stations, np.int64)).astype(np.int32),
            "node": np.append(np.array(servers, np.int32), node),
            "link": np.append(none, link),
        }
    )


def _find_node(machine: Machine, server: str) -> int:
    """The node at the path of a server, or above it; -1 for none."""
    path = server
    while path and path not in machine.node_id:
        path = path.rpartition(".")[0]
    return machine.node_id.get(path, -1)
