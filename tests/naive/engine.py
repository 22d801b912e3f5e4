"""The reference interpreter: what each op of a device program means.

One heap of events ordered by (time, kind, owner, index); at one instant flits come last. No pools, no packing, no speed.
"""

import heapq
from collections import deque
from dataclasses import dataclass, field
from itertools import count

from kernbench.program.ops import EQ, NONE, Op
from kernels_jit.layout.codes import DELIVER, DONE, FLIT, SEQ_BITS, SERVED, WAKE


@dataclass
class Job:
    """Rows being done one after the other on behalf of a thread: one row, or the stages of a token."""

    rows: list[int]
    owner: int
    plan: int = NONE


@dataclass
class Flight:
    """A payload on its way."""

    job: Job
    sizes: list[int]
    steps: range
    direction: int
    stripe: int
    tail_fs: int
    arrived: int = 0
    latest: int = 0
    gate: dict[int, int] = field(default_factory=dict)


class NaiveEngine:
    """Runs a flushed program once; `ask` rows are passed over."""

    def __init__(self, program):
        self.program, self.machine = program, program.machine
        self.op = program.op.tolist()
        self.duration = program.duration_fs().tolist()
        self.stations = {name: array.tolist() for name, array in self.machine.stations._asdict().items()}
        self.routes = {name: array.tolist() for name, array in self.machine.routing.tables()._asdict().items()}
        self.plan_start, self.token_start = program.plan_start.tolist(), program.token_start.tolist()
        self.token_end = program.token_end.tolist()
        rows, stations = len(self.op), len(self.stations["fs_per_flit"])
        self.issue, self.start, self.end = [-1] * rows, [-1] * rows, [-1] * rows
        self.counter = [0] * len(program.counter_labels)
        self.waiting = [set() for _ in self.counter]  # threads
        self.cursor = {t.id: (t.chunks[0][1], t.chunks[0][1] + t.chunks[0][2]) for t in program.threads if t.chunks}
        self.seq = {thread: count() for thread in self.cursor}
        self.slots = [int(n) for n in self.machine.server_slots]
        self.queue = [deque() for _ in self.slots]
        self.server_busy = [0] * len(self.slots)
        self.left, self.plan_row = {}, {}
        self.station_free, self.station_busy = [0] * stations, [0] * stations
        self.station_flits, self.last_direction = [0] * stations, [NONE] * stations
        self.events = self.flit_hops = 0
        self.heap = []

    def at(self, time, kind, owner, index, what):
        heapq.heappush(self.heap, (time, kind, owner, index, id(what), what))

    def run(self):
        for thread in self.cursor:
            self.at(0, WAKE, thread, 0, thread)
        while self.heap:
            now, kind, _, index, _, what = heapq.heappop(self.heap)
            self.events += 1
            if kind == FLIT:
                self.serve_flit(now, index, *what)
            elif kind == WAKE:
                self.run_thread(now, what)
            elif kind == DELIVER:
                self.add(now, what, 1)
            else:
                self.finish(now, what)
        return self

    # threads and counters

    def run_thread(self, now, thread):
        row, end = self.cursor[thread]
        while row < end:
            op = self.op[row]
            kind = op[0]
            if kind == Op.WAIT:
                if self.issue[row] < 0:
                    self.issue[row] = self.start[row] = now
                if not self.met(row):
                    self.waiting[op[1]].add(thread)
                    break
                self.counter[op[1]] -= op[4]
                self.end[row] = now
                row += 1
                continue
            row += 1
            if kind in (Op.EXEC, Op.MOVE):
                self.request(now, Job([row - 1], self.owner(thread)))
                continue
            if kind == Op.PIPE:
                self.pipe(now, row - 1, thread)
                continue
            self.issue[row - 1] = self.start[row - 1] = self.end[row - 1] = now
            if kind in (Op.DELAY, Op.UNTIL):
                then = now + self.duration[op[1]] if kind == Op.DELAY else op[1]
                if then > now:
                    self.end[row - 1] = then
                    self.at(then, WAKE, thread, 0, thread)
                    break
            elif kind == Op.ADD:
                self.add(now, op[1], op[2])
        self.cursor[thread] = row, end

    def owner(self, thread):
        return (thread << SEQ_BITS) | next(self.seq[thread])

    def met(self, row):
        _, counter, compare, value, *_ = self.op[row]
        return self.counter[counter] == value if compare == EQ else self.counter[counter] >= value

    def add(self, now, counter, amount):
        self.counter[counter] += amount
        for thread in sorted(self.waiting[counter]):
            if self.met(self.cursor[thread][0]):
                self.waiting[counter].discard(thread)
                self.at(now, WAKE, thread, 0, thread)

    # jobs on servers

    def server_of(self, row):
        return self.op[row][1] if self.op[row][0] == Op.EXEC else self.op[row][5]

    def pipe(self, now, row, thread):
        plan = self.op[row][1]
        tokens = range(self.plan_start[plan], self.plan_start[plan + 1])
        self.left[plan], self.plan_row[plan] = len(tokens), row
        self.issue[row] = self.start[row] = now
        jobs = [Job(list(range(self.token_start[t], self.token_end[t])), 0, plan) for t in tokens]
        for job in jobs:
            stages = [self.owner(thread) for _ in job.rows]
            job.owner = stages[0]
            self.issue[job.rows[0]] = now
        server = self.server_of(jobs[0].rows[0])
        self.queue[server] += jobs
        self.admit(now, server)

    def request(self, now, job):
        row = job.rows[0]
        self.issue[row] = now
        server = self.server_of(row)
        if server == NONE:
            self.begin(now, job)
        else:
            self.queue[server].append(job)
            self.admit(now, server)

    def admit(self, now, server):
        while self.slots[server] and self.queue[server]:
            self.slots[server] -= 1
            self.server_busy[server] -= now
            self.begin(now, self.queue[server].popleft())

    def release(self, now, server):
        if server != NONE:
            self.slots[server] += 1
            self.server_busy[server] += now
            self.admit(now, server)

    def begin(self, now, job):
        row = job.rows[0]
        self.start[row] = now
        if self.op[row][0] == Op.EXEC:
            self.at(now + self.duration[self.op[row][2]], SERVED, self.op[row][1], job.owner, job)
        else:
            self.take_off(now, job)

    def finish(self, now, job):
        row = job.rows.pop(0)
        server = self.server_of(row)
        self.end[row] = now
        if job.rows:
            job.owner += 1
            if server != NONE and self.server_of(job.rows[0]) == server:
                self.issue[job.rows[0]] = now
                self.begin(now, job)
            else:
                self.release(now, server)
                self.request(now, job)
            return
        self.release(now, server)
        counter = self.op[row][3 if self.op[row][0] == Op.EXEC else 4]
        if job.plan != NONE:
            self.left[job.plan] -= 1
            if self.left[job.plan]:
                return
            row = self.plan_row[job.plan]
            self.end[row] = now
            counter = self.op[row][2]
        if counter != NONE:
            self.add(now, counter, 1)

    # flits

    def take_off(self, now, job):
        _, route, nbytes, stripe, _, _, _, lead = self.op[job.rows[0]]
        r = self.routes
        start = now + self.duration[lead] + r["lead_fs"][route]
        flit_bytes = self.machine.flit_bytes
        sizes = [min(flit_bytes, nbytes - at) for at in range(0, nbytes, flit_bytes)]
        steps = range(r["start"][route], r["start"][route + 1])
        flight = Flight(job, sizes, steps, r["direction"][route], stripe, r["tail_fs"][route])
        if not sizes:
            self.land(start + r["propagation_fs"][route], flight)
        else:
            self.enter(start + r["overhead_fs"][steps[0]], flight, steps[0])

    def enter(self, now, flight, step):
        """All flits stand before a station at once."""
        for flit in range(len(flight.sizes)):
            self.at(now, FLIT, flight.job.owner, flit, (flight, step))

    def serve_flit(self, now, flit, flight, step):
        r, s = self.routes, self.stations
        station = r["station"][step] + (flight.stripe + flit) % r["stripes"][step]
        padded = -(-flight.sizes[flit] // s["quantum_bytes"][station]) * s["quantum_bytes"][station]
        full = s["fs_per_flit"][station]
        service = -(-padded * full // self.machine.flit_bytes) if flight.sizes[flit] < self.machine.flit_bytes else full
        if self.last_direction[station] == 1 - flight.direction:
            service += s["turn_fs"][station]
        self.last_direction[station] = flight.direction
        depart = max(now, self.station_free[station]) + service
        self.station_free[station] = depart
        self.station_busy[station] += service
        self.station_flits[station] += 1
        self.flit_hops += station < self.machine.edge_count
        raw = depart + s["propagation_fs"][station]
        onward = step + 1
        if onward in flight.steps and not r["whole"][onward]:
            gate = flight.gate.setdefault(onward, raw + r["overhead_fs"][onward])
            arrival = max(raw, gate) if r["overhead_fs"][onward] else raw
            self.at(arrival, FLIT, flight.job.owner, flit, (flight, onward))
            return
        flight.arrived += 1
        flight.latest = max(flight.latest, raw)
        if flight.arrived == len(flight.sizes):
            if onward in flight.steps:
                flight.arrived = 0
                self.enter(flight.latest + r["overhead_fs"][onward], flight, onward)
            else:
                self.land(flight.latest, flight)

    def land(self, time, flight):
        arrive = self.op[flight.job.rows[0]][6]
        if arrive != NONE:
            self.at(time, DELIVER, flight.job.owner, 0, arrive)
        self.at(time + flight.tail_fs, DONE, flight.job.owner, 0, flight.job)
