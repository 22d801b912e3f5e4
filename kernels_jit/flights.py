"""Transfers in flight: taking off and landing. What happens between, flit by flit, is the loop's hot path."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.heap import push
from kernels_jit.state import FLIGHT_FREE_N, FLIT_BYTES, HEAP_N, MAX_STEPS


@jit
def schedule(s, time, key, index, data):
    """Add a pending event."""
    n = s.scalar[HEAP_N]
    push(s.heap_fs, s.heap_key, s.heap_index, s.heap_data, n, time, key, index, data)
    s.scalar[HEAP_N] = n + 1


@jit
def take_off(code, routes, s, job, now):
    """Begin the transfer of a job's MOVE row: its first flit enters the network, or a bare header is on its way."""
    op = code.op
    row = s.job_row[job]
    route, nbytes = op[row, 1], op[row, 2]
    owner = s.job_owner[job]
    n = s.scalar[FLIGHT_FREE_N] - 1
    s.scalar[FLIGHT_FREE_N] = n
    flight = s.flight_free[n]
    s.flight_job[flight] = job
    start = now + code.duration_fs[op[row, 7]] + routes.lead_fs[route]
    if nbytes == 0:
        land(code, routes, s, flight, start + routes.propagation_fs[route])
        return
    flit_bytes = s.scalar[FLIT_BYTES]
    flits = (nbytes + flit_bytes - 1) // flit_bytes
    s.flight_flits[flight] = flits
    s.flight_last_bytes[flight] = nbytes - (flits - 1) * flit_bytes
    s.flight_arrived[flight] = 0
    s.flight_latest_fs[flight] = 0
    first = routes.start[route]
    gate = flight * s.scalar[MAX_STEPS]
    for step in range(routes.start[route + 1] - first):
        s.flight_gate_fs[gate + step] = codes.NONE
    key = (codes.FLIT << codes.KIND_SHIFT) | owner
    schedule(s, start + routes.overhead_fs[first], key, 0, flight << 16)


@jit
def land(code, routes, s, flight, time):
    """All bytes of a flight will be at the destination at `time`: put down the events that follow."""
    job = s.flight_job[flight]
    row = s.job_row[job]
    owner = s.job_owner[job]
    if code.op[row, 6] != codes.NONE:
        schedule(s, time, (codes.DELIVER << codes.KIND_SHIFT) | owner, 0, code.op[row, 6])
    done = time + routes.tail_fs[code.op[row, 1]]
    schedule(s, done, (codes.DONE << codes.KIND_SHIFT) | owner, 0, flight)
