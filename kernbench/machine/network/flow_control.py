"""Flow control with credits: the figures of a network whose routers have finite buffers.

docs/networks.md has the rules. All links of such a network follow one clock: a port passes at most one flit a cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from kernbench.units import FS_PER_NS

Kind = TypeVar("Kind", int, np.ndarray)
_TIMES = ("credit", "routing", "vc_allocation", "switch_allocation", "traversal")


class Allocator(StrEnum):
    """How virtual channels, and the switch, are given to those that ask for them."""

    ROUND_ROBIN = "round_robin"  # each input chooses an output, then each output an input
    ISLIP = "islip"  # each output grants an input, then each input accepts an output
    AGE = "age"  # the flit that has been longest in its buffer comes first


class Reuse(StrEnum):
    """When a virtual channel may be given to the next packet."""

    TAIL_SENT = "tail_sent"  # when the tail has left for it
    TAIL_CREDIT = "tail_credit"  # when all credits are back, too


class Dateline(StrEnum):
    """Which packets on a ring have the second half of the virtual channels, so that the first closes no cycle."""

    NONE = "none"  # all packets have all channels
    CROSS = "cross"  # those behind the dateline
    PACKET = "packet"  # those that cross it, on all links of that ring


@dataclass(frozen=True, slots=True)
class PortControl:
    """The ports of a class of nodes: the buffers behind their inputs, and the pipeline of such a router; times in fs."""

    virtual_channels: int  # of each input port
    buffer_flits: int  # of each virtual channel
    credit_fs: int  # from a credit's arrival at a router until it can be used
    routing_fs: int  # from a head's place at the front of its buffer until it may ask for a virtual channel
    vc_allocation_fs: int
    switch_allocation_fs: int
    traversal_fs: int  # of the crossbar

    @classmethod
    def of(cls, spec: object) -> PortControl:
        """The figures of a spec or part that has these fields, times in ns."""
        times = {f"{name}_fs": round(getattr(spec, f"{name}_ns") * FS_PER_NS) for name in _TIMES}
        return cls(getattr(spec, "virtual_channels"), getattr(spec, "buffer_flits"), **times)  # noqa: B009


@dataclass(frozen=True, slots=True)
class FlowControl:
    """The flow control of a machine with credits."""

    ports: tuple[PortControl, ...]  # by class of ports, which `Machine.port_class` has of each node
    packet_flits: int  # of the largest packet
    speculative: bool  # heads ask for the switch together with the virtual channel
    allocator: str
    allocator_iterations: int  # of iSLIP
    input_speedup: int  # inputs of the switch for each port
    internal_speedup: int  # cycles of routers in the time of a flit on the fastest link
    reuse: str
    outstanding_packets: int  # of a source; 0: without limit
    dateline: str = Dateline.NONE
    layers: int = 0  # of virtual channels, for requests and for replies; 0: requests and replies share them
    queue_flits: int = 0  # that wait at a channel of a memory
    reply_packets: int = 0  # of a memory: read, or being read, and not yet sent

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> FlowControl:
        """The flow control that `dataclasses.asdict` has made plain."""
        given = dict(plain)
        return cls(tuple(PortControl(**port) for port in given.pop("ports")), **given)

    def kind(self, place: Kind, is_reply: int) -> Kind:
        """The kind of a step of a route: `place` is its layer, or with datelines its half (see `rings.find_halves`)."""
        return 2 * place + is_reply if self.layers else place

    def channels_of(self, kind: int, count: int) -> range:
        """Of `count` virtual channels those that a packet may take on a link; `kind` is that of a step of its route.

        With layers half of them are for requests and half for replies. A dateline divides these, or all, into two halves;
        without datelines the first layer has all that others leave.
        """
        if not self.layers:
            return self._half(kind, range(count))
        place, is_reply = divmod(kind, 2)
        own = range(count)[count // 2 :] if is_reply else range(count // 2)
        if self.dateline != Dateline.NONE:
            return self._half(place, own)
        rest = own.stop - (self.layers - 1)
        return range(rest + place - 1, rest + place) if place else range(own.start, rest)

    def _half(self, number: int, own: range) -> range:
        half = len(own) // 2
        if number == 0 or half == 0 or self.dateline == Dateline.NONE:
            return own
        return own[:half] if number == 1 else own[half:]
