"""Routes: the ways of payloads through a machine, found once and numbered.

A round trip is one leg of flits. A write sends its flits along the links to the memory and is acknowledged by a message of
no bytes, which pays propagation only (`tail`); a read's request pays propagation only (`lead`), and its flits come out of
the memory and back along the same links reversed. What lies strictly between the two ends charges its overhead.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import UnreachableError
from kernbench.machine.intents import Intent, RouteKind, allowed_edges
from kernels_jit.tables import Routes

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

_READ, _WRITE = 0, 1  # directions, as the loop counts them


class Routing:
    """The routes of one machine: shortest ways by intent, interned as they are asked for."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._ids: dict[tuple[int, int, int, int], int] = {}
        self._trees: dict[tuple[int, int], np.ndarray] = {}
        self._distances: dict[tuple[int, int], np.ndarray] = {}
        self._allowed: dict[int, np.ndarray] = {}
        self._back: np.ndarray | None = None
        self._start = [0]
        self._step: list[tuple[int, int, int, int]] = []  # station, stripes, overhead_fs, whole
        self._route: list[tuple[int, int, int, int]] = []  # lead_fs, tail_fs, propagation_fs, direction
        self._tables: Routes | None = None

    def route(self, src: int, dst: int, intent: Intent, kind: RouteKind) -> int:
        """The id of the route between two nodes. Errors: UnreachableError naming both, also for no memory at `dst`."""
        key = (src, dst, intent, kind)
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = self._intern(src, dst, intent, kind)
        return found

    def path(self, src: int, dst: int, intent: Intent) -> list[int]:
        """The nodes on the way from `src` to `dst`, both ends included."""
        ends = self._machine.edge_dst
        return [src, *(int(ends[edge]) for edge in self.edges_between(src, dst, intent))]

    def distance(self, src: int, dst: int, intent: Intent) -> int:
        """The weight of the way in µm, with what crossing between dies adds to it."""
        self.edges_between(src, dst, intent)
        return int(self._distances[src, self._effective(src, dst, intent)][dst])

    def edges(self, route: int) -> list[int]:
        """The links whose stations the payload of a route passes, in order."""
        steps = self._step[self._start[route] : self._start[route + 1]]
        return [station for station, *_ in steps if station < self._machine.edge_count]

    def edges_between(self, src: int, dst: int, intent: Intent) -> list[int]:
        """The links from `src` to `dst`, in order. Errors: UnreachableError."""
        intent = self._effective(src, dst, intent)
        last, sources, edges, node = self.tree(src, intent), self._machine.edge_src, [], dst
        while node != src:
            edge = int(last[node])
            if edge < 0:
                raise UnreachableError(
                    f"no route leads from {self._machine.node_name[src]} to {self._machine.node_name[dst]} "
                    f"for {intent.name.lower()} traffic; check the links of topology {self._machine.name}"
                )
            edges.append(edge)
            node = int(sources[edge])
        edges.reverse()
        return edges

    def tree(self, src: int, intent: Intent) -> np.ndarray:
        """int64[node] the last edge of the way from `src` to each node, -1 where there is none."""
        found = self._trees.get((src, intent))
        if found is None:
            found = self._trees[src, intent] = self._find_tree(src, intent)
        return found

    def tables(self) -> Routes:
        """All routes asked for so far, as the loop reads them."""
        if self._tables is None:
            step = np.array(self._step, np.int64).reshape(-1, 4).T.copy()
            route = np.array(self._route, np.int64).reshape(-1, 4).T.copy()
            self._tables = Routes(np.array(self._start, np.int64), *step, *route)
        return self._tables

    def _effective(self, src: int, dst: int, intent: Intent) -> Intent:
        """Traffic of PEs inside one cube stays in it."""
        if intent == Intent.PE_DMA:
            cube = self._machine.places.cube_of()
            if cube[src] >= 0 and cube[src] == cube[dst]:
                return Intent.CUBE_LOCAL
        return intent

    def _find_tree(self, src: int, intent: Intent) -> np.ndarray:
        from kernels_jit import dijkstra

        machine = self._machine
        rows = machine.csr(intent)
        distance = self._distances[src, intent] = dijkstra.sparse_distances(*rows[:3], src)
        if intent not in self._allowed:
            self._allowed[intent] = allowed_edges(machine.edge_kind, intent)
        edge = self._allowed[intent]
        return dijkstra.tree(distance, edge, machine.edge_src, machine.edge_dst, machine.edge_weight)

    def _intern(self, src: int, dst: int, intent: Intent, kind: RouteKind) -> int:
        machine, there = self._machine, self.edges_between(src, dst, intent)
        back = [int(self._reverse()[edge]) for edge in reversed(there)]
        out_fs, home_fs = self._propagation(there), self._propagation(back)
        if kind == RouteKind.MESSAGE:
            steps, ends = self._links(there), (0, 0, out_fs, _WRITE)
        elif dst not in machine.terminals:
            raise UnreachableError(
                f"{machine.node_name[dst]} is no memory, so nothing can be read or written there "
                f"from {machine.node_name[src]}; name an HBM controller or an SRAM"
            )
        elif kind == RouteKind.WRITE:
            steps, ends = [*self._links(there), self._memory(dst)], (0, home_fs, out_fs, _WRITE)
        else:
            steps, ends = [self._memory(dst), *self._links(back)], (out_fs, 0, home_fs, _READ)
        self._step += steps
        self._start.append(len(self._step))
        self._route.append(ends)
        self._tables = None
        return len(self._route) - 1

    def _links(self, edges: list[int]) -> list[tuple[int, int, int, int]]:
        machine = self._machine
        steps = [(edge, 1, 0, 0) for edge in edges[:1]]
        for _, edge in pairwise(edges):
            node = machine.edge_src[edge]
            steps.append((edge, 1, int(machine.node_overhead_fs[node]), int(machine.node_whole[node])))
        return steps

    def _memory(self, node: int) -> tuple[int, int, int, int]:
        terminal = self._machine.terminals[node]
        return terminal.first_station, terminal.stripes, terminal.overhead_fs, 0

    def _propagation(self, edges: list[int]) -> int:
        propagation = self._machine.stations.propagation_fs
        return sum(int(propagation[edge]) for edge in edges)

    def _reverse(self) -> np.ndarray:
        """int64[edge] the edge of the same link the other way."""
        if self._back is None:
            self._back = np.arange(self._machine.edge_count, dtype=np.int64) ^ 1
        return self._back
