"""Uncontended latency of a payload on a route, station by station.

The first flit pays every station, overhead and wire of the route; the other bytes follow at the pace of the slowest station.
A store-and-forward node waits for all of them, so it cuts the route into segments, each with its own slowest station.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.network.flit_service import service_fs
from kernels_jit.layout.records import NEVER

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


AS_SLOW = 0.99  # of the pace of the slowest: to speed up one of two such stations saves next to nothing


class UncontendedLatency(NamedTuple):
    """The latency by cause, and by step of the route where the cause has one. Times are in femtoseconds."""

    station: np.ndarray  # int64[step]; the first station of a striped step
    stripes: np.ndarray  # int64[step] the channels of a memory that take flits in turn; 1 for a link
    first_fs: np.ndarray  # int64[step] service time of the first flit
    rest_fs: np.ndarray  # int64[step] of the other bytes, at the slowest station of each segment; 0 at other stations
    overhead_fs: np.ndarray  # int64[step] of the node before the station
    pace_fs: np.ndarray  # float64[step] of a full flit, over all stripes
    segment: np.ndarray  # int64[step] the segment of the route that it is in
    wire_fs: int  # propagation of the payload, and of its request or acknowledgement

    def equals_of(self, step: int) -> np.ndarray:
        """int64[] the steps of the segment of a step that are as slow as it is, itself among them."""
        as_slow = self.pace_fs >= AS_SLOW * self.pace_fs[step]
        return np.flatnonzero((self.segment == self.segment[step]) & as_slow)

    @property
    def total_fs(self) -> int:
        """The sum of the parts."""
        return int(self.first_fs.sum() + self.rest_fs.sum() + self.overhead_fs.sum()) + self.wire_fs


def find_uncontended_latency(machine: Machine, route: int, nbytes: int) -> UncontendedLatency:
    """The uncontended latency of a payload of at least one byte; on a route to many that to one of them, over its links."""
    tables, stations = machine.routing.tables(), machine.stations
    route = int(tables.path[route])
    steps = slice(int(tables.start[route]), int(tables.start[route + 1]))
    station, stripes = tables.station[steps], tables.stripes[steps]
    first_bytes = min(nbytes, machine.flit_bytes)
    rest_fs = _rest_fs(stations.fs_per_flit[station], nbytes - first_bytes, stripes * machine.flit_bytes)
    slowest = np.zeros(len(station), bool)
    start = 0
    for part in np.split(rest_fs, np.flatnonzero(tables.store_and_forward[steps])):
        slowest[start + int(np.argmax(part))] = True
        start += len(part)
    return UncontendedLatency(
        station=station,
        stripes=stripes,
        first_fs=_service_fs(machine, station, first_bytes),
        rest_fs=np.where(slowest, rest_fs, 0),
        overhead_fs=tables.overhead_fs[steps],
        pace_fs=stations.fs_per_flit[station] / stripes,
        segment=np.cumsum(tables.store_and_forward[steps]),
        wire_fs=int(tables.wire_fs[route]),
    )


def _service_fs(machine: Machine, station: np.ndarray, nbytes: int) -> np.ndarray:
    """int64[n] service time of one flit of `nbytes` bytes at each station."""
    stations = machine.stations
    return service_fs(nbytes, stations.quantum_bytes[station], stations.fs_per_flit[station], machine.flit_bytes)


def _rest_fs(full_fs: np.ndarray, nbytes: int, together_bytes: np.ndarray) -> np.ndarray:
    """int64[step] how long bytes take where `together_bytes` take `full_fs`, rounded up; no longer than the clock counts."""
    pairs = zip(full_fs.tolist(), together_bytes.tolist(), strict=True)
    return np.array([min(-(-full * nbytes // together), NEVER) for full, together in pairs], np.int64)
