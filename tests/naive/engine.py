"""The reference interpreter: what each op of a device program means.

One heap of events ordered by (time, kind, owner, index); at one instant flits come last. Only copies of a flit, and arrivals
of one transfer, are equal in all four, and these meet nowhere. No pools, no packing; quick only where that costs no clarity.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count, pairwise
from typing import NamedTuple

from kernbench.program.ops import EQ, NONE, Op
from kernels_jit.layout.codes import DELIVER, DONE, FLIT, READ, SEQ_BITS, SERVED, WAKE
from tests.naive.credit_network import CreditNetwork

DELAY, EXEC, MOVE, UNTIL, ADD, WAIT, PIPE, ARRIVE, ASK = map(
    int, (Op.DELAY, Op.EXEC, Op.MOVE, Op.UNTIL, Op.ADD, Op.WAIT, Op.PIPE, Op.ARRIVE, Op.ASK)
)


@dataclass(slots=True, eq=False)
class Job:
    """Rows being done one after the other on behalf of a thread: one row, or the stages of a token."""

    rows: list[int]
    owner: int
    plan: int = NONE


@dataclass(slots=True, eq=False)
class Station:
    """What serves flits one at a time, first come first served."""

    full_fs: int
    quantum_bytes: int
    turn_fs: int
    propagation_fs: int
    free_fs: int = 0
    busy_fs: int = 0
    flits: int = 0
    last_direction: int = NONE
    packet: tuple[Flight, int] | None = None  # that has begun and has not passed, of a link that keeps packets together
    waiting: list[tuple[int, int, Flight, Step]] = field(default_factory=list)  # flits, as they came

    def partial_fs(self, nbytes: int, flit_bytes: int) -> int:
        """How long a flit takes that is not full: no longer than a full one."""
        padded = min(-(-nbytes // self.quantum_bytes) * self.quantum_bytes, flit_bytes)
        return -(-padded * self.full_fs // flit_bytes)

    def service_fs(self, flight: Flight, flit: int, flit_bytes: int) -> int:
        """How long the next flit takes, which is that one of a transfer."""
        service, direction = self.full_fs, flight.route.direction
        if flit == flight.flits - 1 and flight.last_bytes < flit_bytes:
            service = self.partial_fs(flight.last_bytes, flit_bytes)
        if self.last_direction != direction:
            if self.last_direction != NONE:
                service += self.turn_fs
            self.last_direction = direction
        return service

    def take(self, packet_flits: int) -> tuple[int, int, Flight, Step] | None:
        """The flit that has come and is served next: of the packet that has begun, else the first."""
        for at, (_, flit, flight, _) in enumerate(self.waiting):
            packet = (flight, flit // packet_flits)
            if self.packet in (None, packet):
                last = (flit + 1) % packet_flits == 0 or flit + 1 == flight.flits
                self.packet = None if last else packet
                return self.waiting.pop(at)
        return None


@dataclass(slots=True, eq=False)
class Step:
    """A step of a route; of its stations flits take one in turn."""

    stations: list[Station]
    overhead_fs: int
    store_and_forward: bool
    onward: list[Step] = field(default_factory=list)  # a copy of each flit goes to each
    end: End | None = None  # where flits arrive that have passed it


class End(NamedTuple):
    """A destination of a route."""

    number: int
    tail_fs: int
    propagation_fs: int


class Route(NamedTuple):
    """A way of payloads, or a tree of them."""

    first: list[Step]
    ends: list[End]
    lead_fs: int
    direction: int
    is_multicast: bool

    @property
    def propagation_fs(self) -> int:
        """Of a route to one."""
        return self.ends[0].propagation_fs


@dataclass(slots=True, eq=False)
class Flight:
    """A payload on its way."""

    job: Job
    flits: int
    last_bytes: int  # of its last flit; all others are full
    route: Route
    stripe: int
    landed: int = 0  # at how many destinations
    done: int = 0  # when all has been acknowledged
    gathered: dict[Step | End | int, list[int]] = field(
        default_factory=dict
    )  # when flits came that wait there for others; with credits by the number of the step before
    gate: dict[Step, int] = field(default_factory=dict)  # when the node before a step lets flits pass


class NaiveEngine:
    """Runs a flushed program once; `ask` rows call `on_ask(thread, now)`, which may add rows, or are passed over."""

    def __init__(self, program):
        self.program, self.machine = program, program.machine
        self.flit_bytes = self.machine.flit_bytes
        self.op = program.op.tolist()
        self.read_tables()
        self.stations: dict[int, Station] = {}  # those on routes that were taken
        self.routes: dict[int, Route] = {}
        rows = len(self.op)
        self.issue, self.start, self.end = [-1] * rows, [-1] * rows, [-1] * rows
        self.counter = [0] * len(program.counter_labels)
        self.waiting = [set() for _ in self.counter]  # threads
        self.cursor = {t.id: (t.chunks[0][1], t.chunks[0][1] + t.chunks[0][2]) for t in program.threads if t.chunks}
        self.seq = {thread: count() for thread in self.cursor}
        self.slots = [int(n) for n in self.machine.server_slots]
        self.queue = [deque() for _ in self.slots]
        self.server_busy = [0] * len(self.slots)
        self.left, self.plan_row = {}, {}
        self.credits = CreditNetwork(self) if self.machine.flow_control else None
        self.events = self.now_fs = 0
        self.heap, self.pushed = [], count()

    def read_tables(self) -> None:
        """Read what rows refer to, of which a live program has more after each ask."""
        program = self.program
        self.duration, self.tables = program.duration_fs().tolist(), self.machine.routing.tables()
        self.plan_start, self.token_start = program.plan_start.tolist(), program.token_start.tolist()
        self.token_end = program.token_end.tolist()

    def at(self, time: int, kind: int, owner: int, index: int, then: Callable, *what) -> None:
        """`then(time, *what)` is called when it is time."""
        heappush(self.heap, (time, kind, owner, index, next(self.pushed), then, what))

    def run(self, on_ask=None):
        self.on_ask = on_ask
        for thread in self.cursor:
            self.at(0, WAKE, thread, 0, self.run_thread, thread)
        heap = self.heap
        while heap:
            now, *_, then, what = heappop(heap)
            self.now_fs = now
            self.events += 1
            then(now, *what)
        return self

    # what is known of stations afterwards

    @property
    def station_busy(self) -> list[int]:
        """Time spent serving flits, by station."""
        return [self.stations[i].busy_fs if i in self.stations else 0 for i in range(self.station_count)]

    @property
    def station_flits(self) -> list[int]:
        """Flits served, by station."""
        return [self.stations[i].flits if i in self.stations else 0 for i in range(self.station_count)]

    @property
    def station_count(self) -> int:
        return len(self.machine.stations.fs_per_flit)

    @property
    def flit_hops(self) -> int:
        """How many times a flit has crossed a link."""
        return sum(station.flits for i, station in self.stations.items() if i < self.machine.edge_count)

    # threads and counters

    def run_thread(self, now, thread):
        row, end = self.cursor[thread]
        while row < end:
            op = self.op[row]
            kind = op[0]
            if kind == WAIT:
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
            if kind in (EXEC, MOVE):
                self.request(now, Job([row - 1], self.owner(thread)))
                continue
            if kind == PIPE:
                self.pipe(now, row - 1, thread)
                continue
            if kind == ARRIVE:
                continue
            self.issue[row - 1] = self.start[row - 1] = self.end[row - 1] = now
            if kind in (DELAY, UNTIL):
                then = now + self.duration[op[1]] if kind == DELAY else op[1]
                if then > now:
                    self.end[row - 1] = then
                    self.at(then, WAKE, thread, 0, self.run_thread, thread)
                    break
            elif kind == ADD:
                self.add(now, op[1], op[2])
            elif kind == ASK and self.on_ask:
                self.cursor[thread] = row, end
                self.on_ask(thread, now)
                self.take_additions(now, thread)
                row, end = self.cursor[thread]
        self.cursor[thread] = row, end

    def take_additions(self, now, asking):
        """Take what was added to the program: a thread at its end goes on with its new rows, now."""
        program = self.program
        chunks = program.flush()
        self.op += program.op[len(self.op) :].tolist()
        self.read_tables()
        more = len(self.op) - len(self.issue)
        for times in (self.issue, self.start, self.end):
            times += [-1] * more
        more = len(program.counter_labels) - len(self.counter)
        self.counter += [0] * more
        self.waiting += [set() for _ in range(more)]
        for thread, first, end in chunks:
            assert self.cursor.get(thread, (0, 0))[0] >= self.cursor.get(thread, (0, 0))[1]
            self.seq.setdefault(thread, count())
            self.cursor[thread] = first, end
            if thread != asking:
                self.at(now, WAKE, thread, 0, self.run_thread, thread)

    def owner(self, thread):
        return (thread << SEQ_BITS) | next(self.seq[thread])

    def met(self, row):
        _, counter, compare, value, *_ = self.op[row]
        return self.counter[counter] == value if compare == EQ else self.counter[counter] >= value

    def add(self, now, counter, amount=1):
        self.counter[counter] += amount
        for thread in sorted(self.waiting[counter]):
            if self.met(self.cursor[thread][0]):
                self.waiting[counter].discard(thread)
                self.at(now, WAKE, thread, 0, self.run_thread, thread)

    # jobs on servers

    def server_of(self, row):
        return self.op[row][1] if self.op[row][0] == EXEC else self.op[row][5]

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
        if self.op[row][0] == EXEC:
            _, server, duration, *_ = self.op[row]
            self.at(now + self.duration[duration], SERVED, server, job.owner, self.finish, job)
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
        counter = self.op[row][3 if self.op[row][0] == EXEC else 4]
        if job.plan != NONE:
            self.left[job.plan] -= 1
            if self.left[job.plan]:
                return
            row = self.plan_row[job.plan]
            self.end[row] = now
            counter = self.op[row][2]
        if counter != NONE:
            self.add(now, counter)

    # flits

    def route(self, number: int) -> Route:
        if number not in self.routes:
            r, last, first, ends = self.tables, {NONE: Step([], 0, False)}, [], []
            for branch in range(number, number + int(r.branches[number])):
                steps = [self.step(at) for at in range(r.start[branch], r.start[branch + 1])]
                for before, step in pairwise([last[int(r.parent[branch])], *steps]):
                    before.onward.append(step)
                last[branch] = steps[-1] if steps else last[NONE]
                if r.destination[branch] != NONE or not r.destinations[branch]:
                    end = End(int(r.destination[branch]), int(r.tail_fs[branch]), int(r.propagation_fs[branch]))
                    last[branch].end = end
                    ends.append(end)
            first, is_multicast = last[NONE].onward, bool(r.destinations[number])
            self.routes[number] = Route(first, ends, int(r.lead_fs[number]), int(r.direction[number]), is_multicast)
        return self.routes[number]

    def step(self, at: int) -> Step:
        r, first = self.tables, int(self.tables.station[at])
        stations = [self.station(station) for station in range(first, first + int(r.stripes[at]))]
        return Step(stations, int(r.overhead_fs[at]), bool(r.store_and_forward[at]))

    def station(self, number: int) -> Station:
        if number not in self.stations:
            self.stations[number] = Station(*(int(column[number]) for column in self.machine.stations))
        return self.stations[number]

    def take_off(self, now, job):
        _, route, nbytes, stripe, _, _, _, lead = self.op[job.rows[0]]
        route = self.route(route)
        start = now + self.duration[lead] + route.lead_fs
        flits = -(-nbytes // self.flit_bytes)
        flight = Flight(job, flits, nbytes - (flits - 1) * self.flit_bytes, route, stripe)
        if route.is_multicast and job.plan == NONE:
            for row in self.arrival_rows(job.rows[0], route):
                self.issue[row], self.start[row] = self.issue[job.rows[0]], now
        if flits == 0:
            for end in route.ends:
                self.land(start + end.propagation_fs, flight, end)
        elif self.credits:
            self.credits.take_off(start, flight)
        else:
            for step in route.first:
                pace_fs = step.stations[0].full_fs if route.direction == READ else 0
                self.enter(start + step.overhead_fs, flight, step, pace_fs)

    def arrival_rows(self, row: int, route: Route) -> range:
        """The rows after that of a transfer to many."""
        return range(row + 1, row + 1 + len(route.ends))

    def enter(self, now, flight, step, pace_fs=0):
        """All flits stand before a station at once, or one comes to each of its stations every `pace_fs`."""
        for flit in range(flight.flits):
            at = now + flit // len(step.stations) * pace_fs
            self.at(at, FLIT, flight.job.owner, flit, self.serve_flit, flit, flight, step)

    def serve_flit(self, now, flit, flight, step):
        """A flit has come to a station."""
        station = step.stations[(flight.stripe + flit) % len(step.stations)]
        packet_flits = self.machine.packet_flits
        if packet_flits is None:
            self.pass_flit(now, flit, flight, step, station)
            return
        station.waiting.append((now, flit, flight, step))
        while served := station.take(packet_flits):
            self.pass_flit(*served, station)

    def pass_flit(self, now, flit, flight, step, station):
        """A station serves a flit that came at a time, when it has served those before."""
        service = station.service_fs(flight, flit, self.flit_bytes)
        free = station.free_fs
        depart = (now if now > free else free) + service
        station.free_fs = depart
        station.busy_fs += service
        station.flits += 1
        arrival = depart + station.propagation_fs
        if step.end and (latest := self.gather(arrival, flight, step.end)) is not None:
            self.land(latest, flight, step.end)
        for onward in step.onward:
            self.go_on(arrival, flit, flight, onward)

    def go_on(self, arrival, flit, flight, onward):
        """A flit has come to the node before a step."""
        if onward.store_and_forward:
            if (latest := self.gather(arrival, flight, onward)) is not None:
                self.enter(latest + onward.overhead_fs, flight, onward)
            return
        if onward.overhead_fs:
            arrival = max(arrival, flight.gate.setdefault(onward, arrival + onward.overhead_fs))
        self.at(arrival, FLIT, flight.job.owner, flit, self.serve_flit, flit, flight, onward)

    def gather(self, arrival, flight, place):
        """A flit has come where all flits wait for each other; returns when the latest has come, if this is the last one."""
        came = flight.gathered.setdefault(place, [])
        came.append(arrival)
        return max(came) if len(came) == flight.flits else None

    def land(self, time, flight, end=None):
        """All flits have come to a destination; without one, to the only one there is."""
        end, row = end or flight.route.ends[0], flight.job.rows[0]
        arrive = self.op[row][6]
        if flight.route.is_multicast:
            arrive = NONE
            if flight.job.plan == NONE:
                row += 1 + end.number
                self.end[row], arrive = time, self.op[row][1]
        if arrive != NONE:
            self.at(time, DELIVER, flight.job.owner, end.number, self.add, arrive)
        flight.landed += 1
        flight.done = max(flight.done, time + end.tail_fs)
        if flight.landed == len(flight.route.ends):
            self.at(flight.done, DONE, flight.job.owner, 0, self.finish, flight.job)
