"""What flits wait for in a network with credits: each cycle of each flit that can be seen in a buffer has one cause.

The front of a virtual channel is charged to the link that it goes on to, and so are the flits behind it, as queueing. Where
a packet forks, each copy has a front of its own, with the flits of the packet behind it; later packets are behind one of them.
"""

from __future__ import annotations

from collections import Counter


class WaitCounts:
    """Times (fs) by (number of a link, cause), as `kernbench.engine.network_waits` explains them."""

    def __init__(self, network):
        self.network, self.cycle = network, network.cycle
        self.fs = Counter()
        self.stayed_fs = 0  # of all flits in buffers of routers and behind their switches, until they begin on a link

    def look(self, now, router):
        """The fronts of the buffers of a router that is not yet served, and what they wait for if they stay."""
        found = []
        for _, channel, copy in self.network.list_copies(now, router):
            flits = [flit for flit in channel.buffer if flit[0] <= now][copy.passed :]
            if any(channel is other for other, *_ in found):  # not the first copy
                flits = flits[: next((at for at, flit in enumerate(flits, 1) if flit[1].tail), None)]
            front, left = flits[0], len(channel.buffer) - copy.passed
            onward, allowed = self.network.step(copy.step)
            self.fs[onward.number, "queueing"] += (len(flits) - 1) * self.cycle
            cause = self.find_cause(now, router, channel, copy, onward, allowed)
            since = (
                front[0] if copy is channel.copies[0] else max(front[0], channel.since_fs)
            )  # before, it was one flit
            found.append((channel, copy, left, since, onward, cause))
        return found

    def find_cause(self, now, router, channel, copy, onward, allowed):
        """Why the front of a copy stays in a cycle, if it does."""
        if now < copy.ready_fs:
            return "pipeline"
        if copy.onward:
            if not copy.onward[1].credits:
                return "no_credit"
            return "lost_switch" if self.network.is_free(now, onward) else "link_busy"
        return "no_channel" if all(other.held for other in allowed) else "lost_channel"

    def charge(self, now, found):
        """The router has been served: each front has moved, or the cycle goes to what it waits for."""
        for channel, copy, left, since, onward, cause in found:
            if len(channel.buffer) - copy.passed < left:
                begun = onward.sent_fs - onward.full_fs
                self.fs[onward.number, "link_busy"] += begun - now
                self.stayed_fs += begun - since + self.cycle
                cause = "moves"
            elif cause == "lost_channel" and copy.onward:
                cause = "pipeline"
            self.fs[onward.number, cause] += self.cycle

    def charge_source(self, link, flits, since):
        """The last of some flits that stood before a link since a time goes over it: how much later than alone."""
        self.fs[link.number, "source"] += link.sent_fs - flits * link.full_fs - since

    def charge_memory(self, link, fs):
        """A flit was in the buffer of a memory so long."""
        self.fs[link.number, "memory"] += fs
