"""The view of a `mesh` machine: the network, each endpoint with its router as one box."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernbench.errors import InputError
from kernbench.machine.families.mesh.expand import PITCH_MM
from kernbench.machine.families.mesh.places import MeshPlaces, MeshShape
from kernbench.machine.view import Box, View, Wire, find_wires, point

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

MOST_SHOWN = 4096  # endpoints


def network_view(machine: Machine) -> View:
    """The network. Errors: InputError for too many endpoints."""
    places = machine.places
    assert isinstance(places, MeshPlaces)
    count = places.w * places.h
    if count > MOST_SHOWN:
        raise InputError(
            f"machine {machine.name} has {count:,} endpoints, too many for a picture (at most {MOST_SHOWN:,}); "
            "a smaller one, such as --set k=16, looks the same"
        )
    nodes = [places.endpoint(row, col) for row in range(places.h) for col in range(places.w)]
    boxes = tuple(point(machine, node) for node in nodes)
    wires = find_wires(machine, _with_routers(machine, {node: box for box, node in enumerate(nodes)}))
    step = PITCH_MM * 1.5
    wires = tuple(replace(wire, wraps=_length(boxes, wire) > step) for wire in wires)
    return View("system", _describe(places.mesh), (), boxes, wires)


def _describe(mesh: MeshShape) -> str:
    shape = ("one-way torus" if mesh.one_way else "torus") if mesh.torus else "mesh"
    routers = "a router" if mesh.networks == 1 else f"a router in each of {mesh.networks} networks"
    return f"{shape} of {mesh.w} × {mesh.h} endpoints, each with {routers}"


def _with_routers(machine: Machine, box_of: dict[int, int]) -> dict[int, int]:
    """The box of each endpoint and of its routers."""
    found = dict(box_of)
    for src, dst in zip(machine.edge_src.tolist(), machine.edge_dst.tolist(), strict=True):
        if src in box_of:
            found[dst] = box_of[src]
    return found


def _length(boxes: tuple[Box, ...], wire: Wire) -> float:
    src, dst = boxes[wire.src], boxes[wire.dst]
    return abs(src.x_mm - dst.x_mm) + abs(src.y_mm - dst.y_mm)


VIEWS = {"system": network_view}
