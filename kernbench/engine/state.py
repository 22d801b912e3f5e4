"""Making the loop's arrays, enlarging them, extending them when a program grows.

Sizes start small and double: a run holds what is in flight, whatever the length of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernels_jit import codes
from kernels_jit import state as scalars
from kernels_jit.state import NEVER, State

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernels_jit.tables import Network

_STATION = {
    scalars.STATION_HEAD_FS: NEVER,
    scalars.STATION_SOURCE: codes.NONE,
    scalars.STATION_SOURCE_LAST: codes.NONE,
    scalars.STATION_DIRECTION: codes.NONE,
    scalars.STATION_ALONE: codes.NONE,
}

_FIRST_RING = 4  # flits a port queue holds before it is given a longer ring
_FLIGHTS_MOST = 1 << (62 - scalars.FLIGHT_SHIFT)
_SWEEP_FLITS = 128  # flits of the median link in the longest sweep: beyond this, queues outgrow the cache


def make_state(machine: Machine, *, hybrid: bool) -> State:
    """The state of a run of an empty program on a machine."""
    station = np.zeros((len(machine.stations.fs_per_flit), scalars.STATION_COLUMNS), np.int64)
    for column, fill in _STATION.items():
        station[:, column] = fill
    server = np.zeros((len(machine.server_slots), scalars.SERVER_COLUMNS), np.int64)
    server[:, scalars.SERVER_SLOTS] = machine.server_slots
    server[:, (scalars.SERVER_FIRST, scalars.SERVER_LAST)] = codes.NONE
    scalar = np.zeros(scalars.SCALARS, np.int64)
    scalar[[scalars.RESUME, scalars.ASKING]] = codes.NONE
    scalar[scalars.MARGIN] = 8 + int(max(machine.server_slots, default=0))
    scalar[scalars.EDGES] = machine.edge_count
    scalar[scalars.FLIT_BYTES] = machine.flit_bytes
    scalar[scalars.HYBRID] = int(hybrid)
    scalar[scalars.CAP_FS] = _SWEEP_FLITS * int(np.median(machine.stations.fs_per_flit))
    s = State(
        scalar=scalar,
        heap=np.zeros((0, 4), np.int64),
        thread=np.zeros((0, scalars.THREAD_COLUMNS), np.int64),
        counter=np.zeros((0, scalars.COUNTER_COLUMNS), np.int64),
        server=server,
        job_free=np.zeros(0, np.int64),
        job=np.zeros((0, scalars.JOB_COLUMNS), np.int64),
        plan=np.zeros((0, scalars.PLAN_COLUMNS), np.int64),
        flight_free=np.zeros(0, np.int64),
        flight=np.zeros((0, scalars.FLIGHT_COLUMNS), np.int64),
        gate=np.zeros((0, 0), np.int64),
        source=np.zeros((0, scalars.SOURCE_COLUMNS), np.int64),
        bound=np.zeros((0, 2), np.int64),
        station=station,
        pending=np.zeros((len(station) + 63) // 64, np.uint64),
        port_fs=np.zeros(0, np.int64),
        port=np.zeros((0, scalars.PORT_COLUMNS), np.int64),
        times=np.zeros((0, scalars.OP_COLUMNS), np.int64),
        term=np.zeros((2, 0), np.int64),
        landed=np.zeros(0, np.int64),
        interrupt=np.zeros(8, np.int64),
    )
    return grow_flights(grow_jobs(grow_heap(s)))


def _extended(array: np.ndarray, size: int, fill: int = 0) -> np.ndarray:
    bigger = np.full((size, *array.shape[1:]), fill, np.int64)
    bigger[: len(array)] = array
    return bigger


def _fitted(array: np.ndarray, size: int, fill: int = 0) -> np.ndarray:
    """The array itself, or one of at least twice its length that has room for `size` rows."""
    return array if size <= len(array) else _extended(array, max(size, 2 * len(array)), fill)


def grow_heap(s: State) -> State:
    """Room for twice the pending events, for a wake-up of every thread and the landing of every flight."""
    old, extra = len(s.heap), 2 * len(s.thread) + 2 * len(s.flight)
    return s._replace(heap=_extended(s.heap, max(1024, 2 * old, old + extra)))


def _more_free(free: np.ndarray, scalar: np.ndarray, count: int, size: int) -> np.ndarray:
    """A stack of free slots for a pool of `size`, the new slots on top."""
    n, old = int(scalar[count]), len(free)
    stack = np.zeros(size, np.int64)
    stack[:n] = free[:n]
    stack[n : n + size - old] = np.arange(size - 1, old - 1, -1)
    scalar[count] = n + size - old
    return stack


def grow_jobs(s: State) -> State:
    """Room for twice the jobs."""
    size = max(256, 2 * len(s.job))
    free = _more_free(s.job_free, s.scalar, scalars.JOB_FREE_N, size)
    return s._replace(job=_extended(s.job, size), job_free=free)


def grow_flights(s: State) -> State:
    """Room for twice the transfers in flight. Errors: OverflowError beyond what a packed flit can name (16 million)."""
    size = max(64, 2 * len(s.flight))
    if size > _FLIGHTS_MOST:
        raise OverflowError(f"more than {_FLIGHTS_MOST} transfers are in flight at once; start fewer at a time")
    return s._replace(
        flight_free=_more_free(s.flight_free, s.scalar, scalars.FLIGHT_FREE_N, size),
        flight=_extended(s.flight, size),
        gate=_extended(s.gate, size),
        source=_extended(s.source, size * int(s.scalar[scalars.MAX_STRIPES])),
        bound=_extended(s.bound, size),
        landed=_extended(s.landed, size),
    )


def widen_flights(s: State, steps: int, stripes: int) -> State:
    """Room for routes of up to `steps` steps with up to `stripes` stripes a step.

    Errors: OverflowError for a route longer than a packed flit can name.
    """
    if steps > scalars.STEP_MASK:
        raise OverflowError(f"a route has {steps} steps; {scalars.STEP_MASK} is the most")
    if steps > s.scalar[scalars.MAX_STEPS]:
        s.scalar[scalars.MAX_STEPS] = width = max(16, 2 * steps)
        gate = np.full((len(s.flight), width), codes.NONE, np.int64)
        gate[:, : s.gate.shape[1]] = s.gate
        s = s._replace(gate=gate, term=np.zeros((2, width), np.int64))
    old = int(s.scalar[scalars.MAX_STRIPES])
    if stripes > old:
        s.scalar[scalars.MAX_STRIPES] = stripes
        s = _restride_sources(s, old, stripes)
    return s


def _restride_sources(s: State, old: int, new: int) -> State:
    """Source entries are numbered flight * stripes + stripe: number them anew."""

    def moved(nodes: np.ndarray) -> np.ndarray:
        return np.where(nodes == codes.NONE, codes.NONE, nodes // max(old, 1) * new + nodes % max(old, 1))

    flights = len(s.flight)
    source = np.full((flights, new, scalars.SOURCE_COLUMNS), codes.NONE, np.int64)
    source[:, :old] = s.source.reshape(flights, old, scalars.SOURCE_COLUMNS)
    source[:, :, scalars.SOURCE_NEXT] = moved(source[:, :, scalars.SOURCE_NEXT])
    station = s.station.copy()
    for column in (scalars.STATION_SOURCE, scalars.STATION_SOURCE_LAST):
        station[:, column] = moved(station[:, column])
    return s._replace(source=source.reshape(-1, scalars.SOURCE_COLUMNS), station=station)


def fit_program(s: State, *, threads: int, counters: int, plans: int, rows: int) -> State:
    """Room for a program that has grown to these counts; what is new starts at zero, rows at "never"."""
    counter = _fitted(s.counter, counters)
    if len(counter) > len(s.counter):
        counter[len(s.counter) :, scalars.COUNTER_WAITER] = codes.NONE
    return s._replace(
        thread=_fitted(s.thread, threads),
        counter=counter,
        plan=_fitted(s.plan, plans),
        times=_fitted(s.times, rows, codes.NONE),
    )


def fit_network(s: State, known: np.ndarray, pairs: np.ndarray, network: Network) -> State:
    """Ports for a network that has gained routes: `known` (station, feeder) pairs keep their queues, new ones get rings."""
    at = np.searchsorted(pairs, known)
    fresh = np.ones(len(pairs), bool)
    fresh[at] = False
    used, more = int(s.scalar[scalars.POOL_N]), int(fresh.sum())
    s.scalar[scalars.POOL_N] = used + _FIRST_RING * more
    port = np.zeros((len(pairs), scalars.PORT_COLUMNS), np.int64)
    port[fresh, scalars.PORT_RING] = used + _FIRST_RING * np.arange(more)
    port[fresh, scalars.PORT_MASK] = _FIRST_RING - 1
    port[at] = s.port
    port_fs = np.full(len(pairs), NEVER, np.int64)
    port_fs[at] = s.port_fs
    pending = np.zeros_like(s.pending)
    ranks = network.rank[s.station[:, scalars.STATION_HEAD_FS] < NEVER]
    np.bitwise_or.at(pending, ranks >> 6, np.uint64(1) << (ranks & 63).astype(np.uint64))
    return s._replace(port=port, port_fs=port_fs, pending=pending)
