"""Routes: the stations that payloads pass, computed once and numbered. They go over the shortest paths (see `shortest_paths`).

In a round trip flits move in one direction only. A write sends its flits along the links to the memory and is acknowledged by
a message of no bytes, which pays propagation only (`tail`); so is an acknowledged message. A read's request pays propagation
only (`lead`), and its flits leave the memory and come back along the same links reversed. Where one of these leads one way
only, what comes back takes the path from there to the source. Each node strictly between the two ends charges its overhead.

A route to many destinations is a tree of such paths (see `multicast_tree`): its payload crosses each link once, and is copied
where the tree forks. It is a message, acknowledged or not, or a write; acknowledgements come back from each destination.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.errors import InputError, UnreachableError
from kernbench.machine.intents import EdgeKind, Intent, RouteKind
from kernbench.machine.network.channel_layers import layers_of
from kernbench.machine.network.multicast_tree import MulticastTree, find_tree
from kernbench.machine.network.shortest_paths import ShortestPaths
from kernels_jit.layout.codes import NONE, READ, WRITE
from kernels_jit.layout.machine_tables import Routes

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

_MESSAGES = (RouteKind.MESSAGE, RouteKind.ACKNOWLEDGED)

_Key = tuple[Any, ...]  # source, destination or destinations, intent, kind; of a later branch its number as well


class _Route(NamedTuple):
    steps: np.ndarray  # int64[step, 5]: station, stripes, overhead_fs, store_and_forward, channels
    ends: tuple[int, int, int, int]  # lead_fs, tail_fs, propagation_fs, direction
    path: int  # as in `Routes`
    tree: tuple[int, int, int, int, int] = (NONE, 1, 0, NONE, 0)  # parent, branches, destinations, destination, forks
    reached: int = NONE
    packet_flits: int = 0


class Routing:
    """The routes of one machine: shortest paths by intent, numbered when they are first asked for.

    Threads may share it. Adding a route and reading the tables take the lock, so that ids and tables agree.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._ids: dict[_Key, int] = {}
        self._keys: list[_Key] = []  # the keys of `_ids` in order, as of the last call of `key`
        self._paths = ShortestPaths(machine)
        self._tables: Routes | None = None
        self._new: list[_Route] = []  # not yet in the tables
        self._lock = threading.RLock()

    def on(self, machine: Machine) -> Routing:
        """These routes, under the same ids, on a machine that differs in times alone."""
        other = Routing(machine)
        with self._lock:
            other._ids, tables, stations = dict(self._ids), self.tables(), self.overhead_stations()
        other._paths = self._paths
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
        before = tables.before
        return np.where(link & ((before == NONE) | ~link[before]), NONE, tables.station)

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

    def multicast(self, src: int, destinations: Sequence[int], intent: Intent, kind: RouteKind) -> int:
        """The id of the route from a node to a set of others: their order is nothing, `destinations` of the id tells theirs.

        Errors: InputError where nobody is named, or one twice, or the source itself; for a read; and for a destination on the
        way to others, or a limit of outstanding packets, where links have credits. UnreachableError as `route`.
        """
        key = (src, tuple(sorted(destinations)), intent, kind)
        with self._lock:
            if key not in self._ids:
                self._check_multicast(*key)
                self._intern_multicast(*key)
            return self._ids[key]

    def destinations(self, route: int) -> tuple[int, ...]:
        """The nodes to which a route leads, in the order in which their arrivals are noted."""
        to: tuple[int, ...] | int = self.key(route)[1]
        return to if isinstance(to, tuple) else (to,)

    def key(self, route: int) -> _Key:
        """(source, destination or destinations, intent, kind) of a route; unlike its id they do not depend on earlier calls."""
        if route >= len(self._keys):
            with self._lock:
                self._keys = list(self._ids)  # in the order of the ids
        return self._keys[route]

    def path(self, src: int, dst: int, intent: Intent) -> list[int]:
        """The nodes on the path from `src` to `dst`, both ends included. Errors: UnreachableError."""
        ends = self._machine.edge_dst
        return [src, *ends[self._paths.find(src, dst, intent)].tolist()]

    def nearest(self, sources: Sequence[int], dst: int, intent: Intent) -> int:
        """The source with the shortest path to `dst`, of equal ones the first. Errors: UnreachableError."""
        return sources[0] if len(sources) == 1 else min(sources, key=lambda src: self.distance(src, dst, intent))

    def distance(self, src: int, dst: int, intent: Intent) -> int:
        """The weight of the path: its length in µm, plus 1 for each link, plus penalties. Errors: UnreachableError."""
        return int(self._machine.edge_weight[self._paths.find(src, dst, intent)].sum())

    def edges(self, route: int) -> list[int]:
        """The edges that the payload of a route passes, in order; of a tree branch after branch."""
        tables = self.tables()
        stations = tables.station[tables.start[route] : tables.end[route]]
        return stations[stations < self._machine.edge_count].tolist()

    def edges_between(self, src: int, dst: int, intent: Intent) -> list[int]:
        """The edges on the path from `src` to `dst`, in order. Errors: UnreachableError."""
        return self._paths.find(src, dst, intent).tolist()

    def tree(self, src: int, intent: Intent) -> np.ndarray:
        """int64[node] the last edge of the path from `src` to each node, -1 if there is no path."""
        return self._paths.tree(src, intent)

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

    def _intern(self, src: int, dst: int, intent: Intent, kind: RouteKind) -> int:
        machine = self._machine
        there = self._paths.find(src, dst, intent)
        message = kind in _MESSAGES
        if not message:
            self._check_memory(src, dst)
        number = len(self._ids)
        back = there[:0] if kind == RouteKind.MESSAGE else self._find_way_back(there, src, dst, intent)
        out_fs, home_fs = (int(machine.stations.propagation_fs[edges].sum()) for edges in (there, back))
        if message:
            found = _Route(self._way(there), (0, home_fs, out_fs, WRITE), number)
        elif kind == RouteKind.WRITE:
            found = _Route(np.vstack([self._way(there), self._memory(dst)]), (0, home_fs, out_fs, WRITE), number)
        else:
            links = self._way(back, is_reply=True)
            found = _Route(np.vstack([self._memory(dst), links]), (out_fs, 0, home_fs, READ), number)
        control = machine.flow_control
        self._new.append(found._replace(packet_flits=control.packet_flits if control else 0))
        return number

    def _check_memory(self, src: int, dst: int) -> None:
        names = self._machine.node_name
        if dst not in self._machine.terminals:
            raise UnreachableError(
                f"{names[dst]} is no memory, so nothing can be read or written there "
                f"from {names[src]}; name an HBM controller or an SRAM"
            )

    def _check_multicast(self, src: int, destinations: tuple[int, ...], intent: Intent, kind: RouteKind) -> None:
        name, names = self._machine.node_name[src], self._machine.node_name
        if kind == RouteKind.READ:
            raise InputError(f"a multicast from {name} cannot read; let it write or send a message")
        if not destinations:
            raise InputError(f"a multicast from {name} names no destination; name at least one")
        for one, next_one in pairwise(destinations):
            if one == next_one:
                raise InputError(f"a multicast from {name} names {names[one]} twice; name each destination once")
        for dst in destinations:
            if len(self._paths.find(src, dst, intent)) == 0:
                raise InputError(f"a multicast from {name} names its own source as a destination; leave it out")
            if kind == RouteKind.WRITE:
                self._check_memory(src, dst)

    def _find_packet_flits(self, src: int, tree: MulticastTree) -> int:
        """The flits of the largest packet of a tree: one stands whole wherever it is copied. 0 where links have no credits.

        Errors: InputError where links with credits cannot take the tree.
        """
        machine, control = self._machine, self._machine.flow_control
        if control is None:
            return 0
        what, found = f"a multicast from {machine.node_name[src]}", control.packet_flits
        if control.outstanding_packets:
            raise InputError(
                f"{what} has packets with several ends, and outstanding_packets limits those with one; leave it out, "
                "or send to one destination at a time"
            )
        for branch in tree.branches:
            node = int(machine.edge_dst[branch.links[-1]])
            if branch.forks == 0 or machine.node_store_and_forward[node]:
                continue
            if branch.destination != NONE:
                raise InputError(
                    f"{what} passes {machine.node_name[node]}, which is one of its destinations, on the way to others; "
                    "with credits leave it out"
                )
            found = min(found, control.ports[int(machine.port_class[node])].buffer_flits)
        return found

    def _intern_multicast(self, src: int, destinations: tuple[int, ...], intent: Intent, kind: RouteKind) -> None:
        """Add the branches of a tree, and a route to one of its destinations that goes over the tree's own links."""
        paths = [self._paths.find(src, dst, intent).tolist() for dst in destinations]
        tree = find_tree(self._machine.edge_dst, paths, [kind == RouteKind.WRITE] * len(paths))
        packet_flits = self._find_packet_flits(src, tree)
        straight = [number for number, path in enumerate(paths) if path == tree.ways[number]]
        farthest = max(straight, key=lambda number: len(paths[number]))
        path = self.route(src, destinations[farthest], intent, kind)
        first, channels = len(self._ids), self._tree_channels(tree)
        for number in range(len(tree.branches)):
            key = (src, destinations, intent, kind)
            route = self._branch(tree, number, key, first, channels)._replace(packet_flits=packet_flits)
            self._new.append(route if number else route._replace(path=path, reached=farthest))
            self._ids[(*key, number) if number else key] = first + number

    def _tree_channels(self, tree: MulticastTree) -> dict[int, int]:
        """The kind of virtual channels on each link of a tree: the last of those on the ways to destinations behind it."""
        found = dict[int, int]()
        if self._machine.flow_control:
            for way in tree.ways:
                kinds = self._way(np.array(way, np.int64))[:, 4].tolist()
                found |= {link: max(kind, found.get(link, 0)) for link, kind in zip(way, kinds, strict=True)}
        return found

    def _branch(self, tree: MulticastTree, number: int, key: _Key, first: int, channels: dict[int, int]) -> _Route:
        (src, destinations, intent, kind), branch = key, tree.branches[number]
        links, at = np.array(branch.links, np.int64), tree.branches[number].destination
        steps = self._links(links, begins=branch.parent == NONE)
        steps[:, 4] = [channels.get(link, 0) for link in branch.links]
        tail_fs = out_fs = 0
        if at != NONE:
            way, wires = np.array(tree.ways[at], np.int64), self._machine.stations.propagation_fs
            out_fs = int(wires[way].sum())
            if kind != RouteKind.MESSAGE:
                tail_fs = int(wires[self._find_way_back(way, src, destinations[at], intent)].sum())
            if branch.memory:
                steps = np.vstack([steps, self._memory(destinations[at])])
        parent = NONE if branch.parent == NONE else first + branch.parent
        shape = (parent, 0 if number else len(tree.branches), len(destinations), at, branch.forks)
        return _Route(steps, (0, tail_fs, out_fs, WRITE), first + number, shape)

    def _find_way_back(self, there: np.ndarray, src: int, dst: int, intent: Intent) -> np.ndarray:
        """int64[link] the edges from `dst` to `src`: those of the path `there` reversed, if all of them lead both ways."""
        back = there[::-1] ^ 1  # the two directions of a link have neighbouring ids (see `builder`)
        if (self._machine.edge_kind[back] == EdgeKind.CLOSED).any():
            return self._paths.find(dst, src, intent)
        return back

    def _way(self, edges: np.ndarray, is_reply: bool = False) -> np.ndarray:
        """int64[step, 5] the steps of a path from its source on, with their kinds of virtual channels."""
        steps = self._links(edges)
        if self._machine.flow_control:
            steps[:, 4] = self._channel_kinds(edges, steps[:, 3] == 1, is_reply)
        return steps

    def _links(self, edges: np.ndarray, *, begins: bool = True) -> np.ndarray:
        """int64[step, 5] the steps of a path; the node between two links charges its overhead at the second.

        `begins`: the path begins at the source, which charges nothing.
        """
        steps = np.zeros((len(edges), 5), np.int64)
        steps[:, 0], steps[:, 1] = edges, 1
        first = int(begins)
        between = self._machine.edge_src[edges[first:]]
        steps[first:, 2] = self._machine.node_overhead_fs[between]
        steps[first:, 3] = self._machine.node_store_and_forward[between]
        return steps

    def _channel_kinds(self, edges: np.ndarray, whole: np.ndarray, is_reply: bool) -> np.ndarray:
        """int64[link] the kind of virtual channels on each link of a path, as `FlowControl.channels_of` takes it."""
        machine, control = self._machine, self._machine.flow_control
        assert control is not None
        if len(machine.channel_order) == 0:
            nodes = [*machine.edge_src[edges[1:]].tolist(), int(machine.edge_dst[edges[-1]])]
            halves = machine.places.halves(nodes, control.dateline)
            return np.array([control.kind(half, is_reply) for half in (0, *halves)])
        layers = layers_of(machine.channel_order, edges, whole, is_reply)
        if layers.max(initial=0) >= control.layers:
            raise UnreachableError(
                f"a route from {machine.node_name[machine.edge_src[edges[0]]]} to "
                f"{machine.node_name[machine.edge_dst[edges[-1]]]} needs {layers.max() + 1} layers of virtual channels, but "
                f"those that programs take need {control.layers}; choose other ends, or flow_control unbounded"
            )
        return control.kind(layers, is_reply)

    def _memory(self, node: int) -> tuple[int, int, int, int, int]:
        terminal = self._machine.terminals[node]
        return terminal.first_station, terminal.stripes, terminal.overhead_fs, 0, 0


def _make_tables(found: list[_Route]) -> Routes:
    """The tables of some routes."""
    start = np.cumsum([0, *(len(route.steps) for route in found)], dtype=np.int64)
    steps = np.concatenate([np.zeros((0, 5), np.int64), *(route.steps for route in found)])
    ends = np.array(
        [(*route.ends, *route.tree, route.path, route.reached, route.packet_flits) for route in found], np.int64
    ).reshape(-1, 12)
    return Routes(start, *(np.ascontiguousarray(column) for column in (*steps.T, *ends.T)))


def _append_tables(old: Routes, new: Routes) -> Routes:
    start = np.concatenate([old.start, old.start[-1] + new.start[1:]])
    return Routes(start, *(np.concatenate(pair) for pair in zip(old[1:], new[1:], strict=True)))
