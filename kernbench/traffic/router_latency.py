"""What routers with credits add to the zero-load latency of a flow: a walk of its first flit, link by link.

Without credits a flit takes the service and the wire of each link, and the overhead of each part. With credits it passes the
pipelines of routers, too; a memory reads a whole packet before it sends; and what a router or a memory sees is rounded up to
the cycle of routers. The end of a flow is not rounded. So two directions of one way may differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.network.flow_control import FlowControl
    from kernbench.machine.network.uncontended_latency import UncontendedLatency


def find_router_fs(machine: Machine, latency: UncontendedLatency, start_fs: int, flits: int) -> int:
    """What routers add to the latency of a payload that starts at `start_fs`; 0 without credits. Times are in femtoseconds.

    Later flits may add more: where a buffer is empty before a credit is back, or a router works longer on a head than the
    link on the packet before it.
    """
    control = machine.flow_control
    if control is None:
        return 0
    stations, links = latency.station.tolist(), latency.station < machine.edge_count
    without = int(latency.first_fs.sum() + latency.overhead_fs.sum())
    without += int(machine.stations.propagation_fs[latency.station[links]].sum())
    walk, now, last = _Walk(machine, control), start_fs, len(stations) - 1
    for step, station in enumerate(stations):
        overhead_fs, first_fs = int(latency.overhead_fs[step]), int(latency.first_fs[step])
        if links[step]:
            now = walk.cross(station, now, overhead_fs, begins=step == 0, ends=step == last)
        else:
            rounds = 1 if step else -(-min(flits, control.packet_flits) // int(latency.stripes[step]))
            now = walk.serve(station, now, overhead_fs + first_fs, rounds)
    return now - start_fs - without


class _Walk:
    """The steps of a first flit on a machine with credits."""

    def __init__(self, machine: Machine, control: FlowControl) -> None:
        self._machine, self._control = machine, control
        self._is_router, self._cycle_fs = machine.is_router, machine.cycle_fs

    def cross(self, link: int, now: int, overhead_fs: int, *, begins: bool, ends: bool) -> int:
        """When a flit is behind a link, at which its way begins or ends; the overhead is that of the node before it."""
        machine = self._machine
        src, dst = int(machine.edge_src[link]), int(machine.edge_dst[link])
        full = int(machine.stations.fs_per_flit[link])
        if self._is_router[src] and not begins:  # which has taken its overhead when it saw the flit
            port = self._control.ports[int(machine.port_class[src])]
            now += self._up(port.routing_fs)
            if not self._control.speculative:
                now += self._up(max(1, port.vc_allocation_fs))
            now += port.switch_allocation_fs + max(port.traversal_fs, full)
        else:
            now = self._up(now + overhead_fs) + full
        now += int(machine.stations.propagation_fs[link])
        if ends or machine.node_store_and_forward[dst]:
            return now
        return self._up(now + (int(machine.node_overhead_fs[dst]) if self._is_router[dst] else 0))

    def serve(self, station: int, now: int, first_fs: int, rounds: int) -> int:
        """When each channel of a memory has served so many flits, the first of them in `first_fs`."""
        return self._up(now) + first_fs + (rounds - 1) * int(self._machine.stations.fs_per_flit[station])

    def _up(self, time_fs: int) -> int:
        """A time rounded up to a cycle."""
        return -(-time_fs // self._cycle_fs) * self._cycle_fs
