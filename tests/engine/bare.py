"""Machines without parts: stations, servers and routes as numbers, for tests of the loop alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kernbench.program.ops import NONE
from kernels_jit.layout.machine_tables import Routes, Stations


@dataclass
class BareRouting:
    """Routes given as (kind, [(station, stripes, overhead_fs, store_and_forward)], lead_fs, tail_fs)."""

    machine: BareMachine
    routes: list[tuple[str, list[tuple[int, int, int, int]], int, int]] = field(default_factory=list)
    trees: dict[int, tuple[int, ...]] = field(
        default_factory=dict
    )  # of branches: parent, branches, destinations, destination, forks
    _made: tuple[list[object], Routes] | None = None  # the tables of the first routes of a list

    @property
    def route_count(self) -> int:
        return len(self.routes)

    def tables(self) -> Routes:
        """The tables of all routes so far, made again only if there are others: the engine asks for them at every step."""
        if self._made is None or self._made[0] is not self.routes or len(self._made[1].lead_fs) != len(self.routes):
            self._made = self.routes, self._make_tables()
        return self._made[1]

    def _make_tables(self) -> Routes:
        steps = [step for _, route, _, _ in self.routes for step in route]
        column = lambda i: np.array([step[i] for step in steps], np.int64)  # noqa: E731
        return Routes(
            start=np.cumsum([0] + [len(route) for _, route, _, _ in self.routes]),
            station=column(0),
            stripes=column(1),
            overhead_fs=column(2),
            store_and_forward=column(3),
            channels=np.zeros(len(steps), np.int64),
            lead_fs=np.array([lead for *_, lead, _ in self.routes], np.int64),
            tail_fs=np.array([tail for *_, tail in self.routes], np.int64),
            propagation_fs=np.array([self._propagation_fs(route) for route in range(len(self.routes))], np.int64),
            direction=np.array([int(kind != "read") for kind, *_ in self.routes], np.int64),
            **self._trees(),
        )

    def _propagation_fs(self, route: int) -> int:
        """From the source on."""
        parent, wires = self.trees.get(route, (NONE,))[0], self.machine.stations.propagation_fs
        own = sum(int(wires[station]) for station, *_ in self.routes[route][1])
        return own + (self._propagation_fs(parent) if parent != NONE else 0)

    def _trees(self) -> dict[str, np.ndarray]:
        trees = [self.trees.get(route, (NONE, 1, 0, NONE, 0)) for route in range(len(self.routes))]
        rows = [(*tree, route, tree[3], 0) for route, tree in enumerate(trees)]
        names = ("parent", "branches", "destinations", "destination", "forks", "path", "reached", "packet_flits")
        return dict(zip(names, np.array(rows, np.int64).reshape(-1, 8).T.copy(), strict=True))


class BareMachine:
    """`stations` rows are (fs_per_flit, quantum_bytes, turn_fs, propagation_fs); the first `edge_count` are links."""

    def __init__(self, stations, edge_count, server_slots, flit_bytes=256):
        self.name = "bare"
        columns = np.array(stations, np.int64).reshape(-1, 4).T.copy()
        self.stations = Stations(*columns)
        self.edge_count = edge_count
        self.server_slots = np.array(server_slots, np.int64)
        self.flit_bytes = flit_bytes
        self.figures = {"fs": 1.0, "ns": 1e6}
        self.flow_control = self.packet_flits = None
        self.routing = BareRouting(self)

    def route(self, kind, steps, lead_fs=0, tail_fs=0):
        """Intern a route; steps are stations, or (station, stripes, overhead_fs, store_and_forward)."""
        full = [step if isinstance(step, tuple) else (step, 1, 0, 0) for step in steps]
        self.routing.routes.append((kind, full, lead_fs, tail_fs))
        return len(self.routing.routes) - 1

    def multicast(self, branches, destinations):
        """Intern a route to many; branches are (steps, parent, destination, forks, tail_fs), parents counted from its first."""
        first = self.routing.route_count
        for number, (steps, parent, destination, forks, tail_fs) in enumerate(branches):
            route = self.route("write", steps, tail_fs=tail_fs)
            shape = len(branches) if number == 0 else 0, destinations, destination, forks
            self.routing.trees[route] = (NONE if parent == NONE else first + parent, *shape)
        return first
