"""Routes: the stations that payloads pass, computed once and numbered.

A path inside a SIP, or to the switch, is the shortest. Between SIPs with direct links it goes over the links that their network
says (see `sip_network`), and inside each SIP on the way from port to port. In family `mesh` an endpoint reaches itself by its
router, and a link decides between two shortest ways around a torus.

In a round trip flits move in one direction only. A write sends its flits along the links to the memory and is acknowledged by
a message of no bytes, which pays propagation only (`tail`); so is an acknowledged message. A read's request pays propagation
only (`lead`), and its flits leave the memory and come back along the same links reversed. Where one of these leads one way
only, what comes back takes the path from there to the source. Each node strictly between the two ends charges its overhead.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.errors import UnreachableError
from kernbench.machine.channel_layers import layers_of
from kernbench.machine.graph import Csr, make_reverse_csr
from kernbench.machine.intents import EdgeKind, Intent, RouteKind, allowed_edges
from kernels_jit.layout.codes import READ, WRITE
from kernels_jit.layout.machine_tables import Routes

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

_TREE_NODES = 5_000  # above, a tree from every PE would take gigabytes, so each path is searched on demand


class _Route(NamedTuple):
    steps: np.ndarray  # int64[step, 5]: station, stripes, overhead_fs, store_and_forward, channels
    ends: tuple[int, int, int, int]  # lead_fs, tail_fs, propagation_fs, direction


class Routing:
    """The routes of one machine: shortest paths by intent, numbered when they are first asked for.

    Threads may share it. Adding a route and reading the tables take the lock, so that ids and tables agree.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._ids: dict[tuple[int, int, int, int], int] = {}
        self._keys: list[tuple[int, int, int, int]] = []  # the keys of `_ids` in order, as of the last call of `key`
        self._trees: dict[tuple[int, int], np.ndarray] = {}
        self._allowed: dict[int, np.ndarray] = {}
        self._reverse: dict[int, Csr] = {}
        self._tables: Routes | None = None
        self._new: list[_Route] = []  # not yet in the tables
        self._lock = threading.RLock()

    def on(self, machine: Machine) -> Routing:
        """These routes, under the same ids, on a machine that differs in times alone."""
        other = Routing(machine)
        with self._lock:
            other._ids, tables, stations = dict(self._ids), self.tables(), self.overhead_stations()
        other._trees, other._allowed, other._reverse = self._trees, self._allowed, self._reverse
        overhead = np.zeros(len(machine.stations.fs_per_flit) + 1, np.int64)
        overhead[: machine.edge_count] = machine.node_overhead_fs[machine.edge_src]
        for terminal in machine.terminals.values():
            overhead[terminal.first_station] = terminal.overhead_fs
        other._tables = tables._replace(overhead_fs=overhead[stations])
        return other

    def overhead_stations(self) -> np.ndarray:
        """int64[step] the station of a step that charges the overhead of the node before it, -1 for other steps.

        The others are links at the source of a payload.
        """
        tables = self.tables()
        link = tables.station < self._machine.edge_count
        first = link.copy()
        first[1:] &= ~link[:-1]
        first[tables.start[:-1]] |= link[tables.start[:-1]]
        return np.where(first, -1, tables.station)

    def route(self, src: int, dst: int, intent: Intent, kind: RouteKind) -> int:
        """The id of the route between two nodes.

        Errors: UnreachableError, naming both, if there is no path, or if a read or write has no memory at `dst`.
        """
        key = (src, dst, intent, kind)
        found = self._ids.get(key)
        if found is None:
            with self._lock:
                found = self._ids.get(key)
                if found is None:
                    found = self._ids[key] = self._intern(src, dst, intent, kind)
        return found

    def key(self, route: int) -> tuple[int, int, int, int]:
        """(source, destination, intent, kind) of a route, which unlike its id do not depend on earlier calls."""
        if route >= len(self._keys):
            with self._lock:
                self._keys = list(self._ids)  # in the order of the ids
        return self._keys[route]

    def path(self, src: int, dst: int, intent: Intent) -> list[int]:
        """The nodes on the path from `src` to `dst`, both ends included. Errors: UnreachableError."""
        ends = self._machine.edge_dst
        return [src, *ends[self._find_path(src, dst, intent)].tolist()]

    def nearest(self, sources: Sequence[int], dst: int, intent: Intent) -> int:
        """The source with the shortest path to `dst`, of equal ones the first. Errors: UnreachableError."""
        return sources[0] if len(sources) == 1 else min(sources, key=lambda src: self.distance(src, dst, intent))

    def distance(self, src: int, dst: int, intent: Intent) -> int:
        """The weight of the path: its length in µm, plus 1 for each link, plus penalties. Errors: UnreachableError."""
        return int(self._machine.edge_weight[self._find_path(src, dst, intent)].sum())

    def edges(self, route: int) -> list[int]:
        """The edges that the payload of a route passes, in order."""
        tables = self.tables()
        stations = tables.station[tables.start[route] : tables.start[route + 1]]
        return stations[stations < self._machine.edge_count].tolist()

    def edges_between(self, src: int, dst: int, intent: Intent) -> list[int]:
        """The edges on the path from `src` to `dst`, in order. Errors: UnreachableError."""
        return self._find_path(src, dst, intent).tolist()

    def tree(self, src: int, intent: Intent) -> np.ndarray:
        """int64[node] the last edge of the path from `src` to each node, -1 if there is no path."""
        found = self._trees.get((src, intent))
        if found is None:
            found = self._trees[src, intent] = self._find_tree(src, intent)
        return found

    @property
    def route_count(self) -> int:
        """The number of routes so far."""
        return len(self._ids)

    def tables(self) -> Routes:
        """The tables of all routes so far, as the loop reads them."""
        with self._lock:
            if self._new or self._tables is None:
                new = _make_tables(self._new)
                self._tables = new if self._tables is None else _append_tables(self._tables, new)
                self._new.clear()
            return self._tables

    def _effective_intent(self, src: int, dst: int, intent: Intent) -> Intent:
        """The intent whose links are used: DMA of PEs between two parts of one cube stays inside the cube."""
        if intent == Intent.PE_DMA:
            cube = self._machine.places.cube_of()
            if cube[src] >= 0 and cube[src] == cube[dst]:
                return Intent.CUBE_LOCAL
        return intent

    def _find_path(self, src: int, dst: int, intent: Intent) -> np.ndarray:
        """int64[link] the edges of a path: over the links between SIPs that are known, and between these the shortest."""
        intent, pieces, at = self._effective_intent(src, dst, intent), list[np.ndarray](), src
        for leave, enter in self._machine.places.crossings(src, dst):
            pieces += [self._shortest(at, leave, intent), self._link(leave, enter, intent)]
            at = enter
        path = np.concatenate([*pieces, self._shortest(at, dst, intent)])
        if (path < 0).any():
            raise UnreachableError(
                f"no route leads from {self._machine.node_name[src]} to {self._machine.node_name[dst]} "
                f"for {intent.name.lower()} traffic; check the links of topology {self._machine.name}"
            )
        return path

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

    def _intern(self, src: int, dst: int, intent: Intent, kind: RouteKind) -> int:
        machine = self._machine
        there = self._find_path(src, dst, intent)
        message = kind in (RouteKind.MESSAGE, RouteKind.ACKNOWLEDGED)
        if not message and dst not in machine.terminals:
            raise UnreachableError(
                f"{machine.node_name[dst]} is no memory, so nothing can be read or written there "
                f"from {machine.node_name[src]}; name an HBM controller or an SRAM"
            )
        back = there[:0] if kind == RouteKind.MESSAGE else self._find_way_back(there, src, dst, intent)
        out_fs, home_fs = (int(machine.stations.propagation_fs[edges].sum()) for edges in (there, back))
        if message:
            found = _Route(self._links(there), (0, home_fs, out_fs, WRITE))
        elif kind == RouteKind.WRITE:
            found = _Route(np.vstack([self._links(there), self._memory(dst)]), (0, home_fs, out_fs, WRITE))
        else:
            links = self._links(back, is_reply=True)
            found = _Route(np.vstack([self._memory(dst), links]), (out_fs, 0, home_fs, READ))
        self._new.append(found)
        return len(self._ids)

    def _find_way_back(self, there: np.ndarray, src: int, dst: int, intent: Intent) -> np.ndarray:
        """int64[link] the edges from `dst` to `src`: those of the path `there` reversed, if all of them lead both ways."""
        back = there[::-1] ^ 1  # the two directions of a link have neighbouring ids (see `builder`)
        if (self._machine.edge_kind[back] == EdgeKind.CLOSED).any():
            return self._find_path(dst, src, intent)
        return back

    def _links(self, edges: np.ndarray, is_reply: bool = False) -> np.ndarray:
        """int64[step, 5] the steps of a path; the node between two links charges its overhead at the second."""
        steps = np.zeros((len(edges), 5), np.int64)
        steps[:, 0], steps[:, 1] = edges, 1
        between = self._machine.edge_src[edges[1:]]
        steps[1:, 2] = self._machine.node_overhead_fs[between]
        steps[1:, 3] = self._machine.node_store_and_forward[between]
        if self._machine.flow_control:
            steps[:, 4] = self._channel_kinds(edges, steps[:, 3] == 1, is_reply)
        return steps

    def _channel_kinds(self, edges: np.ndarray, whole: np.ndarray, is_reply: bool) -> np.ndarray:
        """int64[link] the kind of virtual channels on each link of a path, as `FlowControl.channels_of` takes it."""
        machine = self._machine
        if len(machine.channel_order) == 0:
            nodes = [*machine.edge_src[edges[1:]].tolist(), int(machine.edge_dst[edges[-1]])]
            return np.array([0, *machine.places.sides(nodes)])
        layers = layers_of(machine.channel_order, edges, whole, is_reply)
        control = machine.flow_control
        if control and layers.max(initial=0) >= control.layers:
            raise UnreachableError(
                f"a route from {machine.node_name[machine.edge_src[edges[0]]]} to "
                f"{machine.node_name[machine.edge_dst[edges[-1]]]} needs {layers.max() + 1} layers of virtual channels, but "
                f"those that programs take need {control.layers}; choose other ends, or flow_control unbounded"
            )
        return 2 * layers + is_reply

    def _memory(self, node: int) -> tuple[int, int, int, int, int]:
        terminal = self._machine.terminals[node]
        return terminal.first_station, terminal.stripes, terminal.overhead_fs, 0, 0


def _make_tables(found: list[_Route]) -> Routes:
    """The tables of some routes."""
    start = np.cumsum([0, *(len(route.steps) for route in found)], dtype=np.int64)
    steps = np.concatenate([np.zeros((0, 5), np.int64), *(route.steps for route in found)])
    ends = np.array([route.ends for route in found], np.int64).reshape(-1, 4)
    return Routes(start, *(np.ascontiguousarray(column) for column in (*steps.T, *ends.T)))


def _append_tables(old: Routes, new: Routes) -> Routes:
    start = np.concatenate([old.start, old.start[-1] + new.start[1:]])
    return Routes(start, *(np.concatenate(pair) for pair in zip(old[1:], new[1:], strict=True)))
