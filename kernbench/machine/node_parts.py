"""The part of each node of a machine, without reading its sheets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


def parts_of_nodes(machine: Machine) -> list[str]:
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
