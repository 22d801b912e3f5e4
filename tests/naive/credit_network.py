"""Routers with finite buffers, cycle by cycle: what a network with credits means.

In each cycle a source sends a flit, each router gives virtual channels to heads and the switch to flits, and each memory lets
flits into the queues of its channels. Whatever they cause elsewhere is seen there in a later cycle. Everything is looked at in
every cycle in which anything is left to do.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from kernbench.program.ops import NONE
from kernels_jit.layout.codes import FLIT
from tests.naive.network_waits import WaitCounts


class Flit(NamedTuple):
    """A flit of a packet, and the step of its transfer's route that it has passed."""

    flight: object
    tail: bool
    step: int
    first: int  # step at which all flits last stood together


@dataclass
class Copy:
    """Where the packet at the front of a buffer goes on to; of one to many destinations a copy goes over each link."""

    step: int
    ready_fs: int  # when it may first ask: for a channel, then for the switch
    passed: int = 0  # flits that have gone there and still stand in the buffer
    onward: tuple[Link, Channel] | None = None  # the link and channel that it has got
    is_over: bool = False  # the tail has gone there


@dataclass
class Channel:
    """A virtual channel of a link: how the sender sees it, and the buffer behind the link."""

    index: int
    depth: int
    credits: int
    returns: deque[int] = field(default_factory=deque)  # when credits under way can be used
    held: bool = False  # by a packet
    tail_sent: bool = False
    buffer: deque[tuple[int, Flit]] = field(default_factory=deque)  # each since when it can be seen there
    since_fs: int = 0  # the head at the front is there since then
    copies: list[Copy] = field(default_factory=list)  # of the packet at the front


@dataclass
class Link:
    """A directed link between two nodes."""

    number: int
    full_fs: int
    propagation_fs: int
    port: int  # at its sender
    far_port: int  # at its receiver
    credit_fs: int  # from a flit's leaving the buffer until its credit can be used
    end_credit_fs: int  # from the arrival of a flit at its end until then
    channels: list[Channel]
    free_fs: int = 0  # for the switch
    sent_fs: int = 0  # all that has passed the switch


@dataclass
class Stage:
    """A part of a router that is not a pipeline: it takes all that stands before it, and is then busy for a time."""

    busy_fs: int
    begun_fs: int = -(1 << 62)

    def take(self, time):
        """When it begins with what comes at a time."""
        if time > self.begun_fs:
            self.begun_fs = max(time, self.begun_fs + self.busy_fs)
        return self.begun_fs


@dataclass
class Router:
    """A node with its links by port, and the pointers of its arbiters."""

    overhead_fs: int
    figures: object  # of its class of ports
    inputs: dict[int, tuple[int, Link, Channel]]  # (port, link, channel) by number
    outputs: dict[int, tuple[int, Link, Channel]]
    ports: int
    routing: Stage
    crossbar: Stage
    flits: int = 0  # in its buffers and under way to them
    channel_grant: dict[int, int] = field(default_factory=dict)  # by output channel: the input channel that comes first
    channel_accept: dict[int, int] = field(default_factory=dict)
    switch_grant: dict[int, int] = field(default_factory=dict)  # by output: the input of the switch that comes first
    switch_accept: dict[int, int] = field(default_factory=dict)
    next_channel: dict[int, int] = field(default_factory=dict)  # by input of the switch: the channel that comes first


@dataclass
class Source:
    """The transfers that stand before a link, and the packet that is being sent."""

    link: Link
    waiting: list[tuple[int, int, object, int]] = field(default_factory=list)  # (start, owner, flight, first step)
    replies: deque[tuple[int, object, int, int]] = field(
        default_factory=deque
    )  # (ready, flight, first step, flits) of a packet
    memory: Memory | None = None  # that the replies come from
    sent: int = 0  # flits of the first transfer
    packet: tuple[object, int, bool] | None = None  # under way: flight, first step, whether it is a reply
    flits: int = 0  # of it, not yet sent
    channel: Channel | None = None
    last: int = -1  # channel of the packet before
    reply: tuple[int, int] = (0, 0)  # under way: since when it could be sent, its flits
    left: int = 0  # packets that may begin, if there is a limit
    returns: list[int] = field(default_factory=list)  # when packets under way no longer count


