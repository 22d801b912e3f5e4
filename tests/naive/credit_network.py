"""Routers with finite buffers, cycle by cycle: what a network with credits means.

In each cycle a source sends a flit, then each router gives virtual channels to heads and the switch to flits. Whatever they
cause elsewhere is seen there in a later cycle. Every router is looked at in every cycle in which anything is left to do.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from kernels_jit.layout.codes import FLIT


class Flit(NamedTuple):
    """A flit of a packet, the step of its transfer's route that it has passed, and the end of that route."""

    flight: object
    tail: bool
    step: int
    end: int


@dataclass
class Channel:
    """A virtual channel of a link: how the sender sees it, and the buffer behind the link."""

    index: int
    credits: int
    returns: deque[int] = field(default_factory=deque)  # when credits under way can be used
    held: bool = False  # by a packet
    tail_sent: bool = False
    buffer: deque[tuple[int, Flit]] = field(default_factory=deque)  # each since when it can be seen there
    since_fs: int = 0  # the head at the front may ask from then on
    onward: tuple[Link, Channel] | None = None  # the link and channel that the packet at the front goes on to
    ready_fs: int = 0  # when it may first ask for the switch


@dataclass
class Link:
    """A directed link between two nodes."""

    number: int
    full_fs: int
    propagation_fs: int
    port: int  # at its sender
    far_port: int  # at its receiver
    credit_fs: int  # from a flit's leaving the buffer until its credit can be used
    channels: list[Channel]
    free_fs: int = 0


@dataclass
class Router:
    """A node with its links by port, and the pointers of its arbiters."""

    overhead_fs: int
    inputs: list[Link]
    outputs: list[Link]
    channel_grant: dict[int, int] = field(default_factory=dict)  # by output channel: the input channel that comes first
    channel_accept: dict[int, int] = field(default_factory=dict)
    switch_grant: dict[int, int] = field(default_factory=dict)  # by output: the input of the switch that comes first
    switch_accept: dict[int, int] = field(default_factory=dict)
    next_channel: dict[int, int] = field(default_factory=dict)  # by input of the switch: the channel that comes first


@dataclass
class Source:
    """The transfers that stand before a link, and the packet that is being sent."""

    link: Link
    waiting: list[tuple[int, int, object, range]] = field(default_factory=list)  # (start, owner, flight, steps)
    sent: int = 0  # flits of the first transfer
    begun: int = 0  # of these, those before the packet under way
    packet: int = 0  # flits of that packet
    channel: Channel | None = None
    last: int = -1  # channel of the packet before
    left: int = 0  # packets that may begin, if there is a limit
    returns: list[int] = field(default_factory=list)  # when packets under way no longer count


