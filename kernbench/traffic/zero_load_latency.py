"""Zero-load latency of a packet in a mesh, in closed form: linear in its hops and in its flits.

The probe checks the engine with it. So it is made from the mesh's geometry alone, and shares neither routes nor formulas with
the engine or with `machine.uncontended_latency`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.machine.families.mesh.places import MeshPlaces, MeshShape

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


def flit_time_fs(machine: Machine) -> int:
    """The flit time of a mesh: the time of one flit on the link from an endpoint to its router."""
    return int(machine.stations.fs_per_flit[_ends(machine)[0]])


def count_mesh_hops(mesh: MeshShape, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """int64[n] the links between routers from one node to another, both int64[n] by index y * w + x."""
    across, down = dst % mesh.w - src % mesh.w, dst // mesh.w - src // mesh.w
    if not mesh.torus:
        return abs(across) + abs(down)
    across, down = across % mesh.w, down % mesh.h
    if mesh.one_way:
        return across + down
    return np.minimum(across, mesh.w - across) + np.minimum(down, mesh.h - down)


def zero_load_fs(machine: Machine, src: np.ndarray, dst: np.ndarray, flits: int) -> np.ndarray:
    """int64[n] time from the start of a packet of whole flits to its completion, between nodes int64[n] by index y * w + x.

    The first flit takes service and propagation of each link; the others follow at the rate of the slowest link. An
    acknowledgement takes propagation alone.
    """
    places = machine.places
    assert isinstance(places, MeshPlaces)
    stations = machine.stations
    injection, ejection = _ends(machine)
    link = 0  # links between routers come before those to endpoints
    ends = stations.fs_per_flit[[injection, ejection]] + stations.propagation_fs[[injection, ejection]]
    hop = stations.fs_per_flit[link] + stations.propagation_fs[link]
    pace = stations.fs_per_flit[[injection, link, ejection]].max()
    found = ends.sum() + count_mesh_hops(places.mesh, src, dst) * hop + (flits - 1) * pace
    if not places.mesh.acknowledged:
        return found
    home = stations.propagation_fs[[injection, ejection]].sum()
    return found + home + count_mesh_hops(places.mesh, dst, src) * stations.propagation_fs[link]


def _ends(machine: Machine) -> tuple[int, int]:
    """The links from and to an endpoint; those of all endpoints, and of two networks, are alike."""
    places = machine.places
    assert isinstance(places, MeshPlaces)
    leaving = int(np.flatnonzero(machine.edge_src == places.endpoint(0, 0))[0])
    return leaving, leaving ^ 1