@dataclass
class Read:
    """A read at a memory."""

    flight: object
    first: int  # step
    taken: int = 0  # flits that are at the channels or have been
    left: int = 0  # flits of its packet that are not yet
    packet: int = 0  # flits of that packet
    ready_fs: int = 0  # when the latest of them has been read


@dataclass
class Memory:
    """A memory: its channels with the flits that wait there, and the reads that it serves in turn."""

    overhead_fs: int
    stations: list
    inputs: list[Link]
    queues: list[deque[int]]  # by channel: when the service of each flit there begins
    coming: list[tuple[int, int, Read]] = field(default_factory=list)  # (start, owner, read)
    reading: deque[Read] = field(default_factory=deque)
    reserved: int = 0  # packets that are read or being read, and not yet sent
    reads_first: bool = True


def number_channels(links):
    """The channels of the links of all ports by number: those of the first port, then those of the next, and so on."""
    return dict(enumerate((port, link, channel) for port, link in enumerate(links) for channel in link.channels))


class CreditNetwork:
    """The network of a naive engine; all times are rounded up to its cycles where something can first be seen."""

    def __init__(self, engine):
        machine = engine.machine
        self.engine, self.figures, self.cycle = engine, machine.flow_control, machine.cycle_fs
        self.routers, self.sources, self.memories, self.links = {}, {}, {}, []
        is_router = machine.is_router
        ports_of = [self.figures.ports[number] for number in machine.port_class]
        for edge in range(machine.edge_count):
            station, back = engine.station(edge), engine.station(edge ^ 1)
            sender, receiver = int(machine.edge_src[edge]), int(machine.edge_dst[edge])
            home = back.propagation_fs + (ports_of[sender].credit_fs if is_router[sender] else 0)
            credits = ports_of[receiver].switch_allocation_fs + home, station.full_fs + home
            depth = ports_of[receiver].buffer_flits
            channels = [Channel(index, depth, depth) for index in range(ports_of[receiver].virtual_channels)]
            ports = int(machine.edge_port[edge]), int(machine.edge_port[edge ^ 1])
            self.links.append(Link(edge, station.full_fs, station.propagation_fs, *ports, *credits, channels))
        for node in range(len(machine.node_kind)):
            if is_router[node]:
                outputs = sorted(
                    (self.links[e] for e in range(machine.edge_count) if machine.edge_src[e] == node),
                    key=lambda link: link.port,
                )
                inputs = [self.links[link.number ^ 1] for link in outputs]
                found = ports_of[node], number_channels(inputs), number_channels(outputs), len(outputs)
                stages = Stage(self.up(ports_of[node].routing_fs)), Stage(ports_of[node].traversal_fs)
                self.routers[node] = Router(int(machine.node_overhead_fs[node]), *found, *stages)
        for node, memory in machine.terminals.items():
            stations = [engine.station(memory.first_station + stripe) for stripe in range(memory.stripes)]
            inputs = [link for link in self.links if machine.edge_dst[link.number] == node]
            queues = [deque() for _ in stations]
            self.memories[node] = Memory(memory.overhead_fs, stations, inputs, queues)
        self.first_station = {memory.first_station: node for node, memory in machine.terminals.items()}
        self.receiver = [self.routers.get(int(node)) for node in machine.edge_dst]
        self.ways = {}  # by route: what comes after each step
        self.flits = 0  # in buffers and under way to them
        self.unsettled = {}  # channels with credits that are not back
        self.next_tick = None
        self.ticks = count()
        self.waits = WaitCounts(self)

    def step(self, number):
        """The link of a step and the channels that may be taken on it."""
        tables = self.engine.tables
        link, kind = self.links[int(tables.station[number])], int(tables.channels[number])
        return link, [link.channels[index] for index in self.figures.channels_of(kind, len(link.channels))]

    def up(self, time):
        """A time rounded up to a cycle."""
        return -(-time // self.cycle) * self.cycle

    def after(self, flight, step):
        """The steps after one of a transfer's route, or after its start, and the destination behind it."""
        number = self.engine.op[flight.job.rows[0]][1]
        if number not in self.ways:
            self.ways[number] = self.find_ways(number)
        return self.ways[number][step]

    def packet_flits(self, flight):
        """Flits of the largest packet of a transfer: where it is copied at a router, the buffer there holds it whole."""
        tables = self.engine.tables
        forks = [
            self.step(step)[0].channels[0].depth
            for step in sorted(self.steps(flight))
            if len(onward := self.after(flight, step)[0]) > 1 and not any(tables.store_and_forward[s] for s in onward)
        ]
        return min([self.figures.packet_flits, *forks])

    def steps(self, flight):
        """The steps of a transfer's route."""
        self.after(flight, NONE)
        return self.ways[self.engine.op[flight.job.rows[0]][1]].keys() - {NONE}

    def find_ways(self, number):
        """What comes after each step of a route."""
        tables, ends = self.engine.tables, iter(self.engine.route(number).ends)
        found, last = {NONE: ([], None)}, {NONE: NONE}
        for branch in range(number, number + int(tables.branches[number])):
            before = last[int(tables.parent[branch])]
            for step in range(int(tables.start[branch]), int(tables.start[branch + 1])):
                found[before][0].append(step)
                found[step], before = ([], None), step
            last[branch] = before
            if tables.destination[branch] != NONE or not tables.destinations[branch]:
                found[before] = (found[before][0], next(ends))
        return found

    def take_off(self, start, flight):
        """A transfer begins."""
        for first in self.after(flight, NONE)[0]:
            self.enter(start, flight, first)

    def enter(self, start, flight, first):
        """A transfer stands before a step of its route: at a memory, or before a link."""
        station = int(self.engine.tables.station[first])
        if station in self.first_station:
            memory = self.memories[self.first_station[station]]
            insort(memory.coming, (start, flight.job.owner, Read(flight, first)), key=lambda coming: coming[:2])
            self.wake(self.up(start))
            return
        source = self.source(self.links[station])
        under_way = source.waiting.pop(0) if source.sent else None
        insort(source.waiting, (start, flight.job.owner, flight, first), key=lambda waiting: waiting[:2])
        if under_way:
            source.waiting.insert(0, under_way)
        self.wake(self.up(start))

    def source(self, link):
        """The source before a link."""
        return self.sources.setdefault(link.number, Source(link, left=self.figures.outstanding_packets))

    def wake(self, time):
        """There is something to do at a time."""
        if self.next_tick is None or time < self.next_tick:
            self.next_tick = time
            self.engine.at(time, FLIT, 0, next(self.ticks), self.tick)

    def tick(self, now):
        """One cycle of everything."""
        self.engine.events -= 1  # each service of a flit is one instead
        if now != self.next_tick:
            return
        self.next_tick = None
        for channel in [channel for channel in self.unsettled.values() if self.settle(now, channel)]:
            del self.unsettled[id(channel)]
        for number in sorted(self.sources):
            self.send(now, self.sources[number])
        for router in self.routers.values():
            if router.flits:
                self.allocate(now, router)
        for memory in self.memories.values():
            self.serve(now, memory)
        if self.flits or any(memory.reading for memory in self.memories.values()):
            self.wake(now + self.cycle)
        for source in self.sources.values():
            if source.replies or source.packet:
                self.wake(now + self.cycle)
            if source.waiting:
                self.wake(max(self.up(source.waiting[0][0]), now + self.cycle))
        for memory in self.memories.values():
            if memory.coming:
                self.wake(max(self.up(memory.coming[0][0]), now + self.cycle))

    def settle(self, now, channel):
        """Credits that are due can be used; if all are back, a channel can be taken again. Returns whether they are."""
        while channel.returns and channel.returns[0] <= now:
            channel.returns.popleft()
            channel.credits += 1
        if channel.tail_sent and channel.credits == channel.depth:
            channel.held = channel.tail_sent = False
        return channel.credits == channel.depth

    def is_free(self, now, link):
        """Whether a link can take a flit that passes the switch in this cycle; behind a fast switch flits queue."""
        return self.figures.internal_speedup > 1 or link.free_fs < now + self.cycle

    def send(self, now, source):
        """A source sends a flit of its first packet, if a channel with a credit can be had."""
        while source.returns and source.returns[0] <= now:
            source.returns.pop(0)
            source.left += 1
        if source.link.free_fs >= now + self.cycle:
            return
        if source.packet is None:
            self.begin_packet(now, source)
        if source.packet is None or not source.channel.credits:
            return
        flight, first, is_reply = source.packet
        step = first + is_reply  # a reply's first step is its memory
        source.flits -= 1
        source.sent += not is_reply
        flit = Flit(flight, source.flits == 0, step, first)
        self.cross(now, source.link, source.channel, flit, now, source.link.full_fs)
        if flit.tail:
            source.packet = source.channel = None
            if is_reply:
                source.memory.reserved -= 1
                since, flits = source.reply
                self.waits.charge_source(source.link, flits, since)
            elif source.sent == flight.flits:
                start, *_ = source.waiting.pop(0)
                self.waits.charge_source(source.link, flight.flits, self.up(start))
                source.sent = 0

    def begin_packet(self, now, source):
        """The next packet of a source takes a channel: a reply that is ready, else one of the first transfer."""
        is_reply = bool(source.replies) and source.replies[0][0] <= now
        limited = self.figures.outstanding_packets > 0 and not is_reply
        if is_reply:
            _, flight, first, flits = source.replies[0]
        elif source.waiting and source.waiting[0][0] <= now:
            _, _, flight, first = source.waiting[0]
            flits = min(flight.flits - source.sent, self.packet_flits(flight))
        else:
            return
        if limited and not source.left:
            return
        link, allowed = self.step(first + is_reply)
        turn = sorted(allowed, key=lambda channel: (channel.index - source.last - 1) % len(link.channels))
        source.channel = next((channel for channel in turn if not channel.held and channel.credits), None)
        if source.channel is None:
            return
        source.channel.held, source.last = True, source.channel.index
        source.packet, source.flits = (flight, first, is_reply), flits
        source.left -= limited
        if is_reply:
            source.reply = source.replies.popleft()[0], flits

    def cross(self, now, link, channel, flit, begun, leaving):
        """A flit that may begin on a link at a time goes over it, to the buffer behind it or to its destination.

        `leaving`: from its beginning until it has left, in fs.
        """
        engine, figures = self.engine, self.figures
        channel.credits -= 1
        self.unsettled[id(channel)] = channel
        if flit.tail:
            if figures.reuse == "tail_sent":
                channel.held = False
            else:
                channel.tail_sent = True
        link.free_fs = max(now, link.free_fs) + link.full_fs
        begun = max(begun, link.sent_fs)
        link.sent_fs = begun + link.full_fs
        station = engine.stations[link.number]
        station.busy_fs += link.full_fs
        station.flits += 1
        engine.events += 1
        arrival = begun + leaving + link.propagation_fs
        flight, (onward, end) = flit.flight, self.after(flit.flight, flit.step)
        gathers = any(engine.tables.store_and_forward[step] for step in onward)
        if onward and not gathers:
            receiver = self.receiver[link.number]
            visible = self.later(now, arrival + (receiver.overhead_fs if receiver else 0))
            channel.buffer.append((visible, flit))
            self.flits += 1
            if receiver:
                receiver.flits += 1
            return
        insort(channel.returns, self.later(now, arrival + link.end_credit_fs))
        if flit.tail:
            self.end_packet(now, flit, arrival)
        latest = engine.gather(arrival, flight, flit.step)
        if latest is None:
            return
        if end:
            engine.land(latest, flight, end)
        for step in onward:
            self.enter(latest + int(engine.tables.overhead_fs[step]), flight, step)

    def later(self, now, time):
        """The first cycle at a time or after it, but after now."""
        return max(self.up(time), now + self.cycle)

    def end_packet(self, now, flit, arrival):
        """A packet has come to its end at a time, and its source learns it. Those of memories do not count."""
        first = int(self.engine.tables.station[flit.first])
        if self.figures.outstanding_packets and first not in self.first_station:
            insort(self.sources[first].returns, self.later(now, arrival + flit.flight.route.propagation_fs))

    # a memory

    def serve(self, now, memory):
        """One cycle of a memory: reads and writes that wait go to its channels, those first that did not go last."""
        while memory.coming and memory.coming[0][0] <= now:
            memory.reading.append(memory.coming.pop(0)[2])
        reads_first = memory.reads_first
        for is_read in (reads_first, not reads_first):
            went = self.read(now, memory) if is_read else self.write(now, memory)
            if went and is_read == reads_first:
                memory.reads_first = not reads_first

    def read(self, now, memory):
        """Flits of the next packet of the first read go to the channels; the read whose turn is next comes first then."""
        if not memory.reading:
            return False
        read, flits = memory.reading[0], memory.reading[0].flight.flits
        if read.left == 0:
            if memory.reserved == self.figures.reply_packets:
                return False
            memory.reserved += 1
            read.left = read.packet = min(self.figures.packet_flits, flits - read.taken)
            read.ready_fs = 0
        went = 0
        while read.left and (end := self.admit(now, memory, read.flight, read.taken)):
            read.ready_fs = max(read.ready_fs, end)
            read.taken, read.left, went = read.taken + 1, read.left - 1, went + 1
        if read.left == 0:
            source = self.source(self.step(read.first + 1)[0])
            source.memory = memory
            source.replies.append((self.later(now, read.ready_fs), read.flight, read.first, read.packet))
            memory.reading.popleft()
            if read.taken < flits:
                memory.reading.append(read)
        return went > 0

    def write(self, now, memory):
        """The flit at the front of each channel goes to its channel of the memory."""
        went = False
        for link in memory.inputs:
            for channel in link.channels:
                if not channel.buffer or channel.buffer[0][0] > now:
                    continue
                flit = channel.buffer[0][1]
                flight = flit.flight
                end = self.admit(now, memory, flight, len(flight.gathered.get(flit.step, ())))
                if not end:
                    continue
                went = True
                self.waits.charge_memory(link, now - channel.buffer[0][0])
                channel.buffer.popleft()
                self.flits -= 1
                insort(channel.returns, self.later(now, now + link.credit_fs))
                if flit.tail:
                    self.end_packet(now, flit, end)
                latest = self.engine.gather(end, flight, flit.step)
                if latest is not None:
                    self.engine.land(latest, flight, self.after(flight, flit.step + 1)[1])
        return went

    def admit(self, now, memory, flight, flit):
        """A flit goes to the queue of its channel if there is room; returns when it has been served, or 0."""
        at = (flight.stripe + flit) % len(memory.stations)
        station, queue, engine = memory.stations[at], memory.queues[at], self.engine
        while queue and queue[0] <= now:
            queue.popleft()
        if len(queue) == self.figures.queue_flits:
            return 0
        service = station.service_fs(flight, flit, engine.flit_bytes)
        begun = max(now + memory.overhead_fs, station.free_fs)
        queue.append(begun)
        station.free_fs = begun + service
        station.busy_fs += service
        station.flits += 1
        engine.events += 1
        return station.free_fs

    # a router

    def allocate(self, now, router):
        """One cycle of a router: virtual channels for heads, then the switch for flits."""
        figures, pipeline = self.figures, router.figures
        fronts = self.waits.look(now, router)
        asking, established, speculative = {}, {}, {}  # by the number of an input channel; see `list_copies`
        for number, channel, copy in self.list_copies(now, router):
            flit = channel.buffer[copy.passed]
            if copy.onward:
                onward, other = copy.onward
                if now >= copy.ready_fs and other.credits and self.is_free(now, onward):
                    established[number] = channel, copy, onward, flit
            elif now >= copy.ready_fs:
                onward, allowed = self.step(copy.step)
                free = [other for other in allowed if not other.held]
                asking[number] = channel, copy, onward, free
                if any(other.credits for other in free) and self.is_free(now, onward):
                    speculative[number] = channel, copy, onward, flit
        given = self.give_channels(router, asking)
        bids = {
            number: (*found, True)
            for number, found in established.items()
            if all(found[1].passed <= other[1].passed for other in established.values() if found[0] is other[0])
        }
        if figures.speculative and figures.allocator == "age":
            for number in speculative:
                if number in given and given[number].credits:
                    bids[number] = (*speculative[number], False)
        elif figures.speculative:
            bids |= {number: (*found, False) for number, found in speculative.items()}
        winners = self.give_switch(router, bids)
        for number, other in given.items():
            _, copy, onward, _ = asking[number]
            copy.onward, other.held, other.tail_sent = (onward, other), True, False
            copy.ready_fs = now + max(pipeline.vc_allocation_fs, self.cycle)
        self.pass_switch(now, router, bids, *winners)
        self.waits.charge(now, fronts)

    def list_copies(self, now, router):
        """What can be seen of packets at the fronts of buffers. Copy n of a packet has its channel's number + n x channels."""
        for at, (_, _, channel) in router.inputs.items():
            if not channel.buffer or channel.buffer[0][0] > now:
                continue
            if not channel.copies:
                flit = channel.buffer[0][1]
                ready_fs = router.routing.take(now) + router.routing.busy_fs
                channel.copies = [Copy(step, ready_fs) for step in self.after(flit.flight, flit.step)[0]]
            for number, copy in enumerate(channel.copies):
                waits = not copy.is_over and copy.passed < len(channel.buffer)
                if waits and channel.buffer[copy.passed][0] <= now:
                    yield at + number * len(router.inputs), channel, copy

    def pass_switch(self, now, router, bids, label, found):
        """Flits pass that have got an output, and with each its copies whose outputs nobody else has got."""
        taken, passed = set(found.values()), {}
        for into, output in found.items():
            number = label[into, output][1]
            if self.pass_on(now, router, number, *bids[number][:2]):
                passed[into] = bids[number][3]
        for into, output in sorted(label):
            number = label[into, output][1]
            if output not in taken and into in passed and bids[number][3] is passed[into]:
                taken.add(output)
                self.pass_on(now, router, number, *bids[number][:2])

    def pass_on(self, now, router, number, channel, copy):
        """A flit goes through the switch, unless it speculated and has no channel or credit. Returns whether it does."""
        if not copy.onward or not copy.onward[1].credits:
            return False
        figures, (onward, other) = router.figures, copy.onward
        flit = channel.buffer[copy.passed][1]
        copy.passed += 1
        if flit.tail:
            copy.onward, copy.is_over = None, True
        if all(each.passed for each in channel.copies):
            self.leave(now, router, router.inputs[number % len(router.inputs)][1], channel)
        begun = router.crossbar.take(now)  # as if it were there at once; all are there as much later
        leaving = figures.switch_allocation_fs + max(figures.traversal_fs, onward.full_fs)
        self.cross(now, onward, other, flit._replace(step=copy.step), begun, leaving)
        return True

    def leave(self, now, router, link, channel):
        """The flit at the front of a buffer has gone wherever it goes, and leaves the buffer."""
        _, flit = channel.buffer.popleft()
        self.flits -= 1
        router.flits -= 1
        insort(channel.returns, self.later(now, now + link.credit_fs))
        for copy in channel.copies:
            copy.passed -= 1
        if flit.tail:
            channel.copies = []
            channel.since_fs = now + self.cycle

    def give_channels(self, router, asking):
        """Which channel each asking head gets."""
        figures, first = self.figures, {}  # by link: the number of its first channel
        for at, (_, link, channel) in router.outputs.items():
            first.setdefault(link.number, at - channel.index)
        inputs, outputs = len(router.inputs), len(router.outputs)
        wanted = {}  # by input channel: output channels by number
        for at, (_, _, onward, free) in asking.items():
            wanted[at] = {first[onward.number] + other.index: other for other in free}
        if figures.allocator == "age":
            found, taken = {}, set()
            for at in sorted(asking, key=lambda at: (asking[at][0].buffer[0][0], at % inputs)):
                free = [other for other in wanted[at] if other not in taken]
                if free:
                    found[at] = max(free, key=lambda other: (wanted[at][other].credits, -other))
                    taken.add(found[at])
        else:
            pointers = router.channel_grant, router.channel_accept
            found = self.match({at: set(channels) for at, channels in wanted.items()}, inputs, outputs, *pointers)
        return {at: wanted[at][other] for at, other in found.items()}

    def give_switch(self, router, bids):
        """What bids for each output at each input of the switch, and of the inputs that get one which they get."""
        figures, numbered = self.figures, router.inputs
        inputs, outputs = figures.input_speedup * router.ports, router.ports
        label = {}  # by (input of the switch, output): the channel that bids
        for at, (channel, _, onward, flit, firm) in bids.items():
            port, link, _ = numbered[at % len(numbered)]
            index = channel.index
            into = port * figures.input_speedup + index % figures.input_speedup
            if figures.allocator == "age":
                rank = flit[0], index
            else:
                first = router.next_channel.get(into, into % figures.input_speedup)
                rank = not firm, (index - first) % len(link.channels)
            label[into, onward.port] = min(label.get((into, onward.port), (rank, at)), (rank, at))
        wanted = {}
        for into, output in label:
            wanted.setdefault(into, set()).add(output)
        if figures.allocator == "age":
            found, taken = {}, set()
            for (into, output), _ in sorted(label.items(), key=lambda item: (item[1][0][0], item[0][1], item[0][0])):
                if into not in found and output not in taken:
                    found[into] = output
                    taken.add(output)
        else:
            guesses = {pair for pair, ((is_guess, _), _) in label.items() if is_guess}
            found = self.match(wanted, inputs, outputs, router.switch_grant, router.switch_accept, guesses)
        for into, output in found.items():
            _, link, channel = numbered[label[into, output][1] % len(numbered)]
            router.next_channel[into] = (channel.index + figures.input_speedup) % len(link.channels)
        return label, found

    def match(self, wanted, inputs, outputs, grant, accept, guesses=()):
        """Which output each input gets, of those that it wants. Pointers of a pair of the first round move past each other.

        `guesses`: pairs of an input and an output, wanted by heads that speculate; in round robin they come after all others.
        """
        figures, found = self.figures, {}
        if figures.allocator == "round_robin":
            chosen = {}
            for into, some in wanted.items():
                if some:
                    first = accept.get(into, 0)
                    chosen[into] = min(some, key=lambda o: ((into, o) in guesses, (o - first) % outputs))
            for output in set(chosen.values()):
                asking, first = [into for into in chosen if chosen[into] == output], grant.get(output, 0)
                into = min(asking, key=lambda i: ((i, output) in guesses, (i - first) % inputs))
                found[into] = output
                grant[output], accept[into] = (into + 1) % inputs, (output + 1) % outputs
            return found
        for number in range(figures.allocator_iterations):
            granted = {}
            for output in set().union(*wanted.values()) - set(found.values()):
                asking = [into for into, some in wanted.items() if output in some and into not in found]
                if asking:
                    into = min(asking, key=lambda into: (into - grant.get(output, 0)) % inputs)
                    granted.setdefault(into, []).append(output)
            for into, some in granted.items():
                output = min(some, key=lambda output: (output - accept.get(into, 0)) % outputs)
                found[into] = output
                if number == 0:
                    grant[output], accept[into] = (into + 1) % inputs, (output + 1) % outputs
        return found
