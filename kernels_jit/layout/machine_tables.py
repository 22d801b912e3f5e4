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
    """Interned routes: the stations a payload passes, and what a round trip adds at either end.

    A route to many destinations is several routes whose numbers follow each other, its *branches*: a tree that is cut where it
    forks and where a destination is. Its number is that of the first. Branches that begin where another ends are consecutive.
    """

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
    parent: np.ndarray  # int64[route] the branch at whose end this one begins; NONE: it begins at the source
    branches: (
        np.ndarray
    )  # int64[route] how many the route of this number has; to one destination 1; of a later branch 0
    destinations: np.ndarray  # int64[route] how many the route has that this is a branch of; 0: it is a route to one
    destination: np.ndarray  # int64[route] which of them is at the end of this branch, or NONE
    forks: np.ndarray  # int64[route] how many branches begin at the end of this one
    path: np.ndarray  # int64[route] a route to one destination, whose stations are among those of this one
    reached: np.ndarray  # int64[route] which of the destinations that one is, or NONE
    packet_flits: np.ndarray  # int64[route] with credits: of the largest packet of its transfers

    @property
    def before(self) -> np.ndarray:
        """int64[step] the step before each, or NONE where a payload begins."""
        before = np.arange(-1, len(self.station) - 1)
        first = self.start[:-1][np.diff(self.start) > 0]
        parent = self.parent[np.diff(self.start) > 0]
        before[first] = np.where(parent < 0, -1, self.start[parent + 1] - 1)
        return before

    @property
    def end(self) -> np.ndarray:
        """int64[route] the end of the steps of a route, those of all its branches."""
        return self.start[np.arange(len(self.branches)) + self.branches]

    @property
    def wire_fs(self) -> np.ndarray:
        """int64[route] propagation of a payload, and of its request or acknowledgement."""
        return self.lead_fs + self.propagation_fs + self.tail_fs
