"""What a run remembers between calls of the loop: plain arrays, so that Python can look at, enlarge or keep them.

A table a thing, a row an instance, a column a fact: what is known of one flight stands in one or two cache lines, and the
compiler has a dozen arrays to pass around and not a hundred (that alone took compile time from two minutes to a quarter).
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
LATEST = 9  # completion of the latest transfer nobody waits for
MAX_STEPS = 10  # gates of a flight
MAX_STRIPES = 11  # source entries of a flight
MARGIN = 12  # free slots a pool must have before an event or op is begun
EDGES = 13  # stations below this number are links
FLIT_BYTES = 14
HYBRID = 15  # 1: transfers that meet nobody are done in closed form
CAP_FS = 16  # longest sweep: keeps queues short where nothing else does
SCALARS = 17

THREAD_CURSOR = 0  # next row
THREAD_END = 1
THREAD_SEQ = 2  # next sequence number
THREAD_NEXT = 3  # next waiter on the same counter
THREAD_COLUMNS = 4

COUNTER_VALUE = 0
COUNTER_WAITER = 1  # first waiting thread, or NONE
COUNTER_COLUMNS = 2

SERVER_SLOTS = 0
SERVER_USED = 1  # slots taken
SERVER_FIRST = 2  # queue of jobs, or NONE
SERVER_LAST = 3
SERVER_BUSY_FS = 4  # time its slots were taken, summed
SERVER_COLUMNS = 5

JOB_ROW = 0  # op-table row being done
JOB_END = 1  # end of its rows: row + 1, or the end of the token's stages
JOB_OWNER = 2  # thread << SEQ_BITS | sequence number
JOB_PLAN = 3  # plan, or NONE
JOB_TOKEN = 4  # next token of a plan still queued whole, or NONE
JOB_NEXT = 5  # next in a server's queue
JOB_COLUMNS = 6

PLAN_LEFT = 0  # tokens not finished
PLAN_ROW = 1  # row of the op that started it
PLAN_COLUMNS = 2

FLIGHT_FIRST = 0  # first step of its route
FLIGHT_FLITS = 1  # how many
FLIGHT_OWNER = 2  # its job's owner: decides ties
FLIGHT_STRIPE = 3
FLIGHT_ARRIVED = 4  # flits at the destination, or at the whole node before it
FLIGHT_LATEST_FS = 5  # when the latest of them came
FLIGHT_TAIL_STEP = 6  # step before which the last flit stands
FLIGHT_TAIL_FS = 7  # when it came there, or comes
FLIGHT_JOB = 8
FLIGHT_ROUTE = 9
FLIGHT_LAST_BYTES = 10  # size of the last flit
FLIGHT_ALONE = 11  # 1: done in closed form, unless someone comes
FLIGHT_STAMP = 12  # events of a flight with another stamp are stale
FLIGHT_START_FS = 13  # all flits at the first station
FLIGHT_BASE = 14  # step at which all flits last stood together; NONE once landed
FLIGHT_COLUMNS = 16

SOURCE_FS = 0  # since when the flits not yet served stand before the station
SOURCE_ENTRY = 1  # the next of them, packed
SOURCE_NEXT = 2  # next entry at the same station, by (time, owner)
SOURCE_COLUMNS = 3

STATION_FREE_FS = 0  # end of the service under way
STATION_HEAD_FS = 1  # earliest arrival not served, or NEVER
STATION_SOURCE = 2  # first source entry, or NONE
STATION_SOURCE_LAST = 3
STATION_BUSY_FS = 4
STATION_FLITS = 5
STATION_DIRECTION = 6  # of the last flit, or NONE
STATION_USERS = 7  # flights whose route it is on
STATION_ALONE = 8  # the flight that has it to itself, or NONE
STATION_COLUMNS = 9

PORT_RING = 0  # where its queue stands in the pool
PORT_MASK = 1  # length of the queue - 1
PORT_HEAD = 2  # taken so far
PORT_TAIL = 3  # put in so far
PORT_COLUMNS = 4

OP_ISSUE_FS = 0  # asked for
OP_START_FS = 1  # begun, after queueing
OP_END_FS = 2  # completed
OP_COLUMNS = 3

# A queued flit is packed as flight << FLIGHT_SHIFT | flit << FLIT_SHIFT | step.
FLIT_SHIFT = 10
FLIGHT_SHIFT = 38
STEP_MASK = (1 << FLIT_SHIFT) - 1
FLIT_MASK = (1 << (FLIGHT_SHIFT - FLIT_SHIFT)) - 1

NEVER = 1 << 62


class State(NamedTuple):
    """All of a run; int64 but for `pending`."""

    scalar: np.ndarray  # [SCALARS]
    heap: np.ndarray  # [pending, 4] time, key, index, payload
    thread: np.ndarray  # [thread, THREAD_COLUMNS]
    counter: np.ndarray  # [counter, COUNTER_COLUMNS]
    server: np.ndarray  # [server, SERVER_COLUMNS]
    job_free: np.ndarray  # [job] stack
    job: np.ndarray  # [job, JOB_COLUMNS]
    plan: np.ndarray  # [plan, PLAN_COLUMNS]
    flight_free: np.ndarray  # [flight] stack
    flight: np.ndarray  # [flight, FLIGHT_COLUMNS]
    gate: np.ndarray  # [flight, MAX_STEPS] earliest arrival at a step, set by the first flit, or NONE
    source: np.ndarray  # [flight * MAX_STRIPES, SOURCE_COLUMNS]
    bound: np.ndarray  # [flight, 2] heap of (time, flight): no flight lands before its bound
    station: np.ndarray  # [station, STATION_COLUMNS]
    pending: np.ndarray  # uint64[rank // 64] stations with flits, by rank
    port_fs: np.ndarray  # [port] arrival of the first queued flit, or NEVER
    port: np.ndarray  # [port, PORT_COLUMNS]
    times: np.ndarray  # [row, OP_COLUMNS] of the op table; NONE: not yet
    term: np.ndarray  # [2, MAX_STEPS] scratch of `alone`
    landed: np.ndarray  # [flight] flights that landed in this sweep
    interrupt: np.ndarray  # [8] why a sweep stopped, where, and what it has done: see `network.serve`
