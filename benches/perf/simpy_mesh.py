"""The same wire in SimPy, written as its users write it: a store and a process for each link.

A link takes one flit at a time from its store, is busy for the service time and hands the flit to the next link after the
propagation. Flits are numbers, routes are lists made beforehand, and nothing is recorded on the way.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import simpy

from kernbench.machine import Machine
from kernbench.machine.intents import Intent, RouteKind


@dataclass(slots=True)
class Link:
    """One directed link: what waits before it and how long a flit takes."""

    queue: simpy.Store
    service_ns: float
    propagation_ns: float


class SimpyMesh:
    """The links of a machine that some messages use."""

    def __init__(self, machine: Machine, pairs: Iterable[tuple[int, int]], nbytes: int) -> None:
        self.env = simpy.Environment()
        self.flit_hops = 0
        self._links: dict[int, Link] = {}
        self._machine = machine
        for src, dst in pairs:
            route = machine.routing.route(src, dst, Intent.ALL, RouteKind.MESSAGE)
            way = [self._link(edge) for edge in machine.routing.edges(route)]
            for _ in range(nbytes // machine.flit_bytes):
                way[0].queue.put((way, 0))

    def run(self) -> float:
        """Run to the end; returns flit-hops a second."""
        begun = perf_counter()
        self.env.run()
        return self.flit_hops / (perf_counter() - begun)

    def _link(self, edge: int) -> Link:
        found = self._links.get(edge)
        if found is None:
            stations = self._machine.stations
            found = self._links[edge] = Link(
                simpy.Store(self.env), stations.fs_per_flit[edge] / 1e6, stations.propagation_fs[edge] / 1e6
            )
            self.env.process(self._serve(found))
        return found

    def _serve(self, link: Link) -> Generator[simpy.Event, tuple[list[Link], int], None]:
        env, queue = self.env, link.queue
        while True:
            way, step = yield queue.get()
            yield env.timeout(link.service_ns)
            self.flit_hops += 1
            step += 1
            if step < len(way):
                env.timeout(link.propagation_ns, (way, step)).callbacks.append(_hand_on)
            else:
                env.timeout(link.propagation_ns)


def _hand_on(crossing: Any) -> None:
    way, step = crossing.value
    way[step].queue.put((way, step))
