"""What a run remembers, in one array: `memory`, int64, with a header of scalars and bases and then tables.

Why one array. A compiled function that takes arrays, or a tuple of them, counts references to each at every call; with the
thirty arrays of a run that was a third of a microsecond a call and two minutes of compile time. With one it is nothing,
and a thing can be named by where it stands: a flight, a job, a server or a station is the index of its first word, so
`memory[flight + FLITS]` is one load. Rows never move (Python enlarges the array at its end), so such names stay good.
Threads, counters, plans, tokens, durations, steps and routes are known by number and stand at `memory[BASE] + number *
COLUMNS`. Which free row something is given never decides an order.

Beside it stand only the op table and the times of its rows, which the program owns, and the pool of queued flits, which
grows while the loop runs.
"""

from __future__ import annotations

# The header. Counts, and what the loop and Python tell each other.
NOW = 0  # time of the last event
EVENTS = 1
LATEST = 2  # completion of the latest transfer nobody waits for
RESUME = 3  # thread to go on with before the next event, or NONE
ASKING = 4  # thread that returned ASKED
HEAP_N = 5
HEAP_SIZE = 6
BOUND_N = 7
JOB_FREE = 8  # first of a chain of free jobs, or NONE
JOB_FREE_N = 9
FLIGHT_FREE = 10
FLIGHT_FREE_N = 11
FLYING = 12  # flights taken
POOL_N = 13  # slots of the pool ever handed out
POOL_FREE = 31  # first of a chain of free blocks of the pool, or NONE
# Settings.
HYBRID = 14  # 1: transfers that meet nobody are done in closed form
FLIT_BYTES = 15
MAX_STEPS = 29  # of any route
FLIGHT_WORDS = 16  # FLIGHT_SIZE that a flight needs now; smaller ones are not used again
MARGIN = 17  # free rows a pool must have before an event or op is begun
THREAD_N = 18
WINDOW_FS = 19  # a sweep may go this far at once
AHEAD_FS = 30  # the most that any station may look ahead
UNLAID = 28  # transfers of rows from this one on may take routes that the network does not know; NEVER: no row's do
SLACK_FS = 52  # how far beyond the horizon a station may serve what came before it
NOW_KEY = 55  # greatest key of the events of that time
ROUTE_N = 53  # of the routes that have leases
SWEEP_FS = 51  # horizon of a sweep that was interrupted, or NONE
# Why a sweep stopped: see `network.serve`.
AT_WORD, AT_BIT, LANDED_N, STOP_FLIGHT, STOP_STEP, STOP_PORT, STOP_ENTRY, STOP_FS = range(20, 28)
# Where tables stand.
HEAP, BOUNDS, LANDED, TERMS = 32, 33, 34, 35
THREADS, COUNTERS, SERVERS, PLANS, TOKENS, DURATIONS = 36, 37, 38, 39, 40, 41
STATIONS, STEPS, ROUTES, PENDING, WORDS, VISITS, PORTS, WORD_FS, GROUP_FS, LEASES = (
    42,
    43,
    44,
    45,
    46,
    47,
    48,
    49,
    50,
    54,
)
HEADER = 64

# `PENDING` has a bit for every station with flits, by rank, 64 a word; `WORD_FS` when the next
# service of each word is due, or before; `GROUP_FS` the same of every 64 words, so that a large machine is searched as fast
# as a small one.
GROUP_SHIFT = 6

# Columns. `HEAP` is rows of (time, key, index, payload), `BOUNDS` a heap of (time, flight): no flight lands before that.
HEAP_COLUMNS, BOUND_COLUMNS = 4, 2

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
SERVER_LINE = 5  # plan in whose line it is, or NONE
SERVER_READY_FS = 6  # when the last token on that line has left it
SERVER_COLUMNS = 8

