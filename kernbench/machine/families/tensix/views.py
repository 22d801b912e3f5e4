"""The view of a `tensix` machine: the chip, each place of its physical grid as one box."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernbench.machine.families.tensix.places import (
    NETWORKS,
    TensixPlaces,
    dram_side_name,
    interface_name,
    l1_name,
    router_name,
)
from kernbench.machine.view import Box, View, find_wires

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


def tensix_view(machine: Machine) -> View:
    """The chip: cores with their logical coordinates, DRAM, Ethernet, and places without a part as routers."""
    places = machine.places
    assert isinstance(places, TensixPlaces)
    grid, boxes, box_of = places.grid, list[Box](), dict[int, int]()
    for y in range(grid.height):
        for x in range(grid.width):
            kind, label = _part_at(places, x, y)
            number = x + y * grid.width
            node = machine.node_id[router_name(0, x, y)]
            at = (float(machine.node_x_mm[node]), float(machine.node_y_mm[node]))
            boxes.append(Box(f"{kind}[{y}][{x}]", label, kind, *at))
            for network in range(NETWORKS):
                box_of[machine.node_id[router_name(network, x, y)]] = number
            if kind == "worker":
                box_of[machine.node_id[l1_name(x, y)]] = number
                for network in range(NETWORKS):
                    box_of[machine.node_id[interface_name(network, x, y)]] = number
                    box_of[machine.node_id[dram_side_name(network, x, y)]] = number
    wires = find_wires(machine, box_of)
    wires = tuple(
        replace(
            wire,
            wraps=abs(boxes[wire.src].x_mm - boxes[wire.dst].x_mm) + abs(boxes[wire.src].y_mm - boxes[wire.dst].y_mm)
            > 1.5,
        )
        for wire in wires
    )
    text = f"{places.w} × {places.h} cores on a grid of {grid.width} × {grid.height}, {grid.banks} DRAM banks, two networks"
    return View("system", text, (), tuple(boxes), wires)


def _part_at(places: TensixPlaces, x: int, y: int) -> tuple[str, str]:
    number = x + y * places.grid.width
    if core := places.logical((x, y)):
        return "worker", f"{core[0]},{core[1]}"
    if number in places.grid.dram:
        return "dram", "dram"
    if number in places.grid.ethernet:
        return "ethernet", "eth"
    return "router", ""


VIEWS = {"system": tensix_view}
