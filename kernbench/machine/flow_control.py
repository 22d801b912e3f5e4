"""Flow control with credits: the figures of a network whose routers have finite buffers.

docs/networks.md has the rules. All links of such a network follow one clock: a port passes at most one flit a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from kernbench.schema.fields import Count, Ns
from kernbench.schema.model import Model
from kernbench.units import FS_PER_NS

CHANNELS_MOST = 64  # virtual channels of a port, and inputs of a switch: a word of bits


class Allocator(StrEnum):
    """How virtual channels, and the switch, are given to those that ask for them."""

    ROUND_ROBIN = "round_robin"  # each input chooses an output, then each output an input
    ISLIP = "islip"  # each output grants an input, then each input accepts an output
    AGE = "age"  # the flit that has been longest in its buffer comes first


class Reuse(StrEnum):
    """When a virtual channel may be given to the next packet."""

    TAIL_SENT = "tail_sent"  # when the tail has left for it
    TAIL_CREDIT = "tail_credit"  # when all credits are back, too


class FlowControlSpec(Model):
    """The fields of a topology that say how its links are buffered; with `unbounded` the others mean nothing."""

    flow_control: Literal["unbounded", "credit"] = "unbounded"
    virtual_channels: Annotated[Count, Field(le=CHANNELS_MOST)] = 4
    buffer_flits: Annotated[Count, Field(le=1 << 14)] = 8
    packet_flits: Annotated[Count, Field(le=1 << 20)] = 16
    credit_ns: Ns = 1
    routing_ns: Ns = 0
    vc_allocation_ns: Ns = 1
    switch_allocation_ns: Ns = 1
    traversal_ns: Ns = 1
    speculative: bool = True
    allocator: Allocator = Allocator.ISLIP
    allocator_iterations: Annotated[Count, Field(le=16)] = 1
    input_speedup: Annotated[Count, Field(le=8)] = 1
    internal_speedup: Annotated[Count, Field(le=16)] = 1
    reuse: Reuse = Reuse.TAIL_SENT
    outstanding_packets: Annotated[Count, Field(le=1 << 14)] | None = None
    dateline: bool = True


@dataclass(frozen=True, slots=True)
class FlowControl:
    """The flow control of a machine with credits; times in femtoseconds."""

    virtual_channels: int  # of each input port
    buffer_flits: int  # of each virtual channel
    packet_flits: int  # of the largest packet
    credit_fs: int  # from a credit's arrival at a router until it can be used
    routing_fs: int  # from a head's place at the front of its buffer until it may ask for a virtual channel
    vc_allocation_fs: int
    switch_allocation_fs: int
    traversal_fs: int  # of the crossbar
    speculative: bool  # heads ask for the switch together with the virtual channel
    allocator: str
    allocator_iterations: int  # of iSLIP
    input_speedup: int  # inputs of the switch for each port
    internal_speedup: int  # cycles of routers in the time of a flit on the fastest link
    reuse: str
    outstanding_packets: int  # of a source; 0: without limit
    dateline: bool
    cycle_fs: int

    @classmethod
    def of(cls, spec: FlowControlSpec, flit_fs: int) -> FlowControl | None:
        """The flow control of a checked topology whose fastest link takes `flit_fs` for a flit; None if unbounded."""
        if spec.flow_control == "unbounded":
            return None
        times = ("credit", "routing", "vc_allocation", "switch_allocation", "traversal")
        same = {f.name for f in fields(cls)} & FlowControlSpec.model_fields.keys()
        given: dict[str, Any] = {
            **{name: getattr(spec, name) for name in same},
            **{f"{name}_fs": round(getattr(spec, f"{name}_ns") * FS_PER_NS) for name in times},
            "outstanding_packets": spec.outstanding_packets or 0,
            "cycle_fs": max(1, flit_fs // spec.internal_speedup),
        }
        return cls(**given)

    def channels_of(self, side: int) -> range:
        """The virtual channels that a packet may take on a link: all on side 0, half before (1) or after (2) a dateline."""
        half = self.virtual_channels // 2
        if side == 0 or half == 0 or not self.dateline:
            return range(self.virtual_channels)
        return range(half) if side == 1 else range(half, self.virtual_channels)
