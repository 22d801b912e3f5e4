"""What a run remembers between calls of the loop: plain arrays, so that Python can look at, enlarge or keep them.

Pools (jobs, flights) hand out slots from a stack of free ones; which slot something gets never decides an order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Scalars, by index in `State.scalar`.
NOW = 0
HEAP_N = 1
JOB_FREE_N = 2
FLIGHT_FREE_N = 3
RESUME = 4  # thread to go on with before the next event, or NONE
ASKING = 5  # thread that returned ASKED
EVENTS = 6
FLIT_HOPS = 7
MAX_STEPS = 8  # row length of flight_gate_fs
MARGIN = 9  # free slots a pool must have before an event or op is begun
EDGES = 10  # stations below this number are links
FLIT_BYTES = 11
SCALARS = 12


class State(NamedTuple):
    """All of a run; `int64` throughout."""

    scalar: np.ndarray  # [SCALARS]

    heap_fs: np.ndarray  # [pending]
    heap_key: np.ndarray
    heap_index: np.ndarray
    heap_data: np.ndarray

    thread_cursor: np.ndarray  # [thread] next row
    thread_end: np.ndarray  # [thread]
    thread_seq: np.ndarray  # [thread] next sequence number
    thread_next: np.ndarray  # [thread] next waiter on the same counter

    counter_value: np.ndarray  # [counter]
    counter_waiter: np.ndarray  # [counter] first waiting thread, or NONE

    server_slots: np.ndarray  # [server]
    server_used: np.ndarray  # [server] slots taken
    server_first: np.ndarray  # [server] queue of jobs, or NONE
    server_last: np.ndarray  # [server]
    server_busy_fs: np.ndarray  # [server] time its slots were taken, summed

    job_free: np.ndarray  # [job] stack
    job_row: np.ndarray  # [job] op-table row being done
    job_end: np.ndarray  # [job] end of its rows: row + 1, or the end of the token's stages
    job_owner: np.ndarray  # [job] thread << SEQ_BITS | seq
    job_plan: np.ndarray  # [job] plan, or NONE
    job_token: np.ndarray  # [job] next token of a plan still queued whole, or NONE
    job_next: np.ndarray  # [job] next in a server's queue

    flight_free: np.ndarray  # [flight] stack
    flight_job: np.ndarray  # [flight]
    flight_flits: np.ndarray  # [flight] how many
    flight_last_bytes: np.ndarray  # [flight] size of the last
    flight_arrived: np.ndarray  # [flight] flits at the destination, or at the whole node before it
    flight_latest_fs: np.ndarray  # [flight] when the latest of them came
    flight_gate_fs: np.ndarray  # [flight * MAX_STEPS] earliest arrival at a step, set by the first flit, or NONE

    plan_left: np.ndarray  # [plan] tokens not finished
    plan_row: np.ndarray  # [plan] row of the op that started it

    station_free_fs: np.ndarray  # [station]
    station_busy_fs: np.ndarray  # [station]
    station_flits: np.ndarray  # [station]
    station_direction: np.ndarray  # [station] of the last flit, or NONE

    op_issue_fs: np.ndarray  # [row] asked for
    op_start_fs: np.ndarray  # [row] begun, after queueing
    op_end_fs: np.ndarray  # [row] completed; NONE: not yet
