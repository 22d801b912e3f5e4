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

_HEAP = ("heap_fs", "heap_key", "heap_index", "heap_data")
_JOB = ("job_row", "job_end", "job_owner", "job_plan", "job_token", "job_next")
_FLIGHT = (
    *("flight_job", "flight_owner", "flight_route", "flight_stripe", "flight_flits", "flight_last_bytes"),
    *("flight_alone", "flight_stamp", "flight_start_fs", "flight_arrived", "flight_latest_fs", "flight_base"),
    *("flight_tail_step", "flight_tail_fs", "bound_fs", "bound_flight"),
)
_SOURCE = ("source_fs", "source_entry", "source_next")
_THREAD = ("thread_cursor", "thread_end", "thread_seq", "thread_next")
_ROW = ("op_issue_fs", "op_start_fs", "op_end_fs")
_PLAN = ("plan_left", "plan_row")
_PORT = ("port_fs", "port_ring", "port_mask", "port_head", "port_tail")
_STATION = {
    **dict.fromkeys(("station_free_fs", "station_users", "station_busy_fs", "station_flits"), 0),
    **dict.fromkeys(("station_source", "station_source_last", "station_alone", "station_direction"), codes.NONE),
    "station_head_fs": NEVER,
}

_FIRST_RING = 4  # flits a port queue holds before it is given a longer ring
_FLIGHTS_MOST = 1 << (62 - scalars.FLIGHT_SHIFT)
_SWEEP_FLITS = 512  # flits of the median link in the longest sweep: beyond this, queues outgrow the cache


