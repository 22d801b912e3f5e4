"""What a run remembers between calls of the loop: plain arrays, so that Python can look at, enlarge or keep them.

Pools (jobs, flights) hand out slots from a stack of free ones; which slot something gets never decides an order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Scalars, by index in `State.scalar`.
NOW = 0  # time of the last event
HEAP_N = 1
JOB_FREE_N = 2
FLIGHT_FREE_N = 3
BOUND_N = 4
POOL_N = 5  # queue slots handed out to ports
RESUME = 6  # thread to go on with before the next event, or NONE
ASKING = 7  # thread that returned ASKED
EVENTS = 8
FLIT_HOPS = 9
LATEST = 10  # completion of the latest transfer nobody waits for
PENDING_N = 11  # flights in the network
MAX_STEPS = 12  # row length of flight_gate_fs
MAX_STRIPES = 13  # row length of the source entries of a flight
MARGIN = 14  # free slots a pool must have before an event or op is begun
EDGES = 15  # stations below this number are links
FLIT_BYTES = 16
HYBRID = 17  # 1: transfers that meet nobody are done in closed form
CAP_FS = 18  # longest sweep: keeps queues short where nothing else does
SCALARS = 19

# A queued flit is packed as flight << FLIGHT_SHIFT | flit << FLIT_SHIFT | step.
FLIT_SHIFT = 10
FLIGHT_SHIFT = 38
STEP_MASK = (1 << FLIT_SHIFT) - 1
FLIT_MASK = (1 << (FLIGHT_SHIFT - FLIT_SHIFT)) - 1

NEVER = 1 << 62


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

    plan_left: np.ndarray  # [plan] tokens not finished
    plan_row: np.ndarray  # [plan] row of the op that started it

    flight_free: np.ndarray  # [flight] stack
    flight_job: np.ndarray  # [flight]
    flight_owner: np.ndarray  # [flight] its job's owner: decides ties
    flight_route: np.ndarray  # [flight]
    flight_stripe: np.ndarray  # [flight]
    flight_flits: np.ndarray  # [flight] how many
    flight_last_bytes: np.ndarray  # [flight] size of the last
    flight_alone: np.ndarray  # [flight] 1: done in closed form, unless someone comes
    flight_stamp: np.ndarray  # [flight] events of a flight with another stamp are stale
    flight_start_fs: np.ndarray  # [flight] all flits at the first station
    flight_arrived: np.ndarray  # [flight] flits at the destination, or at the whole node before it
    flight_latest_fs: np.ndarray  # [flight] when the latest of them came
    flight_base: np.ndarray  # [flight] step at which all flits last stood together
    flight_tail_step: np.ndarray  # [flight] step before which the last flit stands
    flight_tail_fs: np.ndarray  # [flight] when it came there, or comes
    flight_gate_fs: np.ndarray  # [flight * MAX_STEPS] earliest arrival at a step, set by the first flit, or NONE

    source_fs: np.ndarray  # [flight * MAX_STRIPES] since when the flits not yet served stand before the station
    source_entry: np.ndarray  # [flight * MAX_STRIPES] the next of them, packed
    source_next: np.ndarray  # [flight * MAX_STRIPES] next entry at the same station, by (time, owner)

    bound_fs: np.ndarray  # [flight] heap: no flight lands before its bound
    bound_flight: np.ndarray

    station_free_fs: np.ndarray  # [station] end of the service under way
    station_head_fs: np.ndarray  # [station] earliest arrival not served, or NEVER
    station_source: np.ndarray  # [station] first source entry, or NONE
    station_source_last: np.ndarray  # [station]
    station_users: np.ndarray  # [station] flights whose route it is on
    station_alone: np.ndarray  # [station] the flight that has it to itself, or NONE
    station_busy_fs: np.ndarray  # [station]
    station_flits: np.ndarray  # [station]
    station_direction: np.ndarray  # [station] of the last flit, or NONE
    pending: np.ndarray  # uint64[rank // 64] stations with flits, by rank

    port_fs: np.ndarray  # [port] arrival of the first queued flit, or NEVER
    port_ring: np.ndarray  # [port] where its queue stands in the pool
    port_mask: np.ndarray  # [port] length of the queue - 1
    port_head: np.ndarray  # [port] taken so far
    port_tail: np.ndarray  # [port] put in so far

    op_issue_fs: np.ndarray  # [row] asked for
    op_start_fs: np.ndarray  # [row] begun, after queueing
    op_end_fs: np.ndarray  # [row] completed; NONE: not yet

    term_fs: np.ndarray  # scratch of `alone`
    term_slope: np.ndarray
