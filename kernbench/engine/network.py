"""Build the network of the routes that a program uses: the ports of its stations and the visit order.

An edge of the channel graph joins two stations that follow each other on some route. Where the graph has cycles (a ring of
SIPs, a torus, reads and writes that cross at a memory), the slowest edges are allowed to go against the order: the largest
latency is sought such that all faster edges still form no cycle, and that latency is how far one pass may go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import expand_ranges, unique_rows
from kernbench.machine.network.flit_service import service_fs
from kernbench.program.growable_array import enlarged
from kernbench.program.ops import NONE
from kernels_jit.flits.ports import set_ports
from kernels_jit.layout import records as r
from kernels_jit.layout.machine_tables import Routes, Stations
from kernels_jit.layout.records import NEVER
from kernels_jit.loop.op_rows import note_entries
from kernels_jit.loop.visit_order import visit_order

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


# Fields of steps, and the columns of the routes that they come from; `channels` holds their kind until it is in the memory.
_GIVEN = (
    ("station", "station"),
    ("stripes", "stripes"),
    ("overhead_fs", "overhead_fs"),
    ("store_and_forward", "store_and_forward"),
    ("channels", "channels"),
)


_OF_ROUTE = (
    *("lead_fs", "tail_fs", "propagation_fs", "direction"),
    *("destinations", "branches", "parent", "destination", "forks", "packet_flits"),
)


class Network(NamedTuple):
    """Steps and routes as the loop reads them, the order of visits, and the ports through which flits enter stations.

    A station has one port per station that feeds it; flits leave a station in time order, so each port is a queue.
    """

    # STEP[step + 1], stations by number; one row more, so that every step has a next. Good until the next build.
    step: np.ndarray
    route: np.ndarray  # ROUTE[route]
    port_start: np.ndarray  # int64[station + 1]
    pairs: np.ndarray  # int64[port] station * stations + feeder, in order
    order: np.ndarray  # int64[station] the visit order; the same array as before if it has not changed
    window_fs: int  # the longest pass: the least latency of an edge against the order
    sources: np.ndarray  # bool[station] whether a route begins there
    before_start: np.ndarray  # int64[station + 1]
    before: np.ndarray  # int64[edge] the feeder of a station; all feeders of one together
    latency_fs: np.ndarray  # int64[edge] the least latency of a flit from there


class Flits(NamedTuple):
    """The smallest flits that take the edges of a network, each size of an edge once."""

    edge: np.ndarray  # int64[flit]
    nbytes: np.ndarray  # int64[flit]


class _Edges(NamedTuple):
    """One row for each pair of consecutive stations of a route, and the smallest flit between them."""

    src: np.ndarray
    dst: np.ndarray
    nbytes: np.ndarray
    store_and_forward: np.ndarray


class NetworkBuilder:
    """Collects the routes of a growing program and builds the network for them.

    Live kernels add one route at a time, hundreds of times: the data of the other routes is kept, and a route whose edges
    follow the present order leaves it unchanged.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._least = np.zeros(0, np.int64)  # int64[route] smallest flit that takes it, or NEVER for routes not used
        self._joined = np.zeros(0, np.int64)  # int64[route] the same when its edges were added
        self._laid = 0  # routes in the network built last
        self._step = np.zeros(0, r.STEP)  # their steps, and room for more
        self._keys = np.zeros(0, np.int64)  # edges as later station * stations + earlier, in order
        self._latency_fs = np.zeros(0, np.int64)  # of each, the least
        self._queued = np.zeros(0, bool)  # whether flits queue there one by one
        self._order = np.zeros(0, np.int64)
        self._rank = np.zeros(0, np.int64)
        self._window_fs = NEVER
        self.live: bool = False  # whether there was an ask: then new routes may begin anywhere, at any time

    def add_entries(self, op: np.ndarray, first: int) -> bool:
        """Add int64[entry, ROW_WIDTH] of an op table from `first` on; returns whether the network must be rebuilt."""
        more = self._machine.routing.route_count - len(self._least)
        if more > 0:
            self._least = np.append(self._least, np.full(more, NEVER, np.int64))
            self._joined = np.append(self._joined, np.full(more, NEVER, np.int64))
        branches = self._machine.routing.tables().branches
        changed, asks = note_entries(op, first, self._machine.flit_bytes, self._least, self._laid, branches)
        first_ask = asks and not self.live
        self.live |= asks
        return changed or first_ask

    def build(self) -> Network:
        """The network of all routes used so far: ports, visit order, window."""
        machine, routes = self._machine, self._machine.routing.tables()
        count = len(machine.stations.fs_per_flit)
        self._add_steps(routes)
        if len(self._order) == 0:
            self._order = np.arange(count)
        fresh = np.flatnonzero(self._least != self._joined)
        if len(fresh):
            self._join(_edges(routes, *_later_steps(routes, fresh, self._least[fresh])), count)
            self._joined[fresh] = self._least[fresh]
        pairs = self._keys[self._queued]
        port_start = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(pairs // count, minlength=count), out=port_start[1:])
        used = np.flatnonzero(self._least != NEVER)
        before = routes.before
        set_ports(self._step, before, routes.start, used, port_start, pairs % count)
        route = np.zeros(len(routes.start) - 1, r.ROUTE)
        route["start"], route["end"] = routes.start[:-1], routes.start[1:]
        for field in _OF_ROUTE:
            route[field] = getattr(routes, field)
        sources = np.zeros(count, bool)
        first = routes.start[used]
        first = first[before[first] == NONE]
        for stripe in range(int(routes.stripes[first].max(initial=1))):
            sources[routes.station[first] + np.minimum(stripe, routes.stripes[first] - 1)] = True
        before_start = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(self._keys // count, minlength=count), out=before_start[1:])
        return Network(
            self._step[: len(routes.station) + 1],
            route,
            port_start,
            pairs,
            self._order,
            self._window_fs,
            sources,
            before_start,
            self._keys % count,
            self._latency_fs,
        )

    def _add_steps(self, routes: Routes) -> None:
        """Add the steps of new routes, without their ports."""
        first, end = int(routes.start[self._laid]), len(routes.station)
        self._laid = len(routes.start) - 1
        if end >= len(self._step):
            self._step = enlarged(self._step, first, end + 1)
            self._step[first:] = 0
            self._step["port"][first:] = NONE
        for field, column in _GIVEN:
            self._step[field][first:end] = getattr(routes, column)[first:]

    def _join(self, edges: _Edges, count: int) -> None:
        """Add edges; recompute the visit order if one violates it within the window of a pass."""
        keys = edges.dst * count + edges.src
        known = np.concatenate([self._keys, keys[~_among(keys, self._keys)]])
        sort = np.argsort(known, kind="stable")
        sort = sort[np.append(True, np.diff(known[sort]) > 0)[: len(sort)]]
        edge_fs = _latency_fs(self._machine.stations, edges, self._machine.flit_bytes)
        latency = np.full(len(known), NEVER, np.int64)
        queued = np.zeros(len(known), bool)
        latency[: len(self._keys)], queued[: len(self._keys)] = self._latency_fs, self._queued
        self._keys, self._latency_fs, self._queued = known[sort], latency[sort], queued[sort]
        place = np.searchsorted(self._keys, keys)
        np.minimum.at(self._latency_fs, place, edge_fs)
        self._queued[place[edges.store_and_forward == 0]] = True
        against = slice(None) if len(self._rank) == 0 else self._rank[edges.src] >= self._rank[edges.dst]
        if (edge_fs[against] < self._window_fs).any():
            src, dst = self._keys % count, self._keys // count
            self._order, room = np.empty(count, np.int64), np.empty((4, count + 1), np.int64)
            onward = np.empty(len(src), np.int64)
            self._window_fs = visit_order(src, dst, self._latency_fs, self._window_fs, self._order, room, onward)
            self._rank = np.empty(count, np.int64)
            self._rank[self._order] = np.arange(count)

    def list_flits(self) -> Flits:
        """The flits from which latencies of edges follow; if services differ, the least of those of an edge's flits counts."""
        routes, used = self._machine.routing.tables(), np.flatnonzero(self._least != NEVER)
        edges = _edges(routes, *_later_steps(routes, used, self._least[used]))
        place = np.searchsorted(self._keys, edges.dst * len(self._machine.stations.fs_per_flit) + edges.src)
        return Flits(*np.ascontiguousarray(unique_rows(np.column_stack([place, edges.nbytes])).rows.T))

    def widths(self) -> tuple[int, int]:
        """The most steps of a route and the most stripes of a step, over all routes of the machine."""
        routes = self._machine.routing.tables()
        return int(np.diff(routes.start).max(initial=1)), int(routes.stripes.max(initial=1))


def _among(keys: np.ndarray, known: np.ndarray) -> np.ndarray:
    """bool[key] whether each is among the known ones. These are sorted."""
    place = np.searchsorted(known, keys)
    found = np.zeros(len(keys), bool)
    inside = place < len(known)
    found[inside] = known[place[inside]] == keys[inside]
    return found


def _later_steps(routes: Routes, used: np.ndarray, least_bytes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The steps of the used routes that follow others, and the smallest flit that takes each."""
    steps, of = expand_ranges(routes.start[used], routes.start[used + 1])
    follows = routes.before[steps] != NONE
    return steps[follows], least_bytes[of][follows]


def _edges(routes: Routes, steps: np.ndarray, least: np.ndarray) -> _Edges:
    """All pairs of stations, striped steps written out."""
    earlier = routes.before[steps]
    before, after = routes.stripes[earlier], routes.stripes[steps]
    within, of = expand_ranges(np.zeros_like(after), before * after)
    step = steps[of]
    src = routes.station[earlier[of]] + within // after[of]
    dst = routes.station[step] + within % after[of]
    return _Edges(src, dst, least[of], routes.store_and_forward[step])


def _latency_fs(stations: Stations, edges: _Edges, flit: int) -> np.ndarray:
    """int64[edge] time of the smallest flit at the earlier station and from there to the later."""
    full, quantum = stations.fs_per_flit[edges.src], stations.quantum_bytes[edges.src]
    return service_fs(edges.nbytes, quantum, full, flit) + stations.propagation_fs[edges.src]
