"""Records by place or number, for compiled code: `station_at(m, place).free_fs`, `plan_at(m, number).left`.

Functions of `m`, the memory, take the place of a record where other records point at it by place, and its number otherwise.
Functions of `op`, the pointers to the entries of the op table and to the entry of each row, and those of `times` and `pool`
take the number of a row.
"""

from __future__ import annotations

from kernels_jit.compile.pointers import indexed_row_at, record_at, row_at, table_row_at
from kernels_jit.layout import codes
from kernels_jit.layout import records as r
from kernels_jit.layout.records import word_of, words_of

state_at = record_at(r.STATE)  # at word 0

# By place.
station_at = record_at(r.STATION)
server_at = record_at(r.SERVER)
job_at = record_at(r.JOB)
transfer_at = record_at(r.TRANSFER)
hop_at = record_at(r.HOP)
source_at = record_at(r.SOURCE)
port_at = record_at(r.PORT)
event_at = record_at(r.EVENT)
bound_at = record_at(r.BOUND)
credit_at = record_at(r.CREDIT)
link_at = record_at(r.LINK)
input_vc_at = record_at(r.INPUT_VC)
output_vc_at = record_at(r.OUTPUT_VC)
copy_at = record_at(r.COPY)
buffered_at = record_at(r.BUFFERED)
vc_request_at = record_at(r.VC_REQUEST)
seen_front_at = record_at(r.FRONT)
memory_at = record_at(r.CREDIT_MEMORY)
reply_at = record_at(r.REPLY)
router_at = record_at(r.ROUTER)
stages_at = record_at(r.STAGES)
input_at = record_at(r.INPUT)
waits_at = record_at(r.WAITS)

# By number.
thread_at = table_row_at(r.THREAD, word_of(r.STATE, "threads"))
counter_at = table_row_at(r.COUNTER, word_of(r.STATE, "counters"))
plan_at = table_row_at(r.PLAN, word_of(r.STATE, "plans"))
token_at = table_row_at(r.TOKEN, word_of(r.STATE, "tokens"))
duration_at = table_row_at(r.DURATION, word_of(r.STATE, "durations"))
step_at = table_row_at(r.STEP, word_of(r.STATE, "steps"))
route_at = table_row_at(r.ROUTE, word_of(r.STATE, "routes"))
reservation_at = table_row_at(r.RESERVATION, word_of(r.STATE, "reservations"))
visit_at = table_row_at(r.VISIT, word_of(r.STATE, "visits"))

# Rows of the op table and their times; queued flits.
code_at = indexed_row_at(r.OP)
delay_at, exec_at, move_at, until_at, add_at, wait_at, pipe_at, arrive_at = (
    indexed_row_at(r.OPS[code])
    for code in (codes.DELAY, codes.EXEC, codes.MOVE, codes.UNTIL, codes.ADD, codes.WAIT, codes.PIPE, codes.ARRIVE)
)
time_at = row_at(r.TIME)
slot_at, block_at = row_at(r.SLOT), row_at(r.BLOCK_HEAD)

STATION_WORDS, SERVER_WORDS, HOP_WORDS, SOURCE_WORDS = map(words_of, (r.STATION, r.SERVER, r.HOP, r.SOURCE))
PORT_WORDS, EVENT_WORDS, BOUND_WORDS, TRANSFER_WORDS = map(words_of, (r.PORT, r.EVENT, r.BOUND, r.TRANSFER))
LINK_WORDS, INPUT_VC_WORDS, BUFFERED_WORDS, ROUTER_WORDS = map(words_of, (r.LINK, r.INPUT_VC, r.BUFFERED, r.ROUTER))
VC_REQUEST_WORDS, MEMORY_WORDS, REPLY_WORDS = map(words_of, (r.VC_REQUEST, r.CREDIT_MEMORY, r.REPLY))
INPUT_WORDS, ROUTE_WORDS, COPY_WORDS = map(words_of, (r.INPUT, r.ROUTE, r.COPY))
WAITS_WORDS, FRONT_WORDS, OUTPUT_VC_WORDS, STAGES_WORDS = map(words_of, (r.WAITS, r.FRONT, r.OUTPUT_VC, r.STAGES))
VISIT_WORDS, TIME_WORDS, SLOT_WORDS = map(words_of, (r.VISIT, r.TIME, r.SLOT))
