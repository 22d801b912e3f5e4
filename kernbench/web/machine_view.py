"""What the page shows of a machine: its parts and links as Arrow, and the figures of each part with their sources.

The part that a node or a link takes its times from is the one that the machine itself records (`machine.provenance`).
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench import library
from kernbench.machine import load_machine
from kernbench.machine.intents import EdgeKind
from kernbench.machine.topology import ParsedTopology, read_topology
from kernbench.machine.tray_rows import drawn_places
from kernbench.schema.guards import is_mapping
from kernbench.schema.yaml import Marked, load

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
        path = library.find("topology", topology)
        parsed = read_topology(path, {})
        self.about: dict[str, Any] = {
            "name": self.machine.name,
            "family": self.machine.family,
            "file": library.show_path(path),
            "description": _plain(parsed.tree, "description"),
            "parts": {part: _fields(parsed, part) for part in parsed.sheets},
            "links": [LINKS.get(kind, "") for kind in EdgeKind],
        }
        self.nodes = _to_arrow(_node_table(self.machine))
        self.links = _to_arrow(_link_table(self.machine))


def _plain(tree: Marked, name: str) -> str:
    found = tree.value.get(name)
    return "" if found is None else str(found.plain())


def _fields(parsed: ParsedTopology, part: str) -> dict[str, Any]:
    """The figures of a part: value as written, with its file and line, and the source that its sheet names for it."""
    sheet = load(parsed.sheets[part])
    parameters = sheet.value.get("parameters")
    known: Mapping[str, Marked] = parameters.value if parameters is not None else {}
    held = parsed.tree.value[part]
    fields = held.value if is_mapping(held.value) else {}
    return {
        "description": _plain(sheet, "description"),
        "sheet": library.show_path(parsed.sheets[part]),
        "fields": [_field(name, value, known.get(name), parsed.sheets[part]) for name, value in fields.items()],
    }


def _field(name: str, value: Marked, parameter: Marked | None, sheet: Path) -> dict[str, str]:
    of_sheet = value.mark.file == library.show_path(sheet) and parameter is not None
    return {
        "name": name,
        "value": str(value.plain()),
        "source": str(parameter.value["source"].plain())
        if of_sheet and parameter is not None
        else "set by the topology",
        "place": str(value.mark),
    }


def _node_table(machine: Machine) -> polars.DataFrame:
    import polars

    x_mm, y_mm = drawn_places(machine)
    return polars.DataFrame(
        {
            "name": list(machine.node_name),
            "kind": list(machine.node_kind),
            "part": _parts_of_nodes(machine),
            "x": x_mm,
            "y": y_mm,
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