class CreditNetwork:
    """The network of a naive engine; all times are rounded up to its cycles where something can first be seen."""

    def __init__(self, engine):
        machine = engine.machine
        self.engine, self.figures, self.cycle = engine, machine.flow_control, machine.flow_control.cycle_fs
        self.routers, self.sources, self.links = {}, {}, []
        is_router = [kind == "router" for kind in machine.node_kind]
        for edge in range(machine.edge_count):
            station, back = engine.station(edge), engine.station(edge ^ 1)
            if is_router[machine.edge_dst[edge]]:
                credit = self.figures.switch_allocation_fs + back.propagation_fs
            else:
                credit = station.full_fs + back.propagation_fs
            credit += self.figures.credit_fs if is_router[machine.edge_src[edge]] else 0
            channels = [Channel(index, self.figures.buffer_flits) for index in range(self.figures.virtual_channels)]
            ports = int(machine.edge_port[edge]), int(machine.edge_port[edge ^ 1])
            self.links.append(Link(edge, station.full_fs, station.propagation_fs, *ports, credit, channels))
        for node in range(len(machine.node_kind)):
            if is_router[node]:
                outputs = sorted(
                    (self.links[e] for e in range(machine.edge_count) if machine.edge_src[e] == node),
                    key=lambda link: link.port,
                )
                inputs = [self.links[link.number ^ 1] for link in outputs]
                self.routers[node] = Router(int(machine.node_overhead_fs[node]), inputs, outputs)
        self.receiver = [self.routers.get(int(node)) for node in machine.edge_dst]
        self.flits = 0  # in buffers and under way to them
        self.next_tick = None
        self.ticks = count()

    def step(self, number):
        """The link of a step and the channels that may be taken on it."""
        tables = self.engine.tables
        link, side = self.links[int(tables.station[number])], int(tables.side[number])
        return link, [link.channels[index] for index in self.figures.channels_of(side)]

    def up(self, time):
        """A time rounded up to a cycle."""
        return -(-time // self.cycle) * self.cycle

    def enter(self, start, flight, route):
        """A transfer stands before its first link."""
        steps = range(*map(int, self.engine.tables.start[route : route + 2]))
        link = self.links[int(self.engine.tables.station[steps.start])]
        source = self.sources.setdefault(link.number, Source(link, left=self.figures.outstanding_packets))
        under_way = source.waiting.pop(0) if source.sent else None
        insort(source.waiting, (start, flight.job.owner, flight, steps), key=lambda waiting: waiting[:2])
        if under_way:
            source.waiting.insert(0, under_way)
        self.wake(self.up(start))

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
        for link in self.links:
            for channel in link.channels:
                self.settle(now, channel)
        for number in sorted(self.sources):
            self.send(now, self.sources[number])
        for router in self.routers.values():
            self.allocate(now, router)
        if self.flits:
            self.wake(now + self.cycle)
        for source in self.sources.values():
            if source.waiting:
                self.wake(max(self.up(source.waiting[0][0]), now + self.cycle))

    def settle(self, now, channel):
        """Credits that are due can be used; a channel whose credits are all back can be taken again."""
        while channel.returns and channel.returns[0] <= now:
            channel.returns.popleft()
            channel.credits += 1
        if channel.tail_sent and channel.credits == self.figures.buffer_flits:
            channel.held = channel.tail_sent = False

    def is_free(self, now, link):
        """Whether a link can take a flit that passes the switch in this cycle; behind a fast switch flits queue."""
        return self.figures.internal_speedup > 1 or link.free_fs < now + self.cycle

    def send(self, now, source):
        """A source sends a flit of its first transfer, if a channel with a credit can be had."""
        while source.returns and source.returns[0] <= now:
            source.returns.pop(0)
            source.left += 1
        if not source.waiting or source.waiting[0][0] > now:
            return
        if source.link.free_fs >= now + self.cycle:
            return
        _, _, flight, steps = source.waiting[0]
        link, allowed = self.step(steps.start)
        limited = self.figures.outstanding_packets > 0
        if source.channel is None and (source.left or not limited):
            turn = sorted(
                allowed, key=lambda channel: (channel.index - source.last - 1) % self.figures.virtual_channels
            )
            source.channel = next((channel for channel in turn if not channel.held and channel.credits), None)
            if source.channel:
                source.channel.held, source.last = True, source.channel.index
                source.packet = min(flight.flits - source.sent, self.figures.packet_flits)
                source.begun = source.sent
                source.left -= limited
        channel = source.channel
        if channel is None or not channel.credits:
            return
        source.sent += 1
        flit = Flit(flight, source.sent - source.begun == source.packet, steps.start, steps.stop)
        begun = max(now, link.free_fs)
        self.cross(now, link, channel, flit, begun, begun + link.full_fs)
        if flit.tail:
            source.channel = None
            if source.sent == flight.flits:
                source.waiting.pop(0)
                source.sent = 0

    def cross(self, now, link, channel, flit, begun, departed):
        """A flit goes over a link: to the buffer behind it, or to its destination."""
        engine, figures = self.engine, self.figures
        channel.credits -= 1
        if flit.tail:
            if figures.reuse == "tail_sent":
                channel.held = False
            else:
                channel.tail_sent = True
        link.free_fs = begun + link.full_fs
        station = engine.stations[link.number]
        station.busy_fs += link.full_fs
        station.flits += 1
        engine.events += 1
        arrival = departed + link.propagation_fs
        if flit.step + 1 < flit.end:
            visible = self.later(now, arrival + self.receiver[link.number].overhead_fs)
            channel.buffer.append((visible, flit))
            self.flits += 1
            return
        channel.returns.append(self.later(now, arrival + link.credit_fs))
        flight = flit.flight
        if flit.tail and figures.outstanding_packets:
            insort(self.source_of(flight).returns, self.later(now, arrival + flight.route.propagation_fs))
        flight.arrived += 1
        flight.latest = max(flight.latest, arrival)
        if flight.arrived == flight.flits:
            engine.land(flight.latest, flight)

    def later(self, now, time):
        """The first cycle at a time or after it, but after now."""
        return max(self.up(time), now + self.cycle)

    def source_of(self, flight):
        first = int(self.engine.tables.start[self.engine.op[flight.job.rows[0]][1]])
        return self.sources[int(self.engine.tables.station[first])]

    # a router

    def allocate(self, now, router):
        """One cycle of a router: virtual channels for heads, then the switch for flits."""
        figures, count = self.figures, self.figures.virtual_channels
        asking, established, speculative = {}, {}, {}  # by input channel: port * channels + channel
        for port, link in enumerate(router.inputs):
            for channel in link.channels:
                if not channel.buffer or channel.buffer[0][0] > now:
                    continue
                at = port * count + channel.index
                if channel.onward:
                    onward, other = channel.onward
                    if now >= channel.ready_fs and other.credits and self.is_free(now, onward):
                        established[at] = channel
                elif now >= max(channel.since_fs, channel.buffer[0][0]) + figures.routing_fs:
                    onward, allowed = self.step(channel.buffer[0][1].step + 1)
                    free = [other for other in allowed if not other.held]
                    asking[at] = channel, onward, free
                    if any(other.credits for other in free) and self.is_free(now, onward):
                        speculative[at] = channel, onward
        given = self.give_channels(router, asking)
        bids = {at: (channel, channel.onward[0], True) for at, channel in established.items()}
        if figures.speculative and figures.allocator == "age":
            for at in speculative:
                if at in given and given[at].credits:
                    bids[at] = (*speculative[at], False)
        elif figures.speculative:
            bids |= {at: (*found, False) for at, found in speculative.items()}
        matched = self.give_switch(router, bids)
        for at, other in given.items():
            channel, onward, _ = asking[at]
            channel.onward, other.held, other.tail_sent = (onward, other), True, False
            channel.ready_fs = now + max(figures.vc_allocation_fs, self.cycle)
        for at in matched:
            channel, onward, _ = bids[at]
            if channel.onward and channel.onward[1].credits:
                self.pass_on(now, router.inputs[at // count], channel)

    def pass_on(self, now, link, channel):
        """The flit at the front of a buffer goes through the switch."""
        figures, (onward, other) = self.figures, channel.onward
        _, flit = channel.buffer.popleft()
        self.flits -= 1
        channel.returns.append(self.later(now, now + link.credit_fs))
        if flit.tail:
            channel.onward = None
            channel.since_fs = now + self.cycle
        begun = max(now, onward.free_fs)
        departed = begun + figures.switch_allocation_fs + max(figures.traversal_fs, onward.full_fs)
        self.cross(now, onward, other, flit._replace(step=flit.step + 1), begun, departed)

    def give_channels(self, router, asking):
        """Which channel each asking head gets."""
        figures, count = self.figures, self.figures.virtual_channels
        inputs, outputs = count * len(router.inputs), count * len(router.outputs)
        wanted = {}  # by input channel: output channels by number
        for at, (_, onward, free) in asking.items():
            wanted[at] = {onward.port * count + other.index: other for other in free}
        if figures.allocator == "age":
            found, taken = {}, set()
            for at in sorted(asking, key=lambda at: (asking[at][0].buffer[0][0], at)):
                free = [other for other in wanted[at] if other not in taken]
                if free:
                    found[at] = max(free, key=lambda other: (wanted[at][other].credits, -other))
                    taken.add(found[at])
        else:
            pointers = router.channel_grant, router.channel_accept
            found = self.match({at: set(channels) for at, channels in wanted.items()}, inputs, outputs, *pointers)
        return {at: wanted[at][other] for at, other in found.items()}

    def give_switch(self, router, bids):
        """Which channels pass a flit: at most one of each input of the switch, and one to each output."""
        figures, count = self.figures, self.figures.virtual_channels
        inputs, outputs = figures.input_speedup * len(router.inputs), len(router.outputs)
        label = {}  # by (input of the switch, output): the channel that bids
        for at, (channel, onward, firm) in sorted(bids.items()):
            port, index = divmod(at, count)
            into = port * figures.input_speedup + index % figures.input_speedup
            if figures.allocator == "age":
                rank = channel.buffer[0][0], index
            else:
                first = router.next_channel.get(into, into % figures.input_speedup)
                rank = not firm, (index - first) % count
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
            found = self.match(wanted, inputs, outputs, router.switch_grant, router.switch_accept)
        matched = [label[pair][1] for pair in found.items()]
        for into, output in found.items():
            index = label[into, output][1] % count
            router.next_channel[into] = (index + figures.input_speedup) % count
        return matched

    def match(self, wanted, inputs, outputs, grant, accept):
        """Which output each input gets, of those that it wants. Pointers of a pair of the first round move past each other."""
        figures, found = self.figures, {}
        if figures.allocator == "round_robin":
            chosen = {}
            for into, some in wanted.items():
                if some:
                    chosen[into] = min(some, key=lambda output: (output - accept.get(into, 0)) % outputs)
            for output in set(chosen.values()):
                asking = [into for into in chosen if chosen[into] == output]
                into = min(asking, key=lambda into: (into - grant.get(output, 0)) % inputs)
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
