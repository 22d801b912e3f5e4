"""Through which port the flits of a route enter each of its stations."""

from __future__ import annotations

from kernels_jit._jit import inner
from kernels_jit.state import (
    STEP_PORT,
    STEP_PORT_BEFORE,
    STEP_PORT_OWN,
    STEP_STATION,
    STEP_STRIPES,
    STEP_WHOLE,
)


@inner
def set_ports(step, route_start, used, port_start, feeder):
    """Write which port each step of the used routes enters: that of stripe 0, ports per own stripe, ports per stripe before.

    Arguments: int64[step, STEP_COLUMNS] with stations by number, int64[route + 1] first steps, int64[] routes, int64[station
    + 1] first ports, int64[port] the stations that feed them. First and whole steps enter none, and stay as they are.
    """
    for route in used:
        for at in range(route_start[route] + 1, route_start[route + 1]):
            if step[at, STEP_WHOLE] == 1:
                continue
            station = step[at, STEP_STATION]
            port = port_start[station]
            while feeder[port] != step[at - 1, STEP_STATION]:
                port += 1
            step[at, STEP_PORT] = port
            if step[at, STEP_STRIPES] > 1:
                step[at, STEP_PORT_OWN] = port_start[station + 1] - port_start[station]
            if step[at - 1, STEP_STRIPES] > 1:
                step[at, STEP_PORT_BEFORE] = 1
