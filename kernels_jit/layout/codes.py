"""The numbers that Python and the compiled loop agree on: opcodes, event kinds, return statuses.

Plain module-level integers, because numba folds them into the compiled code. `kernbench.program.ops` gives them names.
"""

ROW_WIDTH = 8  # int64 columns of a row of the op table: the opcode and up to seven operands

# Opcodes, with their operands in columns 1 ...
DELAY = 0  # duration
EXEC = 1  # server, duration, counter
MOVE = 2  # route, bytes, stripe, done counter, hold server, arrive counter, lead duration
UNTIL = 3  # time (fs)
ADD = 4  # counter, amount
WAIT = 5  # counter, compare, value, take
PIPE = 6  # plan, counter
MARK = 7
ASK = 8
ARRIVE = 9  # counter

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