PLAN_FIRST = 0  # first token
PLAN_END = 1
PLAN_LEFT = 2  # tokens not finished
PLAN_ROW = 3  # row of the op that started it
PLAN_LINE_ROW = 4  # from which row on a token was on the line when it was formed: whose servers it is
PLAN_LINE_ROWS = 5  # of a token on the line; 0: there is none
PLAN_LINE_FIRST = 6  # the job furthest on, or NONE; jobs before that are complete
PLAN_LINE_LAST = 7  # the job that came to it last
PLAN_FLIGHT = 8  # that has gone on from token to token, or NONE
PLAN_COLUMNS = 12

TOKEN_START, TOKEN_END, TOKEN_COLUMNS = 0, 1, 2  # op-table rows

JOB_ROW = 0  # op-table row being done
JOB_END = 1  # end of its rows: row + 1, or the end of the token's stages
JOB_OWNER = 2  # thread << SEQ_BITS | sequence number
JOB_PLAN = 3  # plan, or NONE
JOB_TOKEN = 4  # next token of a plan still queued whole; TOKEN_ON_LINE, TOKEN_AWAITED; or NONE
JOB_NEXT = 5  # next in a server's queue, on a line, or in the chain of free jobs
JOB_STAMP = 6  # a completion with another stamp is stale
JOB_COLUMNS = 8
JOB_SHIFT = 44  # a job is named in an event as stamp << JOB_SHIFT | where it stands
JOB_STAMPS = (1 << 19) - 1
TOKEN_ON_LINE, TOKEN_AWAITED = -2, -3  # all its times on a line are known; it is an event at the end or not
LINE_MOST = 8  # rows of a token on a line

# A flight is followed by its hops (one a step), then by its source entries (one a stripe).
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
FLIGHT_ALONE = 11  # 0, or done in closed form unless someone comes: ALONE_COUNTED or ALONE_NOTED
FLIGHT_STAMP = 12  # events of a flight with another stamp are stale
FLIGHT_START_FS = 13  # all flits at the first station
FLIGHT_BASE = 14  # step at which all flits last stood together; NONE once landed
FLIGHT_NEXT = 15  # next in the chain of free flights
FLIGHT_END = 16  # first step after its route
FLIGHT_CLAIMS = 17  # 1: its stations count it as a user
FLIGHT_SIZE = 18  # words of this row, gates and source entries included
FLIGHT_SOURCES = 19  # where its source entries stand
FLIGHT_COUPLED = 20  # rows before this one that it has done in one go
FLIGHT_FROM = 21  # the first of them, or this one
FLIGHT_HOPS = 24
FLIGHT_ALIGN = 8  # flights stand at multiples of this

# What a flit finds at a station of its flight's route: all that is needed to pass it on, in one half of a cache line.
HOP_NEXT = 0  # where the port stands that is entered next, of stripe 0; plus flags
HOP_OWNER = 1  # of the flight
HOP_FLIGHT = 2
HOP_GATE = 3  # earliest arrival here, set by the first flit; or NONE
HOP_COLUMNS = 4
HOP_GATED = 1  # flag: there is a node with an overhead before the next station
HOP_STRIPED = 2  # flag: this station or the next is one of a striped memory's
HOP_ENDS = 4  # flag: after this station comes the destination, or a node that forwards whole messages
HOP_FLAGS = 7

ALONE_COUNTED, ALONE_NOTED = 1, 2  # its traces are in the lease of its route, or at the stations

SOURCE_FS = 0  # since when the flits not yet served stand before the station
SOURCE_ENTRY = 1  # the next of them, packed
SOURCE_NEXT = 2  # next entry at the same station, by (time, owner)
SOURCE_COLUMNS = 4

