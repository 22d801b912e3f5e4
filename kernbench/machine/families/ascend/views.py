"""The views of an `ascend` machine: all clusters with what stands around them, and one cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.machine.families.ascend.places import AscendPlaces
from kernbench.machine.view import Area, View, find_wires, point

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

MARGIN_MM = 0.6  # around the cores of a cluster


def chip_view(machine: Machine) -> View:
    """The whole machine: a box for each part, an area for each cluster."""
    places = machine.places
    assert isinstance(places, AscendPlaces)
    nodes = range(machine.node_count)
    return View(
        "system",
        _describe(places),
        tuple(_area(machine, places, cluster) for cluster in range(places.ascend.clusters)),
        tuple(point(machine, node) for node in nodes),
        find_wires(machine, {node: node for node in nodes}),
        px_per_mm=7.0,
    )


def cluster_view(machine: Machine) -> View:
    """One cluster with the network and its memories."""
    places = machine.places
    assert isinstance(places, AscendPlaces)
    cores = [places.core(0, index).node for index in range(1 + places.ascend.aiv_per_cluster)]
    nodes = [*cores, machine.node_id["noc"], places.l2, places.gm_hbm]
    return View(
        "cluster",
        f"cluster0, one of {places.ascend.clusters}",
        (_area(machine, places, 0),),
        tuple(point(machine, node) for node in nodes),
        find_wires(machine, {node: box for box, node in enumerate(nodes)}),
        px_per_mm=90.0,
    )


def _describe(places: AscendPlaces) -> str:
    shape = places.ascend
    return f"{shape.clusters} clusters, each of one AIC and {shape.aiv_per_cluster} AIV; {shape.aicpus} AICPU threads"


def _area(machine: Machine, places: AscendPlaces, cluster: int) -> Area:
    nodes = [places.core(cluster, index).node for index in range(1 + places.ascend.aiv_per_cluster)]
    x, y = machine.node_x_mm[nodes], machine.node_y_mm[nodes]
    return Area(
        f"cluster{cluster}",
        "cluster",
        float(x.min()) - MARGIN_MM,
        float(y.min()) - MARGIN_MM,
        float(x.max()) + MARGIN_MM,
        float(y.max()) + MARGIN_MM,
    )


VIEWS = {"system": chip_view, "cluster": cluster_view}
