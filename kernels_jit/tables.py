"""The arrays that enter the compiled loop, by owner.

NamedTuples of arrays: one argument each, typed once. Read a field in a hot loop only through a local name bound before
it; through the tuple each access costs a load more and three times the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Stations(NamedTuple):
    """What serves flits one at a time, first come first served: every directed link, then every memory channel."""

    fs_per_flit: np.ndarray  # int64[station] service of a full flit
    quantum_bytes: np.ndarray  # int64[station] a partial flit is served as if rounded up to this many bytes
    turn_fs: np.ndarray  # int64[station] extra when the direction (read, write) differs from the flit before
    propagation_fs: np.ndarray  # int64[station] from the end of service to the next node


class Routes(NamedTuple):
    """Interned routes: the stations a payload passes, and what a round trip adds at either end."""

    start: np.ndarray  # int64[route + 1] first step of a route
    station: np.ndarray  # int64[step]; of a striped step the first of its stations
    stripes: np.ndarray  # int64[step] flit f takes station + (stripe + f) mod stripes
    overhead_fs: (
        np.ndarray
    )  # int64[step] paid once per transfer, by the first flit to reach the node before this station
    whole: np.ndarray  # int64[step] 1: the node before this station forwards nothing until it has the whole message
    lead_fs: np.ndarray  # int64[route] from the start to the first flit at the first station (a read's request)
    tail_fs: np.ndarray  # int64[route] from the last delivery to completion (a write's acknowledgement)
    propagation_fs: np.ndarray  # int64[route] sum over the stations: all that a message of zero bytes pays in between
    direction: np.ndarray  # int64[route] 0 read, 1 write; message routes count as writes


# Columns of `Network.service`, `Network.step` and `Network.route`.
FULL_FS, QUANTUM_BYTES, TURN_FS, PROPAGATION_FS = 0, 1, 2, 3
STEP_STATION, STEP_STRIPES, STEP_OVERHEAD_FS, STEP_WHOLE = 0, 1, 2, 3
STEP_PORT = 4  # port entered, of stripe 0; NONE for first and whole steps
STEP_PORT_OWN = 5  # ports to go on per stripe of this step
STEP_PORT_BEFORE = 6  # ports to go on per stripe of the step before
STEP_COLUMNS = 8
ROUTE_START, ROUTE_END, ROUTE_LEAD_FS, ROUTE_TAIL_FS, ROUTE_PROPAGATION_FS, ROUTE_DIRECTION = 0, 1, 2, 3, 4, 5


class Network(NamedTuple):
    """Stations and routes as the loop reads them, the order in which a sweep visits stations, and their ports.

    A station has one port per station that feeds it; flits leave a station in time order, so each port is a queue.
    """

    service: np.ndarray  # int64[station, 4] the columns of `Stations`
    step: np.ndarray  # int64[step, STEP_COLUMNS]
    route: np.ndarray  # int64[route, 6] the columns of `Routes`
    port_start: np.ndarray  # int64[station + 1]
    rank: np.ndarray  # int64[station] place in the order of visits
    station_at: np.ndarray  # int64[rank]
    window_fs: np.ndarray  # int64[1] a sweep may go this far at once: what an edge against the order takes at least


class Code(NamedTuple):
    """A device program below its names."""

    op: np.ndarray  # int64[row, ROW_WIDTH] thread rows and stage rows
    plan_start: np.ndarray  # int64[plan + 1] first token of a plan
    token_start: np.ndarray  # int64[token] first stage row of a token; the rows of a plan are contiguous
    token_end: np.ndarray  # int64[token]
    duration_fs: np.ndarray  # int64[duration]; duration 0 is zero
