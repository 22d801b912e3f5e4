"""The closed form of a packet alone in a mesh, against the loop and against routes."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.machine import Intent, load_machine
from kernbench.machine.families.mesh.places import MeshPlaces
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.run import run_alone
from kernbench.traffic.zero_load_latency import count_mesh_hops, zero_load_fs

SHAPES = [
    {"w": 5, "h": 4},
    {"w": 5, "h": 4, "torus": True},
    {"w": 4, "h": 2, "torus": True, "one_way": True},
    {"w": 1, "h": 5, "torus": True, "one_way": True, "networks": 2},
]


@pytest.mark.parametrize("shape", SHAPES)
def test_hops_are_those_of_routes(shape: dict[str, object]) -> None:
    machine = load_machine("mesh_8x8", shape)
    places = machine.places
    assert isinstance(places, MeshPlaces)
    nodes = places.w * places.h
    src, dst = (index.ravel() for index in np.indices((nodes, nodes)))
    ends = [places.endpoint(*divmod(node, places.w)) for node in range(nodes)]
    edges = [machine.routing.edges_between(ends[a], ends[b], Intent.ALL) for a in range(nodes) for b in range(nodes)]
    assert count_mesh_hops(places.mesh, src, dst).tolist() == [len(passed) - 2 for passed in edges]


@pytest.mark.parametrize("acknowledged", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_closed_form_is_what_the_loop_finds(shape: dict[str, object], acknowledged: bool) -> None:
    times = {"link_gbs": 100, "hop_ns": 1.7, "injection_ns": 0.3, "ejection_ns": 2.1, "endpoint_gbs": 50}
    machine = load_machine("mesh_8x8", {**shape, **times, "acknowledged": acknowledged})
    for src, dst in ((0, 0), (0, 3), (4, 0), (2, 3)):
        result = run_alone(machine, parse_flows([f"{src}:{dst}:1280"]))
        assert result.end_fs.tolist() == zero_load_fs(machine, np.array([src]), np.array([dst]), 5).tolist()