def make_state(machine: Machine, *, hybrid: bool) -> State:
    """The state of a run of an empty program on a machine."""
    servers, stations = len(machine.server_slots), len(machine.stations.fs_per_flit)
    arrays: dict[str, np.ndarray] = {name: np.zeros(0, np.int64) for name in State._fields}
    arrays |= {name: np.full(stations, fill, np.int64) for name, fill in _STATION.items()}
    arrays |= {name: np.zeros(servers, np.int64) for name in ("server_used", "server_busy_fs")}
    arrays |= {name: np.full(servers, codes.NONE, np.int64) for name in ("server_first", "server_last")}
    arrays["server_slots"] = np.asarray(machine.server_slots, np.int64)
    arrays["pending"] = np.zeros((stations + 63) // 64, np.uint64)
    scalar = arrays["scalar"] = np.zeros(scalars.SCALARS, np.int64)
    scalar[scalars.RESUME] = scalar[scalars.ASKING] = codes.NONE
    scalar[scalars.MARGIN] = 8 + int(max(machine.server_slots, default=0))
    scalar[scalars.EDGES] = machine.edge_count
    scalar[scalars.FLIT_BYTES] = machine.flit_bytes
    scalar[scalars.HYBRID] = int(hybrid)
    scalar[scalars.CAP_FS] = _SWEEP_FLITS * int(np.median(machine.stations.fs_per_flit))
    return grow_flights(grow_jobs(grow_heap(State(**arrays))))


def _extended(array: np.ndarray, size: int, fill: int = 0) -> np.ndarray:
    bigger = np.full(size, fill, np.int64)
    bigger[: len(array)] = array
    return bigger


def _with(s: State, names: tuple[str, ...], size: int, fill: int = 0) -> State:
    return s._replace(**{name: _extended(getattr(s, name), size, fill) for name in names})


def grow_heap(s: State) -> State:
    """Room for twice the pending events, for a wake-up of every thread and the landing of every flight."""
    flying = len(s.flight_free)
    return _with(s, _HEAP, max(1024, 2 * len(s.heap_fs), len(s.heap_fs) + 2 * len(s.thread_cursor) + 2 * flying))


def _grow_free(s: State, stack: str, count: int, old: int, size: int) -> State:
    free = np.zeros(size, np.int64)
    n = int(s.scalar[count])
    free[:n] = getattr(s, stack)[:n]
    free[n : n + size - old] = np.arange(size - 1, old - 1, -1)
    s.scalar[count] = n + size - old
    return s._replace(**{stack: free})


def grow_jobs(s: State) -> State:
    """Room for twice the jobs."""
    old = len(s.job_row)
    size = max(256, 2 * old)
    return _grow_free(_with(s, _JOB, size), "job_free", scalars.JOB_FREE_N, old, size)


def grow_flights(s: State) -> State:
    """Room for twice the transfers in flight. Errors: OverflowError beyond what a packed flit can name (16 million)."""
    old = len(s.flight_job)
    size = max(64, 2 * old)
    if size > _FLIGHTS_MOST:
        raise OverflowError(f"more than {_FLIGHTS_MOST} transfers are in flight at once; start fewer at a time")
    s = _grow_free(_with(s, _FLIGHT, size), "flight_free", scalars.FLIGHT_FREE_N, old, size)
    s = _with(s, ("flight_gate_fs",), size * int(s.scalar[scalars.MAX_STEPS]))
    return _with(s, _SOURCE, size * int(s.scalar[scalars.MAX_STRIPES]))


def widen_flights(s: State, steps: int, stripes: int) -> State:
    """Room for routes of up to `steps` steps with up to `stripes` stripes a step; only while nothing flies.

    Errors: OverflowError for a route longer than a packed flit can name.
    """
    if steps > scalars.STEP_MASK:
        raise OverflowError(f"a route has {steps} steps; {scalars.STEP_MASK} is the most")
    flights = len(s.flight_job)
    if steps > s.scalar[scalars.MAX_STEPS]:
        gates = s.flight_gate_fs.reshape(flights, -1)
        s.scalar[scalars.MAX_STEPS] = width = max(16, 2 * steps)
        wider = np.full((flights, width), codes.NONE, np.int64)
        wider[:, : gates.shape[1]] = gates
        s = s._replace(flight_gate_fs=wider.reshape(-1), term_fs=np.zeros(width, np.int64))
        s = s._replace(term_slope=np.zeros(width, np.int64))
    if stripes > s.scalar[scalars.MAX_STRIPES]:
        old = int(s.scalar[scalars.MAX_STRIPES])
        s.scalar[scalars.MAX_STRIPES] = stripes
        s = _restride_sources(s, flights, old, stripes)
    return s


def _restride_sources(s: State, flights: int, old: int, new: int) -> State:
    """Source entries are numbered flight * stripes + stripe: number them anew."""

    def moved(nodes: np.ndarray) -> np.ndarray:
        return np.where(nodes == codes.NONE, codes.NONE, nodes // max(old, 1) * new + nodes % max(old, 1))

    columns = {}
    for name in _SOURCE:
        wider = np.full((flights, new), codes.NONE, np.int64)
        wider[:, :old] = getattr(s, name).reshape(flights, old)
        columns[name] = wider.reshape(-1)
    columns["source_next"] = moved(columns["source_next"])
    heads = {name: moved(getattr(s, name)) for name in ("station_source", "station_source_last")}
    return s._replace(**columns, **heads)


def fit_program(s: State, *, threads: int, counters: int, plans: int, rows: int) -> State:
    """Room for a program that has grown to these counts; what is new starts at zero, rows at "never"."""
    if threads > len(s.thread_cursor):
        s = _with(s, _THREAD, max(threads, 2 * len(s.thread_cursor)))
    if counters > len(s.counter_value):
        size = max(counters, 2 * len(s.counter_value))
        s = _with(s, ("counter_value",), size)
        s = _with(s, ("counter_waiter",), size, codes.NONE)
    if plans > len(s.plan_left):
        s = _with(s, _PLAN, max(plans, 2 * len(s.plan_left)))
    if rows > len(s.op_end_fs):
        s = _with(s, _ROW, max(rows, 2 * len(s.op_end_fs)), codes.NONE)
    return s


def fit_network(s: State, old_pairs: np.ndarray, pairs: np.ndarray, network: Network, pool: int) -> tuple[State, int]:
    """Ports for a network that has gained routes: known (station, feeder) pairs keep their queues, new ones get rings.

    Returns the state and the pool slots in use (`pool` before).
    """
    ports = len(pairs)
    at = np.searchsorted(pairs, old_pairs)
    fresh = np.ones(ports, bool)
    fresh[at] = False
    rings = np.zeros(ports, np.int64)
    rings[fresh] = pool + _FIRST_RING * np.arange(fresh.sum())
    columns = {
        "port_fs": np.full(ports, NEVER, np.int64),
        "port_ring": rings,
        "port_mask": np.full(ports, _FIRST_RING - 1, np.int64),
        "port_head": np.zeros(ports, np.int64),
        "port_tail": np.zeros(ports, np.int64),
    }
    for name in _PORT:
        columns[name][at] = getattr(s, name)
    pending = np.zeros_like(s.pending)
    ranks = network.rank[s.station_head_fs < NEVER]
    np.bitwise_or.at(pending, ranks >> 6, np.uint64(1) << (ranks & 63).astype(np.uint64))
    return s._replace(**columns, pending=pending), pool + _FIRST_RING * int(fresh.sum())
