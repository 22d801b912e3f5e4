"""The graph of an intent in three forms: compressed sparse rows (CSR), a dense matrix, a networkx graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from kernbench.errors import InputError
from kernbench.machine.intents import Intent, allowed_edges

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

NO_EDGE = 2**62
DENSE_NODES = 5_000  # the most of a matrix, which then has 200 MB


class Csr(NamedTuple):
    """Rows of outgoing edges, by source."""

    start: np.ndarray  # int64[node + 1]
    neighbour: np.ndarray  # int64[m] destination
    weight: np.ndarray  # int64[m]
    edge: np.ndarray  # int64[m] id


def make_csr(machine: Machine, intent: Intent) -> Csr:
    """The graph of an intent as rows of outgoing edges, in ascending order of their ids."""
    return _make_rows(machine, allowed_edges(machine.edge_kind, intent))


def make_reverse_csr(machine: Machine, intent: Intent) -> Csr:
    """The same of the reverse edges: those that lead back along the edges of an intent, whether it may use them or not."""
    return _make_rows(machine, np.sort(allowed_edges(machine.edge_kind, intent) ^ 1))


def _make_rows(machine: Machine, edge: np.ndarray) -> Csr:
    edge = edge[np.argsort(machine.edge_src[edge], kind="stable")]
    count = np.bincount(machine.edge_src[edge], minlength=machine.node_count)
    start = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    return Csr(start, machine.edge_dst[edge].astype(np.int64), machine.edge_weight[edge], edge)


def make_matrix(machine: Machine, intent: Intent) -> np.ndarray:
    """int64[node, node] weights, NO_EDGE where there is no edge. Errors: InputError for more than DENSE_NODES nodes."""
    if machine.node_count > DENSE_NODES:
        raise InputError(
            f"machine {machine.name} has {machine.node_count:,} nodes, too many for a dense matrix "
            f"(at most {DENSE_NODES:,}); use machine.csr"
        )
    edge = allowed_edges(machine.edge_kind, intent)
    weights = np.full((machine.node_count, machine.node_count), NO_EDGE, np.int64)
    weights[machine.edge_src[edge], machine.edge_dst[edge]] = machine.edge_weight[edge]
    return weights


def make_networkx(machine: Machine, intent: Intent) -> Any:
    """A networkx.DiGraph over part names; nodes carry kind and position, edges id, weight, length and bandwidth."""
    import networkx

    graph = cast("Any", networkx.DiGraph(name=machine.name))
    for node, name in enumerate(machine.node_name):
        at = (float(machine.node_x_mm[node]), float(machine.node_y_mm[node]))
        graph.add_node(name, id=node, kind=machine.node_kind[node], position_mm=at)
    for edge in allowed_edges(machine.edge_kind, intent).tolist():
        src, dst = machine.node_name[machine.edge_src[edge]], machine.node_name[machine.edge_dst[edge]]
        weight, um, gbs = int(machine.edge_weight[edge]), int(machine.edge_um[edge]), float(machine.edge_gbs[edge])
        graph.add_edge(src, dst, id=edge, weight=weight, um=um, gbs=gbs)
    return graph
