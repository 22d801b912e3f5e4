"""From routes to the order of visits and the ports of the network, for the routes that a program uses.

An edge of the channel graph joins two stations that follow each other on some route. Where the graph has cycles (a ring of
SIPs, a torus, reads and writes that cross at a memory), the slowest edges are allowed to go against the order: the largest
latency is sought such that all faster edges still form no cycle, and that latency is how far one sweep may go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.program.ops import NONE
from kernels_jit import state as at
from kernels_jit.operands import note_moves
from kernels_jit.order import channel_order
from kernels_jit.state import NEVER
from kernels_jit.tables import Routes, Stations

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


class Network(NamedTuple):
    """Steps and routes as the loop reads them, the order of visits, and the ports through which flits enter stations.

    A station has one port per station that feeds it; flits leave a station in time order, so each port is a queue.
    """

    step: np.ndarray  # int64[step + 1, STEP_COLUMNS], stations by number; one row more, so that every step has a next
    route: np.ndarray  # int64[route, ROUTE_COLUMNS]
    port_start: np.ndarray  # int64[station + 1]
    pairs: np.ndarray  # int64[port] station * stations + feeder, in order
    rank: np.ndarray  # int64[station] place in the order of visits
    window_fs: int  # how far one sweep may go: what an edge against the order takes at least


class _Edges(NamedTuple):
    """One row a pair of stations that follow each other: `step` is that of the later one."""

    src: np.ndarray
    dst: np.ndarray
    latency_fs: np.ndarray
    whole: np.ndarray


class NetworkBuilder:
    """Gathers the routes a growing program uses and builds the network for them."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._least = np.zeros(0, np.int64)  # int64[route] smallest flit that takes it, or NEVER for routes not used
        self._laid = 0  # routes that the network built last knows
        self._pairs = np.zeros(0, np.int64)

    def add_rows(self, op: np.ndarray, first: int) -> bool:
        """Take in int64[row, ROW_WIDTH] rows from `first` on; answers whether the network must be built anew."""
        routes = len(self._machine.routing.tables().start) - 1
        if routes > len(self._least):
            self._least = np.append(self._least, np.full(routes, NEVER, np.int64))
        return bool(note_moves(op, first, self._machine.flit_bytes, self._least, self._laid))

    def build(self) -> Network:
        """The network of all routes used so far: ports, order of visits, window."""
        machine, routes = self._machine, self._machine.routing.tables()
        stations, count = machine.stations, len(machine.stations.fs_per_flit)
        self._laid = len(routes.start) - 1
        used = np.flatnonzero(self._least != NEVER)
        steps, least = _later_steps(routes, used, self._least[used])
        edges = _edges(stations, routes, steps, least, machine.flit_bytes)
        order, window = _order(count, edges)
        rank = np.empty(count, np.int64)
        rank[order] = np.arange(count)
        self._pairs = np.union1d(self._pairs, (edges.dst * count + edges.src)[edges.whole == 0])
        port_start = np.searchsorted(self._pairs, np.arange(count + 1) * count)
        step = np.zeros((len(routes.station) + 1, at.STEP_COLUMNS), np.int64)
        step[:, at.STEP_PORT] = NONE
        step[:-1, : at.STEP_PORT] = np.stack(routes[1:5], axis=1)
        _set_ports(step, steps, port_start, self._pairs)
        route = np.stack([routes.start[:-1], routes.start[1:], *routes[5:]], axis=1)
        return Network(step, route, port_start, self._pairs, rank, window)

    def widths(self) -> tuple[int, int]:
        """The most steps of a route and the most stripes of a step, over all routes of the machine."""
        routes = self._machine.routing.tables()
        return int(np.diff(routes.start).max(initial=1)), int(routes.stripes.max(initial=1))


def _later_steps(routes: Routes, used: np.ndarray, least_bytes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The steps of the used routes but their first, and the smallest flit that takes each."""
    lengths = routes.start[used + 1] - routes.start[used] - 1
    steps = np.repeat(routes.start[used] + 1 - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    return steps, np.repeat(least_bytes, lengths)


def _edges(stations: Stations, routes: Routes, steps: np.ndarray, least: np.ndarray, flit: int) -> _Edges:
    """All pairs of stations, striped steps written out."""
    before, after = routes.stripes[steps - 1], routes.stripes[steps]
    both = before * after
    step = np.repeat(steps, both)
    within = np.arange(len(step)) - np.repeat(np.cumsum(both) - both, both)
    src = routes.station[step - 1] + within // np.repeat(after, both)
    dst = routes.station[step] + within % np.repeat(after, both)
    nbytes = np.repeat(least, both)
    full, quantum = stations.fs_per_flit[src], stations.quantum_bytes[src]
    padded = -(-nbytes // quantum) * quantum
    service = np.where(nbytes < flit, -(-padded * full // flit), full)
    latency = service + stations.propagation_fs[src]
    return _Edges(src, dst, latency, routes.whole[step])


def _order(count: int, edges: _Edges) -> tuple[np.ndarray, int]:
    """Stations by rank, and the window (fs) within which no flit goes against that order."""
    levels = np.unique(edges.latency_fs)
    order, placed = channel_order(count, edges.src, edges.dst, edges.latency_fs, NEVER)
    if placed == count:
        return order, NEVER
    low, high = 0, len(levels) - 1  # edges faster than levels[low] form no cycle, as there are none
    while low < high:
        middle = (low + high + 1) // 2
        if channel_order(count, edges.src, edges.dst, edges.latency_fs, levels[middle])[1] == count:
            low = middle
        else:
            high = middle - 1
    order, _ = channel_order(count, edges.src, edges.dst, edges.latency_fs, levels[low])
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(count)
    against = rank[edges.src] >= rank[edges.dst]
    return order, int(edges.latency_fs[against].min())


def _set_ports(step: np.ndarray, steps: np.ndarray, port_start: np.ndarray, pairs: np.ndarray) -> None:
    """Write which port each of `steps` enters: that of stripe 0, ports per own stripe, ports per stripe before."""
    count = len(port_start) - 1
    queued = steps[step[steps, at.STEP_WHOLE] == 0]
    station, before = step[queued, at.STEP_STATION], step[queued - 1, at.STEP_STATION]
    step[queued, at.STEP_PORT] = np.searchsorted(pairs, station * count + before)
    striped = step[queued, at.STEP_STRIPES] > 1
    step[queued[striped], at.STEP_PORT_OWN] = np.diff(port_start)[station[striped]]
    step[queued[step[queued - 1, at.STEP_STRIPES] > 1], at.STEP_PORT_BEFORE] = 1
