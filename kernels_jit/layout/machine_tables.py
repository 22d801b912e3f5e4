"""The compiled machine's arrays from which the loop's memory is filled: stations and routes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Stations(NamedTuple):
    """Stations, which serve flits one at a time in the order of arrival: every directed link, then every memory channel."""

    fs_per_flit: np.ndarray  # int64[station] service of a full flit
    quantum_bytes: np.ndarray  # int64[station] a partial flit is served as if rounded up to this many bytes
    turn_fs: np.ndarray  # int64[station] extra when the direction (read, write) differs from the flit before
    propagation_fs: np.ndarray  # int64[station] from the end of service to the next node


class Routes(NamedTuple):
    """Interned routes: the stations a payload passes, and what a round trip adds at either end."""

    start: np.ndarray  # int64[route + 1] first step of a route
    station: np.ndarray  # int64[step]; of a striped step the first of its stations
    stripes: np.ndarray  # int64[step] flit f takes station + (stripe + f) mod stripes
    overhead_fs: np.ndarray  # int64[step] of the node before this station: paid by a transfer's first flit to reach it
    store_and_forward: np.ndarray  # int64[step] 1: so is the node before this station
    channels: np.ndarray  # int64[step] with credits: the kind of virtual channels on a link (`FlowControl.channels_of`)
    lead_fs: np.ndarray  # int64[route] from the start to the first flit at the first station (a read's request)
    tail_fs: np.ndarray  # int64[route] from the last delivery to completion (a write's acknowledgement)
    propagation_fs: np.ndarray  # int64[route] sum over the stations: all that a message of zero bytes pays in between
    direction: np.ndarray  # int64[route] READ or WRITE; message routes count as writes

    @property
    def wire_fs(self) -> np.ndarray:
        """int64[route] propagation of a payload, and of its request or acknowledgement."""
        return self.lead_fs + self.propagation_fs + self.tail_fs
