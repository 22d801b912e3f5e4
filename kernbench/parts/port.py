"""Ports of a network with credits: buffers, and the pipeline of the routers behind them. Unbounded networks do not use them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from kernbench.parts.part import Part
from kernbench.schema.fields import Count, Ns

CHANNELS_MOST = 64  # virtual channels of a port, and inputs of a switch: a word of bits
BUFFER_MOST = 1 << 14  # flits of a virtual channel


class Port(Part):
    """The input ports of a class of nodes, the virtual channels of each, and the pipeline of such a node."""

    kind: ClassVar[str] = "port"
    virtual_channels: Annotated[Count, Field(le=CHANNELS_MOST)] = Field(
        description="virtual channels of each input port"
    )
    buffer_flits: Annotated[Count, Field(le=BUFFER_MOST)] = Field(
        description="flits that the buffer of a virtual channel holds"
    )
    credit_ns: Ns = Field(description="time from a credit's arrival until it can be used")
    routing_ns: Ns = Field(
        description="time from a head's coming to the front of its buffer until it may ask for a virtual channel"
    )
    vc_allocation_ns: Ns = Field(
        description="time from the grant of a virtual channel until its flits may ask for the switch; a cycle at least"
    )
    switch_allocation_ns: Ns = Field(description="time from the grant of the switch until the flit has left its buffer")
    traversal_ns: Ns = Field(description="time through the crossbar")


class MemoryPort(Port):
    """The ports of memories: `queue_flits` wait at each channel, and `reply_packets` are read before they are sent."""

    kind: ClassVar[str] = "memory_port"
    queue_flits: Annotated[Count, Field(le=BUFFER_MOST)] = Field(
        description="flits that wait at a channel of the memory"
    )
    reply_packets: Annotated[Count, Field(le=BUFFER_MOST)] = Field(
        description="packets that are read before they are sent"
    )
