"""What flits wait for in a network with credits: each cycle of each flit that can be seen in a buffer has one cause.

The front of a virtual channel is charged to the link that it goes on to, and so are the flits behind it, as queueing.
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
        for _, _, channel in router.inputs.values():
            seen = sum(visible <= now for visible, _ in channel.buffer)
            if seen:
                front = channel.buffer[0]
                onward, allowed = self.network.step(front[1].step + 1)
                self.fs[onward.number, "queueing"] += (seen - 1) * self.cycle
                found.append((channel, front, onward, self.find_cause(now, router, channel, onward, allowed)))
        return found

    def find_cause(self, now, router, channel, onward, allowed):
        """Why the front of a channel stays in a cycle, if it does."""
        if channel.onward:
            if now < channel.ready_fs:
                return "pipeline"
            if not channel.onward[1].credits:
                return "no_credit"
            return "lost_switch" if self.network.is_free(now, onward) else "link_busy"
        came = max(channel.since_fs, channel.buffer[0][0])
        if now < self.network.up(came + router.figures.routing_fs):
            return "pipeline"
        return "no_channel" if all(other.held for other in allowed) else "lost_channel"

    def charge(self, now, found):
        """The router has been served: each front has moved, or the cycle goes to what it waits for."""
        for channel, front, onward, cause in found:
            if not channel.buffer or channel.buffer[0] is not front:
                begun = onward.free_fs - onward.full_fs
                self.fs[onward.number, "link_busy"] += begun - now
                self.stayed_fs += begun - front[0] + self.cycle
                cause = "moves"
            elif cause == "lost_channel" and channel.onward:
                cause = "pipeline"
            self.fs[onward.number, cause] += self.cycle

    def charge_source(self, link, flits, since):
        """The last of some flits that stood before a link since a time goes over it: how much later than alone."""
        self.fs[link.number, "source"] += link.free_fs - flits * link.full_fs - since

    def charge_memory(self, link, fs):
        """A flit was in the buffer of a memory so long."""
        self.fs[link.number, "memory"] += fs
