"""The window of a network with credits, in which no router sees another's acts, and the patience before a deadlock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.arrays import unique_small
from kernbench.machine.network.flit_service import padded_service_fs

if TYPE_CHECKING:
    from kernbench.engine.credit_layout import CreditLayout
    from kernbench.machine.machine import Machine
    from kernbench.machine.network.flow_control import FlowControl


class CreditWindow:
    """Windows in cycles, from the times of links and memories."""

    def __init__(self, machine: Machine, control: FlowControl, layout: CreditLayout, returning: np.ndarray) -> None:
        """`returning`: int64[link] cycles until a credit can be used at the link's source."""
        self._links, self._control, self._layout, self._returning = machine.edge_count, control, layout, returning
        self._service_fs = _service_fs(machine)

    def longest(self, links: np.ndarray) -> int:
        """A window that no step has made shorter: how long flits and credits may be under way. `links`: LINK[link]."""
        control, ways = self._control, (links["crossing_fs"] + links["overhead_fs"], links["sending_fs"])
        furthest = max(int(way.max(initial=0)) for way in ways) + int(links["credit_fs"].max(initial=0))
        deepest = max(port.virtual_channels * port.buffer_flits for port in control.ports)
        waiting = deepest * int(links["full_fs"].max(initial=0))  # behind a fast switch
        pipeline = max(2 * port.routing_fs + port.vc_allocation_fs + port.traversal_fs for port in control.ports)
        memories = max((longest for _, longest in self._service_fs.values()), default=0) * (control.queue_flits + 2)
        return int(self._layout.cycles(furthest + waiting + pipeline + memories))

    def narrow(self, window: int, links: np.ndarray, station: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> int:
        """A window, at most the least time until another actor, or an event, sees what is done at some steps.

        `links`: LINK[link]; `station`: int64[step]; `begins`, `ends`: bool[step] whether flits are sent there by a source, and
        end behind it.
        """
        is_link = station < self._links
        # Steps of one link are alike if they begin and end alike.
        keys = unique_small(4 * station[is_link] + 2 * begins[is_link] + ends[is_link])
        link, begins, ends = keys >> 2, keys & 2 > 0, keys & 1 > 0
        rows = links[link]
        over = np.where(begins, rows["sending_fs"], rows["crossing_fs"])
        over += np.where(ends, 0, rows["overhead_fs"])
        served = [self._service_fs[at][0] for at in unique_small(station[~is_link]).tolist()]
        cycles = self._layout.cycles
        seen = [window], cycles(over), self._returning[link[~ends]], cycles(np.array(served, np.int64))
        return int(np.concatenate(seen).min())


def _service_fs(machine: Machine) -> dict[int, tuple[int, int]]:
    """By first station of a memory: the time of the smallest flit and of a full one, with what it pays besides."""
    stations, flit, found = machine.stations, machine.flit_bytes, dict[int, tuple[int, int]]()
    for terminal in {each.first_station: each for each in machine.terminals.values()}.values():
        at = terminal.first_station
        full, smallest = int(stations.fs_per_flit[at]), min(int(stations.quantum_bytes[at]), flit)
        least = int(padded_service_fs(smallest, full, flit))
        found[at] = least + terminal.overhead_fs, full + terminal.overhead_fs + int(stations.turn_fs[at])
    return found
