"""Making the loop's arrays, enlarging them, extending them when a program grows.

Sizes start small and double: a run holds what is in flight, whatever the length of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernels_jit import codes
from kernels_jit import state as scalars
from kernels_jit.state import State

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

_HEAP = ("heap_fs", "heap_key", "heap_index", "heap_data")
_JOB = ("job_row", "job_end", "job_owner", "job_plan", "job_token", "job_next")
_FLIGHT = ("flight_job", "flight_flits", "flight_last_bytes", "flight_arrived", "flight_latest_fs")
_THREAD = ("thread_cursor", "thread_end", "thread_seq", "thread_next")
_ROW = ("op_issue_fs", "op_start_fs", "op_end_fs")
_PLAN = ("plan_left", "plan_row")


def make_state(machine: Machine) -> State:
    """The state of a run of an empty program on a machine."""
    servers, stations = len(machine.server_slots), len(machine.stations.fs_per_flit)
    arrays = {name: np.zeros(0, np.int64) for name in State._fields}
    arrays["scalar"] = np.zeros(scalars.SCALARS, np.int64)
    arrays |= {name: np.zeros(stations, np.int64) for name in ("station_free_fs", "station_busy_fs", "station_flits")}
    arrays["station_direction"] = np.full(stations, codes.NONE, np.int64)
    arrays |= {name: np.zeros(servers, np.int64) for name in ("server_used", "server_busy_fs")}
    arrays |= {name: np.full(servers, codes.NONE, np.int64) for name in ("server_first", "server_last")}
    arrays["server_slots"] = np.asarray(machine.server_slots, np.int64)
    s = State(**arrays)
    s.scalar[scalars.RESUME] = codes.NONE
    s.scalar[scalars.ASKING] = codes.NONE
    s.scalar[scalars.MARGIN] = 8 + int(max(machine.server_slots, default=0))
    s.scalar[scalars.EDGES] = machine.edge_count
    s.scalar[scalars.FLIT_BYTES] = machine.flit_bytes
    s = grow_heap(s)
    s = grow_jobs(s)
    return grow_flights(s)


def _extended(array: np.ndarray, size: int, fill: int = 0) -> np.ndarray:
    bigger = np.full(size, fill, np.int64)
    bigger[: len(array)] = array
    return bigger


def _with(s: State, names: tuple[str, ...], size: int, fill: int = 0) -> State:
    return s._replace(**{name: _extended(getattr(s, name), size, fill) for name in names})


def grow_heap(s: State) -> State:
    """Room for twice the pending events, and for a wake-up of every thread."""
    return _with(s, _HEAP, max(1024, 2 * len(s.heap_fs), len(s.heap_fs) + 2 * len(s.thread_cursor)))


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
    """Room for twice the transfers in flight."""
    old = len(s.flight_job)
    size = max(64, 2 * old)
    s = _grow_free(_with(s, _FLIGHT, size), "flight_free", scalars.FLIGHT_FREE_N, old, size)
    return _with(s, ("flight_gate_fs",), size * int(s.scalar[scalars.MAX_STEPS]))


def widen_gates(s: State, steps: int) -> State:
    """Room for routes of up to `steps` steps."""
    old = int(s.scalar[scalars.MAX_STEPS])
    if steps <= old:
        return s
    width = max(steps, 2 * old, 16)
    flights = len(s.flight_job)
    gates = np.full((flights, width), codes.NONE, np.int64)
    gates[:, :old] = s.flight_gate_fs.reshape(flights, old)
    s.scalar[scalars.MAX_STEPS] = width
    return s._replace(flight_gate_fs=gates.reshape(-1))


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