# What every visit needs is in the first line, and when one is due in `VISITS`.
STATION_FULL_FS = 0  # service of a full flit
STATION_PROPAGATION_FS = 1
STATION_PORT = 2  # first port
STATION_PORT_END = 3
STATION_FREE_FS = 4  # end of the service under way
STATION_SOURCE = 5  # first source entry, or NONE
STATION_BUSY_FS = 6
STATION_FLITS = 7
STATION_QUANTUM = 8  # a partial flit is served as if rounded up to this many bytes
STATION_TURN_FS = 9  # extra when the direction differs from the flit before
STATION_DIRECTION = 10  # of the last flit, or NONE
STATION_SOURCE_LAST = 11
STATION_RANK = 12  # place in the order of visits
STATION_USERS = 13  # flights whose route it is on
STATION_ALONE = 14  # the route in whose lease it is, or NONE
STATION_COLUMNS = 16

# Rows by rank: what has to be known of a station before it is visited.
VISIT_STATION = 0
VISIT_HEAD_FS = 1  # when its next service is due, or before; NEVER without flits
VISIT_AHEAD_FS = 2  # how far beyond the horizon of a sweep all that will come is known
VISIT_TURN_FS = 3  # the station's
VISIT_COLUMNS = 4

STEP_STATION = 0  # of a striped step the first of its stations
STEP_STRIPES = 1  # flit f takes the station of stripe (stripe + f) mod stripes
STEP_OVERHEAD_FS = 2  # paid once per transfer, by the first flit to reach the node before this station
STEP_WHOLE = 3  # 1: the node before this station forwards nothing until it has the whole message
STEP_PORT = 4  # port entered, of stripe 0; NONE for first and whole steps and at the end
STEP_PORT_OWN = 5  # ports to go on per stripe of this step
STEP_PORT_BEFORE = 6  # ports to go on per stripe of the step before
STEP_COLUMNS = 8

ROUTE_START, ROUTE_END, ROUTE_LEAD_FS, ROUTE_TAIL_FS, ROUTE_PROPAGATION_FS, ROUTE_DIRECTION = 0, 1, 2, 3, 4, 5
ROUTE_COLUMNS = 6

# Every route has a lease, see `leases`.
LEASE_HELD = 0  # 1: only flights of this route have passed its stations since it was taken, one at a time
LEASE_FLIGHT = 1  # the latest of them, until it is forgotten; or NONE
LEASE_FLITS, LEASE_LAST_BYTES = 2, 3  # a size of flights, by flits and bytes of the last; or NONE
LEASE_LANDS_FS = 4  # how long after its start one of that size lands
LEASE_PASSED = 5  # flits that have passed all steps and are not put down at the stations yet
LEASE_AHEAD = 6  # tokens that a flight may go on to; as many again each time that goes well
LEASE_COLUMNS = 8
TOKENS_MOST = 64

# Ports stand at multiples of 8. The first flit of a port's queue stands in the port, the others in blocks of the pool.
PORT_FS = 0  # arrival of the first flit, or NEVER: there is none
PORT_ENTRY = 1  # the first flit, packed
PORT_OWNER = 2  # of the first flit's flight
PORT_HEAD = 3  # slot of the second flit
PORT_TAIL = 4  # slot after that of the last flit; the same as the head if there is no second
PORT_RANK = 5  # of the station that is entered
PORT_COLUMNS = 8

# The pool is int64[slot, 2], a row a queued flit: arrival and packed flit; the first row of a block is (block before, block
# after). A block is taken when a flit needs it and returned when its last flit leaves, so that few are in use and those
# are in the cache: rings that grew cost more in page faults than all else together.
BLOCK = 32  # slots

OP_ISSUE_FS, OP_START_FS, OP_END_FS, OP_COLUMNS = 0, 1, 2, 3  # of the times of rows; NONE: not yet

# A queued flit is packed as hop / HOP_COLUMNS << FLIT_SHIFT | how many flits of its flight come after it.
FLIT_SHIFT = 25
FLITS_MOST = 1 << FLIT_SHIFT  # of one transfer
FLIT_MASK = FLITS_MOST - 1

NEVER = 1 << 62
