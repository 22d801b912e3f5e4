"""What the page shows of a machine: its parts and links as Arrow, and the figures of each part with their sources.

The part that a node or a link takes its times from is the one that the machine itself records (`machine.provenance`).
"""

from __future__ import annotations

from kernbench.machine import load_machine
from kernbench.machine.machine_tables import make_link_table, make_node_table, tell_machine
from kernbench.report.pages.arrow import to_arrow


class MachineView:
    """A machine as the page gets it. Errors: InputError for a topology that cannot be used."""

    def __init__(self, topology: str) -> None:
        self.machine = load_machine(topology, {})
        self.about = tell_machine(self.machine)
        self.nodes = to_arrow(make_node_table(self.machine))
        self.links = to_arrow(make_link_table(self.machine))
