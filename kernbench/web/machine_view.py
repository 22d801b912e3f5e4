"""What the page shows of a machine: its parts and links as Arrow, and the figures of each part with their sources.

The part that a node or a link takes its times from is the one that the machine itself records (`machine.provenance`).
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench import library
from kernbench.machine import load_machine
from kernbench.machine.field_values import ShownPart, show_topology
from kernbench.machine.intents import EdgeKind

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


class MachineView:
    """A machine as the page gets it. Errors: InputError for a topology that cannot be used."""

    def __init__(self, topology: str) -> None:
        self.machine = load_machine(topology, {})
        shown = show_topology(topology)
        self.about: dict[str, Any] = {
            "name": shown.name,
            "family": shown.family,
            "file": library.show_path(shown.file),
            "description": shown.description,
            "parts": {name: _part(part) for name, part in shown.parts.items()},
            "links": [LINKS.get(kind, "") for kind in EdgeKind],
        }
        self.nodes = _to_arrow(_node_table(self.machine))
        self.links = _to_arrow(_link_table(self.machine))


def _part(part: ShownPart) -> dict[str, Any]:
    """The figures of a part: value as written, with its file and line, and the source that its sheet names for it."""
    return {
        "description": part.description,
        "sheet": library.show_path(part.sheet),
        "fields": [
            {"name": one.path.partition(".")[2], "value": one.written, "source": one.source, "place": one.place}
            for one in part.fields
        ],
    }


def _node_table(machine: Machine) -> polars.DataFrame:
    import polars

    return polars.DataFrame(
        {
            "name": list(machine.node_name),
            "kind": list(machine.node_kind),
            "part": _parts_of_nodes(machine),
            "x": machine.node_x_mm,
            "y": machine.node_y_mm,
        }
    )


def _parts_of_nodes(machine: Machine) -> list[str]:
    """The part whose figures each node has; "" if it has none. A connection of a port has those of the port."""
    provenance = machine.provenance
    known = [source.port.partition(".")[0] for source in provenance.sources]
    of_node: list[int] = provenance.node.tolist()
    found = [known[index] if index >= 0 else "" for index in of_node]
    for node, terminal in machine.terminals.items():
        index = int(provenance.service[terminal.first_station])
        found[node] = known[index] if index >= 0 else found[node]
    for node, name in enumerate(machine.node_name):
        parent = machine.node_id.get(name.rpartition(".")[0])
        if not found[node] and parent is not None:
            found[node] = found[parent]
    return found


def _link_table(machine: Machine) -> polars.DataFrame:
    """The links that something travels, one of the two edges of each."""
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


def _to_arrow(table: polars.DataFrame) -> bytes:
    import polars

    file = BytesIO()
    table.write_ipc(file, compression="uncompressed", compat_level=polars.CompatLevel.oldest())
    return file.getvalue()
