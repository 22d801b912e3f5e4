"""Colours of parts and strokes of links in a diagram, and their names in the legend.

Colours follow the function of a part: control, movement, compute, memory, ports between dies, host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kernbench.machine.families.registry import FAMILIES
from kernbench.machine.intents import EdgeKind
from kernbench.machine.symbols import OTHER, Role, Symbol
from kernbench.report.colours import COMPUTE, CONTROL, HOST, MEMORY, MOVEMENT, PORT

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

INK, QUIET = "#222222", "#666666"
LABEL = 10.0  # px, of labels beside their boxes and wires


class Paint(NamedTuple):
    """The colours of a part: its face, its edge and the label on it."""

    fill: str
    edge: str
    text: str = INK


class Stroke(NamedTuple):
    """The style of a line."""

    title: str
    colour: str
    dash: str = ""


PAINTS: dict[Role, Paint] = {
    Role.CONTROL: Paint(*CONTROL),
    Role.MOVEMENT: Paint(*MOVEMENT),
    Role.COMPUTE: Paint(*COMPUTE),
    Role.MEMORY: Paint(*MEMORY),
    Role.PORT: Paint(*PORT, text="#FFFFFF"),
    Role.CONNECTION: Paint("#BFE3DD", PORT[0]),
    Role.HOST: Paint(*HOST),
    Role.LINK: Paint("#D9D3C7", "#5C4A2A"),
    Role.NETWORK: Paint("#FFFFFF", MOVEMENT[1]),
    Role.OTHER: Paint("#EEEEEE", "#555555"),
}

STROKES: dict[EdgeKind, Stroke] = {
    EdgeKind.NOC: Stroke("between routers, and what is attached to them", "#5B86B8"),
    EdgeKind.UCIE: Stroke("UCIe", "#0B7A6B"),
    EdgeKind.IO: Stroke("inside the IO chiplet", "#8A6D3B"),
    EdgeKind.PCIE: Stroke("PCIe", "#A83262"),
    EdgeKind.COMMAND: Stroke("commands only", "#6B4FA0", "5 3"),
    EdgeKind.PE: Stroke("between the parts of a PE", "#C77E30"),
    EdgeKind.SIP: Stroke("direct links between SIPs", "#5C4A2A"),
}

RING = Stroke("closes a ring", STROKES[EdgeKind.NOC].colour, "8 5")

AREAS: dict[str, tuple[str, str, str]] = {  # fill, edge, dash
    "sip": ("#F7F7F5", "#999999", ""),
    "io_chiplet": ("#FBF3E4", "#C9A866", ""),
    "cube": ("#EDF3FA", "#8FB0D3", ""),
    "cluster": ("#FDF4E8", "#E0B27A", ""),
    "hbm_zone": ("#DCEFCF", "#4C8A2B", "6 4"),
    "pe": ("#FDF4E8", "#E0B27A", ""),
}


def find_symbol(machine: Machine, view: str, kind: str) -> Symbol:
    """The symbol of a kind of node in a view; a kind that its family does not list has a plain box."""
    symbols = FAMILIES[machine.family].symbols
    return symbols.get((view, kind)) or symbols.get(kind, OTHER)
