"""Ports: the port through which the flits of each route enter each of its stations."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit
from kernels_jit.compile.pointers import pointer_to, row_at
from kernels_jit.layout import codes
from kernels_jit.layout.records import STEP

_step_at = row_at(STEP)


@jit
def set_ports(
    step: np.ndarray,
    before: np.ndarray,
    route_start: np.ndarray,
    used: np.ndarray,
    port_start: np.ndarray,
    feeder: np.ndarray,
) -> None:
    """Write which port each step of the used routes enters: that of stripe 0, and how many per own stripe.

    Arguments: STEP[step] with stations by number, int64[step] the step before each or NONE, int64[route + 1] first steps,
    int64[] routes, int64[station + 1] first ports, int64[port] the stations that feed them. First and store-and-forward steps
    enter none, and stay as they are.
    """
    steps = pointer_to(step)
    for route in used:
        for number in range(route_start[route], route_start[route + 1]):
            at = _step_at(steps, number)
            if at.store_and_forward == 1 or before[number] == codes.NONE:
                continue
            port = port_start[at.station]
            while feeder[port] != _step_at(steps, before[number]).station:
                port += 1
            at.port = port
            if at.stripes > 1:
                at.ports_per_stripe = port_start[at.station + 1] - port_start[at.station]
