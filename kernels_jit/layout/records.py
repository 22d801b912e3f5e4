"""The records in the memory of a run: the one definition of their fields, for Python and for compiled code.

`memory` is one array, int64[word], that begins with a `STATE` record and goes on with tables of other records. One array
is copied at once (a batch of runs starts each from a template) and is saved at once. Rows never move: Python enlarges the
array at its end. So a record is named by its *place*, the index of its first word, and records point at each other by
places. Records of tables that are only looked up by number (threads, counters, plans, tokens, routes, steps,
reservations, ports of a step) point at each other by number. Results never depend on which free row is allocated.

Beside it stand the op table (the entries, and the entry of each row), the times of its rows, and the pool of queued flits,
which grows while the loop runs. Fields are int64, but for those of records that have to fit into few cache lines. numpy reads
a table as `words.view(RECORD)["field"]`, compiled code through `layout.access`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels_jit.layout import codes

WORD = 8  # bytes
NEVER = 1 << 62  # later than any time
PLACE_BITS = 31
PLACES_MOST = 1 << PLACE_BITS  # places that fit into half a word


Field = str | tuple[str, type[np.signedinteger]]  # a name alone: int64


def int32(field: str) -> Field:
    """A field of half a word: a place among the tables of a network (see `PLACES_MOST`), or a number."""
    return field, np.int32


def int16(field: str) -> Field:
    """A field of a quarter of a word: the number of a port or of a virtual channel."""
    return field, np.int16


def record(*fields: Field, words: int = 0) -> np.dtype:
    """A record of fields in this order, padded to a number of words.

    Errors: ValueError for a name that cannot be one, and for a field that is not aligned.
    """
    pairs = [(one, np.int64) if isinstance(one, str) else one for one in fields]
    names, kinds = [name for name, _ in pairs], [np.dtype(kind) for _, kind in pairs]
    if taken := [name for name in names if hasattr(np.void, name)]:
        raise ValueError(f"numpy has another use for the name of a field: {', '.join(taken)}")
    if len(set(names)) < len(names):
        raise ValueError(f"a record names a field twice: {', '.join(names)}")
    ends = np.cumsum([kind.itemsize for kind in kinds]).tolist()
    offsets = [end - kind.itemsize for end, kind in zip(ends, kinds, strict=True)]
    if crooked := [name for name, at, kind in zip(names, offsets, kinds, strict=True) if at % kind.itemsize]:
        raise ValueError(f"fields of a record stand at no multiple of their size: {', '.join(crooked)}")
    size = max(words, -(-ends[-1] // WORD)) * WORD
    layout: Any = {"names": names, "formats": kinds, "offsets": offsets, "itemsize": size}
    return np.dtype(layout, align=True)


def words_of(kind: np.dtype) -> int:
    """The number of words of a record."""
    return kind.itemsize // WORD


def word_of(kind: np.dtype, field: str) -> int:
    """The word of a record that a field is. Errors: ValueError for a field that is less than a word."""
    fields: dict[str, tuple[np.dtype, int]] = kind.fields  # type: ignore[assignment]
    if fields[field][0].itemsize < WORD:
        raise ValueError(f"field {field} is less than a word")
    return fields[field][1] // WORD


STATE = record(
    # Progress.
    "now_fs",  # time of the last event
    "now_key",  # greatest key of the events of that time
    "events",
    "looks",  # work that is no event: rows of threads, bounds, visits of stations, cycles of actors with credits
    "stop",  # events and looks at which the loop comes back
    "latest_fs",  # completion of the latest transfer that nobody waits for
    "resume",  # thread to go on with before the next event, or NONE
    "asking",  # thread that returned ASKED
    # Pools.
    "heap_n",
    "heap_size",
    "bound_n",
    "job_free",  # first of a chain of free jobs, or NONE
    "job_free_n",
    "transfer_free",
    "transfer_free_n",
    "in_flight",  # transfers that are not free
    "slot_n",  # slots of the pool of flits ever handed out
    "slot_size",  # slots of the pool
    "block_free",  # first of a chain of free blocks of the pool, or NONE
    # Settings.
    "hybrid",  # 1: uncontended transfers are done in closed form
    "flit_bytes",
    "packet_flits",  # of a packet that links keep together, or 0: they interleave flits
    "max_steps",  # of any route
    "transfer_words",  # words of a transfer with its hops and sources; smaller rows are not used again
    "margin",  # free rows a pool must have before an event or op is begun
    "thread_n",
    "route_n",
    "window_fs",  # how far one network pass may go
    "slack_fs",  # how far beyond the horizon a station may serve what arrived before it
    "ahead_fs",  # the most that any station may look ahead
    "eager_fs",  # horizon of the latest eager pass
    "lazy",  # 1: of a stretch of passes the first alone is eager
    "stretch_fs",  # horizon of the first pass of the stretch under way
    "stretch_passes",  # passes begun before it
    "pending_row",  # MOVE and PIPE rows from this one on may take routes that are not laid; NEVER: none does
    # A network pass, which may be interrupted, and why it was: see `station.serve_station`.
    "due_fs",  # when the next service is due, or NEVER; between passes
    "limit_fs",  # nothing lands or enters the network before
    "pass_fs",  # horizon of a pass under way, or NONE
    "at_word",
    "at_bit",
    "landed_n",
    "stop_transfer",
    "stop_step",
    "stop_port",
    "stop_entry",
    "stop_fs",
    "stop_branch",  # the next branch of those that still get a copy of the flit, and what they get
    "stop_forks",
    "stop_left",
    "stop_arrival_fs",
    # Places of tables.
    "heap",
    "bounds",
    "landed",
    "terms",
    "threads",
    "counters",
    "servers",
    "plans",
    "tokens",
    "durations",
    "stations",
    "steps",
    "hop_codes",  # with credits: by step, two in a word
    "routes",
    "reservations",
    "ports",
    "packets",  # by station the packet that has begun and has not passed, as the number of its hop; or NONE
    "visits",
    "pending",  # a bit for every station with flits, by rank, 64 a word
    "words",  # how many words of such bits
    "word_fs",  # when the next service of each word is due, or before
    "group_fs",  # the same of every 64 words, so that a large machine is searched as fast as a small one
    "credit",  # place of the record of flow control with credits, or NONE: queues have no limit
    # What was speculated, and what of it was rolled back: see `kernbench.engine.progress`.
    "passes",  # over the network
    "rebounds",  # transfers that had not landed by their bound and got a later one
    "looked_ahead",  # flits served that arrived at or after the horizon; kept in checked runs alone
    "closed",  # transfers done in closed form
    "reopened",  # of these, those that another transfer turned into flits
    "reserved",  # reservations taken
    "revoked",
    "batched",  # transfers done in a batch behind another
    "split",  # of these, those taken back
    "chained",  # tokens that entered a server chain
    "broken",  # chains broken
    "requeued",  # tokens that a broken chain returned to their servers
    words=88,
)

GROUP_SHIFT = 6

EVENT = record("fs", "key", "index", "what")
BOUND = record("fs", "transfer")  # the transfer does not land before

THREAD = record("cursor", "end", "sequence", "next")  # next: waiter on the same counter, or NONE
COUNTER = record("value", "waiter")  # waiter: first waiting thread, or NONE
SERVER = record(
    "slots",
    "used",
    "first",  # queue of jobs, or NONE
    "last",
    "busy_fs",  # time its slots were taken, summed; a multiple of 2^BUSY_SHIFT is carried
    "chain",  # number of the plan in whose chain it is, or NONE
    "ready_fs",  # when the last token of that chain has left it
    "busy_carried",
    words=8,
)
BUSY_SHIFT = 62
PLAN = record(
    "first",  # token
    "end",
    "left",  # tokens not finished
    "row",  # of the op that started it
    "chain_row",  # the row from which on the token was in the chain that formed it: whose servers it is
    "chain_rows",  # of a token in the chain; 0: there is none
    "chain_first",  # the job furthest on, or NONE; jobs before that are complete
    "chain_last",  # the job that entered last
    "transfer",  # that has gone on from token to token, or NONE
    words=12,
)
TOKEN = record("start", "end")  # rows of the op table
DURATION = record("fs")
JOB = record(
    "row",  # of the op table, being done
    "end",  # of its rows: row + 1, or the end of the token's stages
    "owner",  # thread << SEQ_BITS | sequence number
    "plan",  # or NONE
    "token",  # next token of a plan still queued whole; AWAITED; or NONE
    "next",  # in a server's queue, in a chain, or in the chain of free jobs
    "stamp",  # a completion with another stamp is stale
    "left",  # destinations that its transfer to many has not come to
    words=8,
)
JOB_SHIFT = 44  # a job is named in an event as stamp << JOB_SHIFT | place
JOB_STAMPS = (1 << 19) - 1
AWAITED = -2  # the token is in a chain, and its leaving the chain is an event
CHAIN_MOST = 8  # rows of a token in a chain

# A transfer is followed by its hops (one a step), then by its sources (one a stripe).
TRANSFER = record(
    "first_step",  # of its route
    "flits",
    "owner",  # its job's owner: decides ties
    "stripe",
    "arrived",  # flits at the destination, or at the store-and-forward node before it
    "latest_fs",  # when the latest of them arrived
    "tail_step",  # step before which the last flit stands; with credits: the next in the queue of a source
    "tail_fs",  # when it arrived there, or arrives; with credits, where nothing follows: what its route adds at the end
    "job",  # place; with credits, where nothing follows from its completion: LONE_ROW - its row, and the job is free
    "route",
    "last_bytes",  # size of the last flit
    "closed",  # 0, or done in closed form unless another transfer comes: COUNTED or NOTED
    "stamp",  # events of a transfer with another stamp are stale
    "start_fs",  # all flits at the first station
    "from_step",  # step at which all flits last stood together; NONE once landed
    "next",  # in the chain of free transfers, or in the ring of the branches of one transfer
    "end_step",  # first step after its route
    "claims",  # 1: its stations count it as a user
    "words",  # of this row, with hops and sources
    "sources",  # place of its sources
    "batched",  # 1: rows before this one have been done as a batch
    "progress",  # the first of them, or this one; with credits: flits of a read that are at its memory's channels or have been
    "before",  # in the queue of a source with credits
    "branch",  # of a branch of a route to many: the first one at its end, or NONE; 0: the route is to one
    words=24,
)
LONE_ROW = -2  # less the row: in place of a job; NONE is no such number
TRANSFER_ALIGN = 8  # transfers stand at multiples of this
COUNTED, NOTED = 1, 2  # its traces are in its reservation, or at the stations

# What a flit finds at a station of its transfer's route: all that is needed to pass it on, in one half of a cache line.
HOP = record(
    "next",  # place of the port that is entered next, of stripe 0, and flags
    "owner",  # of the transfer
    "transfer",
    "gate_fs",  # earliest arrival here, set by the first flit; or NONE
)
GATED = 1  # flag: there is a node with an overhead before the next station
STRIPED = 2  # flag: this station or the next is one of a striped memory's
ENDS = 4  # flag: after this station comes the destination, or a store-and-forward node
FLAGS = 7

SOURCE = record(
    "fs",  # when the first of the flits not yet served comes to the station
    "entry",  # that flit, packed
    "next",  # source at the same station, by (time, owner)
    "pace_fs",  # how long after it the next one comes; 0: all stand there together
)

# What every visit needs is in the first cache line; when a visit is due stands in `VISIT`.
STATION = record(
    "full_fs",  # service of a full flit
    "propagation_fs",
    "port",  # place of the first port
    "port_end",
    "free_fs",  # end of the service under way
    "source",  # place of the first source, or NONE
    "busy_fs",
    "flits",
    "quantum",  # a partial flit is served as if rounded up to this many bytes
    "turn_fs",  # turnaround: extra when the direction differs from the flit before
    "direction",  # of the last flit, or NONE
    "source_last",
    "rank",  # place in the visit order
    "users",  # transfers whose route it is on
    "reserved",  # number of the route that has it reserved, or NONE
    "served_fs",  # when the flit served last arrived; kept in checked runs alone
    words=16,
)

# By rank: what has to be known of a station before it is visited.
VISIT = record(
    "station",  # place
    "head_fs",  # when its next service is due, or before; NEVER without flits
    "ahead_fs",  # how far beyond the horizon of a pass all that will come is known
    "turn_fs",  # the station's
)

STEP = record(
    "station",  # place; of a striped step that of its first station
    "stripes",  # flit f takes the station of stripe (stripe + f) mod stripes
    "overhead_fs",  # paid once per transfer, by the first flit to reach the node before this station
    "store_and_forward",  # 1: the node before this station forwards nothing until it has the whole message
    "port",  # number of the port entered, of stripe 0; NONE for first and store-and-forward steps and at the end
    "ports_per_stripe",  # ports to go on per stripe of this step; 0: it has one, and there is a port per stripe before
    "channels",  # with credits: the kind of virtual channels, as of `layout.machine_tables`
    words=8,
)
# With credits: a *hop code* says in half a word where a step leads, since heads read it at each router. It is the
# number of the link, or of the memory << HOP_CODE_SHIFT | set of virtual channels << VC_SET_SHIFT | HOP_CODE_BRANCHES |
# HOP_CODE_ENDS. The set is a number in `CREDIT.vc_sets`; 0: it leads to a memory.
HOP_CODE_BITS, HOP_CODE_SHIFT, VC_SET_SHIFT = 32, 8, 2
HOP_CODE_BRANCHES = 2  # a branch of a route to many begins with the step, behind a router
HOP_CODE_ENDS = 1  # flits end behind it
LINKS_MOST, SETS_MOST = 1 << HOP_CODE_BITS - HOP_CODE_SHIFT, 1 << HOP_CODE_SHIFT - VC_SET_SHIFT
ROUTE = record(
    "start",
    "end",
    "lead_fs",
    "tail_fs",
    "propagation_fs",
    "direction",
    "packet_flits",  # with credits: of the largest packet of its transfers
    # Of routes to many destinations: see `flits.multicast`.
    "destinations",  # how many; 0: this is a route to one
    "branches",  # how many the route of this number has
    "parent",  # the branch at whose end this one begins, or NONE
    "destination",  # which one is at its end, or NONE
    "forks",  # how many branches begin at its end
    "bound_bytes",  # of the transfer that has entered the network last, or 0
    "bound_fs",  # how long after its start one of so many bytes lands at the soonest
    words=16,
)

# By route, see `flits.reservations`.
RESERVATION = record(
    "held",  # 1: only transfers of this route have passed its stations since it was taken, one at a time
    "transfer",  # the latest of them, until it is freed; or NONE
    "flits",  # of an even transfer (see `is_even`), all of them full; or NONE
    "lands_fs",  # how long after its start one of that size lands
    "passed",  # flits that have passed all steps and are not yet counted at the stations
    "ahead",  # tokens that a transfer may go on to; twice as many each time that goes well
    words=8,
)
TOKENS_MOST = 64

# The first flit of a port's queue stands in the port, the others in blocks of the pool.
PORT = record(
    "fs",  # arrival of the first flit, or NEVER: there is none
    "entry",  # the first flit, packed
    "owner",  # of the first flit's transfer
    "head",  # slot of the second flit
    "tail",  # slot after that of the last flit; the same as the head if there is no second
    "rank",  # of the station that is entered
    words=8,  # ports stand at multiples of this, because flags go into their places
)

# The pool of queued flits. A block is allocated when a flit needs it and freed when its last flit leaves, so that few are
# in use and those are in the cache: rings that grew cost more in page faults than all else together.
SLOT = record("fs", "entry")
BLOCK_HEAD = record("before", "after")  # first row of a block: the blocks before and after it in its queue
BLOCK = 32  # slots

# A queued flit is packed as hop / words of a hop << FLIT_SHIFT | how many flits of its transfer come after it.
FLIT_SHIFT = 25
FLITS_MOST = 1 << FLIT_SHIFT  # of one transfer
FLIT_MASK = FLITS_MOST - 1

# Flow control with credits: see `credits.network`. Cycles are numbered from the start of the run. The actors of a
# network are its routers, its memories, then the sources of its links by edge. Those of the links of a memory are part of it.
CREDIT = record(
    "cycle_fs",
    "packet_flits",
    "speculative",
    "allocator",
    "iterations",
    "input_speedup",
    "is_queued",  # 1: flits queue behind the switch, which is faster than the links
    "tail_credit",  # 1: a virtual channel is given again when all its credits are back
    "outstanding",  # packets of a source, or 0: without limit
    "is_large",  # 1: its state is larger than the second cache of a processor
    "is_noted",  # 1: OUTPUT_VCs note that they have a credit: in large networks, and in checked runs
    "window",  # cycles that no actor takes to be seen by another
    "patience",  # cycles after which nothing is under way any more
    "served",  # cycles before this one are over
    "moved",  # the last cycle in which a flit moved or a head got a virtual channel
    "next",  # the first cycle in which an actor may have something to do, or NEVER
    "routers",
    "router_n",
    "memories",
    "memory_n",
    "reply_packets",  # of a memory
    "queue_flits",  # of a channel of a memory
    "links",
    "link_n",
    "is_shuffled",  # 1: flits end at a link from whose buffers others go on, so credits may come back in another order
    "vc_sets",  # virtual channels that may be taken at a step, as bits; the first is empty
    "inputs",
    "wakes",  # by actor: the cycle in which it has something to do, or NEVER
    "actor_blocks",  # how many; an actor block is BLOCK_ACTORS actors with numbers that follow
    "block_wakes",  # by actor block the first of these cycles, or NEVER
    "group_wakes",  # the same of every 64 actor blocks, so that few actors are looked at in a large network
    "groups",
    "vc_requests",  # scratch of a router: see `credits.router`
    "switch_candidates",
    "winners",
    "switch_requests",
    "matches",
    "copied",  # inputs of a switch from which a copy has passed, as bits; their copies stand behind `matches`
    "waits",  # place of the waits of each link, or NONE: they are not counted
    "fronts",  # scratch of a router whose waits are counted
    "together",  # windows that may be served together
    "lone",  # transfers in flight from which nothing follows
    "levels",  # how many; those of actor blocks that see each other are at most one apart
    "level_starts",  # by level the number of its first block among `level_blocks`, and after the last level their end
    "level_blocks",  # in the order of their levels
    "block_served",  # by actor block the cycle up to which it has been served; written in checked runs
    words=48,
)
ACTOR_BLOCK_SHIFT = 5
BLOCK_ACTORS = 1 << ACTOR_BLOCK_SHIFT
# By link the time (fs) that flits spent in buffers, by cause, and transfers before it: see `credits.waits`.
WAITED = (
    "moves",  # the cycle in which a flit passes the switch
    "pipeline",  # routing, allocation of a virtual channel
    "no_channel",  # all virtual channels that the packet may take are held
    "lost_channel",  # some are free, others got them
    "no_credit",
    "link_busy",  # with the flit before, also behind a fast switch
    "lost_switch",  # others passed
    "queueing",  # behind the front of a buffer
    "memory",  # in the buffer of a memory that the link leads to
    "source",  # transfers before the link, longer than their flits take
)
# Many flits wait at once, so a sum need not fit into a word: it is that of a cause and 2^CARRY_SHIFT times the one carried.
WAITS = record(*WAITED, *(f"{cause}_carried" for cause in WAITED), words=32)
CARRIED, CARRY_SHIFT = len(WAITED), 32
# Of a virtual channel, or of each copy of the packet at its front, before its router is served in a cycle.
FRONT = record(
    "input_vc",
    "at",  # place of the copy, or of the input VC
    "out_link",
    "left",  # flits in the buffer that have not passed
    "behind",  # of these, those that can be seen and are not the front
    "cause",  # why the front stays, if it does
    words=8,
)
# The virtual channels of all links to a router or a memory are its *input VCs*, in the order of ports.
ROUTER = record(
    "sources",  # bits of the ports at whose links transfers begin that are not sent yet
    "routing",  # cycles
    "vc_allocation",  # cycles
    int32("visible_at"),  # place of the cycle since which the front of each input VC can be seen; NEVER: it is empty
    int32("room"),  # words of that row: input VCs, then words that are always NEVER, to fill whole groups
    int32("input_vcs"),  # place of the INPUT_VCs, side by side
    int32("outputs"),  # place of the places of its links by port
    int32("switch"),  # place of its first INPUT
    int32("stages"),
    int16("ports"),
    int16("input_vc_n"),
    int16("output_vc_n"),
    words=8,
)
# The parts of a router that are no pipelines and take more than a cycle; then by port until when all is sent that has passed.
STAGES = record(
    "routed",  # the cycle in which it last began to route heads
    "crossed_fs",  # the grant of flits that its crossbar took when it took some last, as if it had been free
    "traversal_fs",  # of the crossbar
)
# An input of the switch of a router; a port has as many as the input speed-up. Links to other nodes have them, too.
INPUT = record(
    "returning",  # cycles until the credit of a flit that leaves a buffer of its port can be used
    int32("link"),  # place of the link to its port
    int32("buffers"),  # place of the slots of its port's first virtual channel; those of the others follow
    int32("buffer_words"),  # of each
    int32("visible_at"),  # of the first input VC of its port
    int16("accept"),  # the output that comes first
    int16("first"),  # the virtual channel of its port that comes first
    int16("number"),
    int16("vc_n"),  # of its port
    words=4,
)
CREDIT_MEMORY = record(
    "visible_at",  # this and the next two as of a router
    "room",
    "input_vcs",
    "outputs",  # place of the places of its links by port
    "ports",
    "channel",  # place of the station of its first channel
    "channel_n",
    "overhead_fs",
    "queues",  # of each channel a ring of the times at which the service of flits begins, and before it the place of the oldest
    "replies",  # of each port a ring of packets that are read, and before it the first and how many
    "reserved",  # packets that are read or being read, and not yet sent
    "coming",  # read that has not come yet, the first, or NONE
    "first",  # read in turn, or NONE
    "last",
    "packet",  # flits of the packet of the first read; 0: it has none
    "left",  # of these, those that are not yet at the channels
    "ready_fs",  # when the latest of the others has been read
    "writes_first",
    words=24,
)
REPLY_HEAD = 4  # words before a ring of replies
REPLY = record("transfer", "flits", "cycle", words=4)  # since when the packet can be sent
# A cache line each of what each flit reads, of what is read where flits end or are seen late, and of the source.
LINK = record(
    "held",  # bits of its virtual channels that packets have
    "free_fs",
    "full_fs",
    "flits",  # that have crossed it and are not yet counted at the station
    int32("crossing"),  # cycles from the grant of the switch to the buffer behind it; 0: it is no whole number
    int32("receiver"),  # actor, or NONE
    int32("visible_at"),  # of its first input VC at its receiver; without a receiver it means nothing
    int32("output_vcs"),  # place of its first OUTPUT_VC
    int32("buffers"),  # place of the slots of its first virtual channel; those of the others follow
    int32("buffer_words"),  # of each
    int16("vc_n"),
    int16("first_output_vc"),  # the number of its first virtual channel among those of the sender's links
    int16("port"),
    int16("grant"),  # the input of the switch that comes first
    # Where flits end, or take no whole number of cycles.
    "sent",  # of those held, bits of those whose tail has left and which are not free before their credits are back
    "overhead_fs",  # of the receiver
    "crossing_fs",  # from the grant of the switch to arrival
    "credit_fs",  # from the arrival of a flit that ends here until its credit can be used
    "sending_fs",  # from the start of a flit to arrival
    "station",
    int32("ending"),  # as `crossing`, until the credit of a flit that ends here can be used
    int32("input_vcs"),  # place of its first INPUT_VC
    int32("copies"),  # place of the copies of packets in the buffers behind the link, or 0: none forks
    int32("returns"),  # place of the cycles in which some packets no longer count as under way, in order
    # Of the source.
    "packets",  # that count as under way, if their number is limited
    "first",  # transfer in the queue, or NONE
    "last",
    "flits_sent",  # of the first transfer
    "flits_left",  # of the packet under way
    int32("taken"),  # number of that packet's virtual channel, or NONE
    int32("taken_last"),
    int32("returned_n"),  # how many of these cycles there are
    int32("source"),  # actor that sends what begins here
    int32("sending"),  # as `crossing`, from the source
    int32("stages"),  # of its sender if that has a crossbar which takes more than a cycle, or 0
    words=24,
)
# A virtual channel as its receiver knows it, in half a cache line. Only the receiver reads and writes it while flits go on.
# The INPUT and the index lead to its slots and to the cycle since which its front can be seen. `credits.vc_states`
# draws its states:
#
#     idle ──► routing ──► vc_alloc ──► active ──► idle
#
# out_link is NONE in `idle`, out_vc is NONE before `active`, and a packet in `routing` waits for the cycle `ready`.
INPUT_VC = record(
    "ready",  # the cycle from which on the packet at the front may request: an output VC, then the switch
    int32("front"),  # place of the slot of the first flit, or of what comes next
    int32("out_link"),  # place of the link that the packet at the front goes on to; NONE: not yet known; or COPIES
    int32("out_vc"),  # place of the OUTPUT_VC that the packet holds there, or NONE; or of the first copy
    int32("input"),  # place of its INPUT
    int16("allowed"),  # number of the set of virtual channels that it may take there; or how many copies it has
    int16("accept"),  # the output VC that comes first
    int16("index"),  # among the virtual channels of its link
    int16("is_last"),  # the out_link is the last of the route
    words=4,
)
# A virtual channel as its sender knows it. Those of a router's links stand side by side.
OUTPUT_VC = record(
    int32("back"),  # place of the slot that the next flit takes, when its credit is back
    int16("grant"),  # the input VC that comes first
    int16("credited"),  # 1: it is known to have a credit
    words=1,
)
COPIES = -2  # the packet at the front goes on to several links
COPY = record(  # of such a packet; what an INPUT_VC has, too, stands in the same place
    "ready",
    int32("front"),  # of the flits that have not passed
    int32("out_link"),
    int32("out_vc"),
    int32("input"),
    int16("allowed"),
    int16("accept"),
    int16("vc"),  # the index of its input VC; numba warns of subtypes if a COPY has all names of an INPUT_VC
    int16("is_last"),  # as of an input VC, and IS_COPY
    "flit",  # the flit that goes on, packed, but for whether it is a tail
    int32("input_vc"),  # place of the virtual channel in whose buffer the packet is
    int32("passed"),  # flits that have passed and still are in the buffer
    int32("is_over"),  # 1: the tail has passed
    words=8,
)
IS_COPY = 2
VC_REQUEST = record(
    "input_vc",  # place of the INPUT_VC or the COPY of the head
    "vc",  # number of the input VC among those of the router
    "free",  # the virtual channels that it may take, as bits
    "granted",  # of these, those that grant it; or the one that it has chosen
    "next",  # request for a virtual channel of the same link, or NONE
)
PORTS_MOST = 64  # of a router, and inputs of its switch: a word of bits
# A slot of a buffer: since when its flit can be seen, and the flit, packed; or since when its credit can be used, and NONE.
BUFFERED = record("cycle", "flit")
PLACE_SHIFT = (
    26  # a flit is packed as place of its transfer << PLACE_SHIFT | step << 1 | whether it is its packet's tail
)
STEP_MASK = (1 << PLACE_SHIFT) - 1

TIME = record("issue_fs", "start_fs", "end_fs")  # of a row of the op table; NONE: not yet

# Rows of the op table.
OP_WORDS = codes.ROW_WIDTH
OP = record("code", words=OP_WORDS)
OPS = {code: record("code", *operands, words=OP_WORDS) for code, operands in codes.OPERANDS.items()}  # by opcode
