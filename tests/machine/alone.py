"""The uncontended latency of a transfer from its route table: every flit, station by station."""

from __future__ import annotations

from kernbench.machine import Machine


def transfer_fs(machine: Machine, route: int, nbytes: int, stripe: int = 0) -> int:
    """Femtoseconds from the start of a transfer to its completion."""
    routes, stations = machine.routing.tables(), machine.stations
    sizes = [min(machine.flit_bytes, nbytes - at) for at in range(0, nbytes, machine.flit_bytes)]
    times = [int(routes.lead_fs[route])] * len(sizes)
    for step in range(routes.start[route], routes.start[route + 1]):
        if routes.store_and_forward[step]:
            times = [times[-1]] * len(times)
        gate = times[0] + int(routes.overhead_fs[step])
        times = [max(time, gate) for time in times]
        free: dict[int, int] = {}
        for flit, size in enumerate(sizes):
            station = int(routes.station[step]) + (stripe + flit) % int(routes.stripes[step])
            quantum = int(stations.quantum_bytes[station])
            served = min(-(-size // quantum) * quantum, machine.flit_bytes) * int(stations.fs_per_flit[station])
            free[station] = max(times[flit], free.get(station, 0)) - -served // machine.flit_bytes
            times[flit] = free[station] + int(stations.propagation_fs[station])
    return max(times) + int(routes.tail_fs[route])
