"""The numbers that Python and the compiled loop agree on: opcodes, event kinds, return statuses.

Plain module-level integers, because numba folds them into the compiled code. `kernbench.program.ops` gives them names.
"""

ROW_WIDTH = 8  # int64 columns of a row of the op table: the opcode and up to seven operands

# Opcodes.
DELAY, EXEC, MOVE, UNTIL, ADD, WAIT, PIPE, MARK, ASK, ARRIVE = range(10)

# Of each its operands, in columns 1 to 7: the field of its record, and what it is. Records, checks, causes and bounds follow
# from this table. "counter+" and "counter?" are added to when the op is done; "counter?" and "server?" may be NONE.
OPERANDS: dict[int, dict[str, str]] = {
    DELAY: {"duration": "duration"},
    EXEC: {"server": "server", "duration": "duration", "counter": "counter?"},
    MOVE: {
        "route": "route",
        "payload_bytes": "bytes",
        "stripe": "stripe",
        "done": "counter?",
        "hold": "server?",
        "arrive": "counter?",
        "lead": "duration",
    },
    UNTIL: {"time_fs": "time"},
    ADD: {"counter": "counter+", "amount": "amount"},
    WAIT: {"counter": "counter", "compare": "compare", "value": "amount", "takes": "amount"},
    PIPE: {"plan": "plan", "counter": "counter?"},
    MARK: {},
    ASK: {},
    ARRIVE: {"counter": "counter?"},  # of the MOVE before it
}
BLOCKING = DELAY, UNTIL, WAIT  # the thread goes on at their end
WORKING = DELAY, EXEC, MOVE, UNTIL  # they take time; all others end at once, or when another row does
ADDENDS = tuple(
    (code, column)
    for code, operands in OPERANDS.items()
    for column, kind in enumerate(operands.values(), 1)
    if kind in ("counter+", "counter?")
)  # (opcode, column) of the counters that rows add to

GE, EQ = 0, 1  # compare operand of WAIT
NONE = -1  # no counter, no server
READ, WRITE = 0, 1  # direction of a route; messages count as writes

# Event kinds. Everything at one instant that is not a flit comes before the flits of that instant, and a flit only ever
# causes later events: so when a link serves its arrivals of time t, all of them are known, whoever computes them.
DELIVER, DONE, SERVED, WAKE, FLIT = 0, 1, 2, 3, 4

# An owner is packed as thread << SEQ_BITS | sequence number in the thread; an event key is kind << KIND_SHIFT | owner.
SEQ_BITS = 34
KIND_SHIFT = 60

ROUND_ROBIN, ISLIP, AGE = 0, 1, 2  # allocators of routers

# What a call of the loop returns.
IDLE = 0  # nothing can happen any more
ASKED = 1  # the thread in `asking` wants more rows
MORE = 2  # as much work as was allowed is done
GROW_HEAP, GROW_JOBS, GROW_TRANSFERS, GROW_SLOTS = 3, 4, 5, 6  # a pool is full: enlarge it, call again
STALLED = 8  # flits are in buffers, and nothing can move any more
LAY = 7  # a transfer may begin on a route that the network does not know: lay it, call again
