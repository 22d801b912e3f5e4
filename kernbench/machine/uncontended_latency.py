"""Uncontended latency of a payload on a route, station by station.

The first flit pays every station, overhead and wire on the way; the rest of the bytes follows at the pace of the slowest
station. A part that needs the whole message before it forwards any begins that anew, so a route is cut there into
stretches with a slowest station each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.flit_service import service_fs

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


class UncontendedLatency(NamedTuple):
    """The parts of the time, by step of the route where they have one. All int64 femtoseconds."""

    station: np.ndarray  # int64[step]; of a striped step the first of its stations
    first_fs: np.ndarray  # int64[step] service of the first flit
    rest_fs: np.ndarray  # int64[step] of the rest of the bytes, at the slowest station of each stretch; 0 at the others
    overhead_fs: np.ndarray  # int64[step] at the node before the station
    pace_fs: np.ndarray  # float64[step] for a flit, over all stripes
    wire_fs: int  # out, and home for an acknowledgement or a request

    @property
    def total_fs(self) -> int:
        """The sum of the parts."""
        return int(self.first_fs.sum() + self.rest_fs.sum() + self.overhead_fs.sum()) + self.wire_fs


def find_uncontended_latency(machine: Machine, route: int, nbytes: int) -> UncontendedLatency:
    """The passage of a payload of at least one byte."""
    tables, stations = machine.routing.tables(), machine.stations
    steps = slice(int(tables.start[route]), int(tables.start[route + 1]))
    station, stripes = tables.station[steps], tables.stripes[steps]
    first_bytes = min(nbytes, machine.flit_bytes)
    rest_fs = _shared(stations.fs_per_flit[station] * (nbytes - first_bytes), stripes * machine.flit_bytes)
    slowest = np.zeros(len(station), bool)
    start = 0
    for stretch in np.split(rest_fs, np.flatnonzero(tables.store_and_forward[steps])):
        slowest[start + int(np.argmax(stretch))] = True
        start += len(stretch)
    return UncontendedLatency(
        station=station,
        first_fs=_service_fs(machine, station, first_bytes),
        rest_fs=np.where(slowest, rest_fs, 0),
        overhead_fs=tables.overhead_fs[steps],
        pace_fs=stations.fs_per_flit[station] / stripes,
        wire_fs=int(tables.lead_fs[route] + tables.tail_fs[route] + tables.propagation_fs[route]),
    )


def _service_fs(machine: Machine, station: np.ndarray, nbytes: int) -> np.ndarray:
    """int64[n] service of one flit of some bytes at each station."""
    stations = machine.stations
    return service_fs(nbytes, stations.quantum_bytes[station], stations.fs_per_flit[station], machine.flit_bytes)


def _shared(amount: np.ndarray | int, among: np.ndarray | int) -> np.ndarray:
    """Rounded up."""
    return -(-amount // np.asarray(among))
