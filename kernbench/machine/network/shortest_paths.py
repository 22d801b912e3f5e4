"""The shortest paths between the nodes of a machine, by intent.

A path inside a SIP, or to the switch, is the shortest. Between SIPs with direct links it goes over the links that their network
says (see `sip_network`), and inside each SIP on the way from port to port. In family `mesh` an endpoint reaches itself by its
router, and a link decides between two shortest ways around a torus. No path leads through a memory or an endpoint: what comes
there ends.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import UnreachableError
from kernbench.machine.intents import Intent, allowed_edges
from kernbench.machine.network.graph import Csr, make_reverse_csr

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

_TREE_NODES = 5_000  # above, a tree from every PE would take gigabytes, so each path is searched on demand


class ShortestPaths:
    """The paths of one machine; trees and graphs are kept. Machines that differ in times alone may share it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._trees: dict[tuple[int, int], np.ndarray] = {}
        self._pieces: dict[tuple[int, int, Intent], np.ndarray] = {}  # of paths between SIPs, which have them in common
        self._allowed: dict[int, np.ndarray] = {}
        self._reverse: dict[int, Csr] = {}

    def find(self, src: int, dst: int, intent: Intent) -> np.ndarray:
        """int64[link] the edges of a path: over the links between SIPs that are known, and between these the shortest.

        Errors: UnreachableError, naming both ends, if there is no path, or if all lead through what passes nothing on.
        """
        intent, pieces, at = self._effective_intent(src, dst, intent), list[np.ndarray](), src
        crossings = self._machine.places.crossings(src, dst)
        for leave, enter in crossings:
            pieces += [self._piece(at, leave, intent), self._link(leave, enter, intent)]
            at = enter
        path = np.concatenate([*pieces, (self._piece if crossings else self._shortest)(at, dst, intent)])
        if (path < 0).any():
            raise UnreachableError(
                f"no route leads from {self._machine.node_name[src]} to {self._machine.node_name[dst]} "
                f"for {intent.name.lower()} traffic; check the links of topology {self._machine.name}"
            )
        between = self._machine.edge_src[path[1:]]
        if (ends := between[self._ends[between]]).size:
            start, end, through = (self._machine.node_name[node] for node in (src, dst, ends[0]))
            raise UnreachableError(
                f"no route leads from {start} to {end} but through {through}, which passes nothing on; "
                "name two parts of one network"
            )
        return path

    @cached_property
    def _ends(self) -> np.ndarray:
        """bool[node] whether what comes there ends: at a memory, and at an endpoint of a mesh."""
        ends = np.array(self._machine.node_kind) == "endpoint"
        ends[list(self._machine.terminals)] = True
        return ends

    def tree(self, src: int, intent: Intent) -> np.ndarray:
        """int64[node] the last edge of the path from `src` to each node, -1 if there is no path."""
        found = self._trees.get((src, intent))
        if found is None:
            found = self._trees[src, intent] = self._find_tree(src, intent)
        return found

    def _effective_intent(self, src: int, dst: int, intent: Intent) -> Intent:
        """The intent whose links are used: DMA of PEs between two parts of one cube stays inside the cube."""
        if intent == Intent.PE_DMA:
            cube = self._machine.places.cube_of()
            if cube[src] >= 0 and cube[src] == cube[dst]:
                return Intent.CUBE_LOCAL
        return intent

    def _piece(self, src: int, dst: int, intent: Intent) -> np.ndarray:
        """As `_shortest`, kept: from a node to the border of its SIP, from border to border, or from there to a node."""
        key = src, dst, intent
        if key not in self._pieces:
            self._pieces[key] = self._shortest(src, dst, intent)
        return self._pieces[key]

    def _shortest(self, src: int, dst: int, intent: Intent) -> np.ndarray:
        """int64[link] the edges of the shortest path; a negative one if there is no path."""
        from kernels_jit.routing import dijkstra

        if self._machine.node_count > _TREE_NODES:
            return self._search_path(src, dst, intent)
        return dijkstra.walk(self.tree(src, intent), self._machine.edge_src, src, dst)

    def _link(self, src: int, dst: int, intent: Intent) -> np.ndarray:
        """int64[1] the edge between two neighbouring nodes; negative if the intent may not use it."""
        rows = self._machine.csr(intent)
        out = slice(rows.start[src], rows.start[src + 1])
        found = rows.edge[out][rows.neighbour[out] == dst]
        return found if len(found) else np.array([-1])

    def _search_path(self, src: int, dst: int, intent: Intent) -> np.ndarray:
        """The path that the tree has, from a search that ends at the destination."""
        from kernels_jit.routing import dijkstra

        rows = self._machine.csr(intent)
        distance = dijkstra.sparse_distances(*rows[:3], src, dst)
        if intent not in self._reverse:
            self._reverse[intent] = make_reverse_csr(self._machine, intent)
        back = self._reverse[intent]
        return dijkstra.trace(distance, back.start, back.neighbour, back.edge, self._machine.edge_weight, src, dst)

    def _find_tree(self, src: int, intent: Intent) -> np.ndarray:
        from kernels_jit.routing import dijkstra

        machine = self._machine
        rows = machine.csr(intent)
        distance = dijkstra.sparse_distances(*rows[:3], src, -1)
        if intent not in self._allowed:
            self._allowed[intent] = allowed_edges(machine.edge_kind, intent)
        edge = self._allowed[intent]
        return dijkstra.tree(distance, edge, machine.edge_src, machine.edge_dst, machine.edge_weight)
