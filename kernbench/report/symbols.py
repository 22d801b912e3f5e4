"""Symbols of parts and strokes of links in a diagram, and their names in the legend.

Colours follow the function of a part: control, movement, compute, memory, ports between dies, host.
"""

from __future__ import annotations

from typing import NamedTuple

from kernbench.machine.intents import EdgeKind
from kernbench.report.colours import COMPUTE, CONTROL, HOST, MEMORY, MOVEMENT, PORT

INK, QUIET = "#222222", "#666666"
LABEL = 10.0  # px, of labels beside their boxes and wires


class Symbol(NamedTuple):
    """A shape in pixels. `text` is the colour and `size` the size of a label inside it."""

    title: str
    fill: str
    edge: str
    width: float
    height: float
    size: float = 11.0
    text: str = INK
    round: bool = False  # a circle


class Stroke(NamedTuple):
    """The style of a line."""

    title: str
    colour: str
    dash: str = ""


SYMBOLS: dict[str, Symbol] = {
    "switch": Symbol("fabric switch", *HOST, 84, 28),
    "pcie_ep": Symbol("PCIe endpoint", *HOST, 58, 20),
    "sip_link": Symbol("port of a link between SIPs", "#D9D3C7", "#5C4A2A", 22, 18, size=10),
    "io_cpu": Symbol("IO_CPU", *CONTROL, 44, 20),
    "io_noc": Symbol("network of the IO chiplet", "#FFFFFF", MOVEMENT[1], 44, 20),
    "io_ucie": Symbol("UCIe port of a die", *PORT, 12, 12, text="#FFFFFF"),
    "conn": Symbol("UCIe connection", "#BFE3DD", PORT[0], 9, 9),
    "ucie": Symbol("UCIe port of a die", *PORT, 44, 30, text="#FFFFFF"),
    "router": Symbol("router", "#FFFFFF", MOVEMENT[1], 14, 14, round=True),
    "m_cpu": Symbol("M_CPU", *CONTROL, 48, 18),
    "sram": Symbol("SRAM", *MEMORY, 40, 14, size=10),
    "hbm_ctrl": Symbol("HBM controller of a PE", *MEMORY, 42, 16, size=10),
    "pe": Symbol("PE", *COMPUTE, 42, 42),
    "pe_cpu": Symbol("control", *CONTROL, 138, 76, size=12),
    "pe_scheduler": Symbol("control", *CONTROL, 138, 76, size=12),
    "pe_dma": Symbol("movement", *MOVEMENT, 138, 76, size=12),
    "pe_fetch_store": Symbol("movement", *MOVEMENT, 138, 76, size=12),
    "pe_ipcq": Symbol("movement", *MOVEMENT, 138, 76, size=12),
    "pe_mmu": Symbol("movement", *MOVEMENT, 138, 76, size=12),
    "pe_gemm": Symbol("compute", *COMPUTE, 138, 76, size=12),
    "pe_math": Symbol("compute", *COMPUTE, 138, 76, size=12),
    "pe_tcm": Symbol("memory", *MEMORY, 138, 76, size=12),
    "endpoint": Symbol("endpoint with its router", "#FFFFFF", MOVEMENT[1], 64, 24, size=10),
    "noc": Symbol("network", "#FFFFFF", MOVEMENT[1], 64, 24),
    "l2": Symbol("L2", *MEMORY, 64, 24),
    "gm_hbm": Symbol("HBM", *MEMORY, 64, 24),
    "npu_host": Symbol("host", *HOST, 64, 24),
    "aicpu": Symbol("AICPU", *CONTROL, 52, 20),
    "aic": Symbol("AIC", *COMPUTE, 36, 20),
    "aiv": Symbol("AIV", *COMPUTE, 36, 20),
    "worker": Symbol("Tensix core", *COMPUTE, 48, 24),
    "dram": Symbol("port of a DRAM controller", *MEMORY, 48, 24),
    "ethernet": Symbol("Ethernet", *PORT, 48, 24, text="#FFFFFF"),
}
OTHER = Symbol("other part", "#EEEEEE", "#555555", 48, 18)

# Kinds with another symbol than in the view of the cube.
IN_VIEW: dict[tuple[str, str], dict[str, object]] = {
    ("system", "pcie_ep"): {"width": 70, "height": 22},
    ("sip", "ucie"): {"width": 12, "height": 12, "size": 9},
    ("pe", "router"): {"width": 76, "height": 76, "size": 12},
    ("pe", "hbm_ctrl"): {"title": "memory", "width": 190, "height": 66, "size": 12},
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


def find_symbol(view: str, kind: str) -> Symbol:
    """The symbol of a kind of node in a view; a kind that is not listed has a plain box."""
    symbol = SYMBOLS.get(kind, OTHER)
    return symbol._replace(**IN_VIEW.get((view, kind), {}))  # pyright: ignore[reportArgumentType]
