"""A view of a machine: boxes at their positions, and the wires between them.

A view is a contraction of the compiled graph. Each node is in one box, alone or with others, or in none. All links between two
boxes are one wire with the sum of their bandwidths. Positions are those that the lengths of links follow from, so a picture
agrees with the routes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.machine.intents import EdgeKind

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


@dataclass(frozen=True, slots=True)
class Box:
    """A part, or several as one. Positions are centres, in mm in the tray; a box without a size is a point."""

    name: str  # path
    label: str
    kind: str  # of the node, or "pe"
    x_mm: float
    y_mm: float
    width_mm: float = 0.0
    height_mm: float = 0.0


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle around boxes, with a label and remarks."""

    label: str
    kind: str  # "sip", "io_chiplet", "cube" or "hbm_zone"
    left_mm: float
    top_mm: float
    right_mm: float
    bottom_mm: float
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wire:
    """All links of one kind between two boxes, which are indices into `View.boxes`."""

    src: int
    dst: int
    kind: EdgeKind
    gbs: float  # each way, of all links together
    links: int = 1
    wraps: bool = False  # closes a ring, so it is drawn around the boxes


@dataclass(frozen=True, slots=True)
class View:
    """The contents of one picture."""

    name: str
    subtitle: str
    areas: tuple[Area, ...]
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    px_per_mm: float = 112.0  # at least, so that boxes of neighbours do not touch
    in_rows: bool = False  # SIPs of one line are drawn in rows, so wires between them are not to scale


def find_wires(machine: Machine, box_of: Mapping[int, int]) -> tuple[Wire, ...]:
    """The wires between boxes; `box_of` gives the box of each node that has one."""
    box = np.full(machine.node_count, -1, np.int64)
    box[list(box_of)] = list(box_of.values())
    there = np.arange(0, machine.edge_count, 2)  # one of the two edges of each link
    src, dst = box[machine.edge_src[there]], box[machine.edge_dst[there]]
    shown = (src >= 0) & (dst >= 0) & (src != dst)
    gbs: dict[tuple[int, int, int], list[float]] = {}
    for edge, a, b in zip(there[shown].tolist(), src[shown].tolist(), dst[shown].tolist(), strict=True):
        key = (min(a, b), max(a, b), int(machine.edge_kind[edge]))
        gbs.setdefault(key, []).append(float(machine.edge_gbs[edge]))
    return tuple(Wire(a, b, EdgeKind(kind), sum(each), len(each)) for (a, b, kind), each in sorted(gbs.items()))


def point(machine: Machine, node: int, label: str | None = None) -> Box:
    """A node as a box; without a label it has the last part of its path."""
    name = machine.node_name[node]
    return Box(
        name,
        name.rpartition(".")[2] if label is None else label,
        machine.node_kind[node],
        float(machine.node_x_mm[node]),
        float(machine.node_y_mm[node]),
    )
