"""Ports of a network with credits: buffers, and the pipeline of the routers behind them. Unbounded networks do not use them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from kernbench.components.part import Part
from kernbench.schema.fields import Count, Ns

CHANNELS_MOST = 64  # virtual channels of a port, and inputs of a switch: a word of bits
BUFFER_MOST = 1 << 14  # flits of a virtual channel


class Port(Part):
    """The input ports of a class of nodes, each with so many virtual channels, and the pipeline of such a node."""

    kind: ClassVar[str] = "port"
    virtual_channels: Annotated[Count, Field(le=CHANNELS_MOST)]
    buffer_flits: Annotated[Count, Field(le=BUFFER_MOST)]
    credit_ns: Ns
    routing_ns: Ns
    vc_allocation_ns: Ns
    switch_allocation_ns: Ns
    traversal_ns: Ns


class MemoryPort(Port):
    """The ports of memories: `queue_flits` wait at each channel, and `reply_packets` are read before they are sent."""

    kind: ClassVar[str] = "memory_port"
    queue_flits: Annotated[Count, Field(le=BUFFER_MOST)]
    reply_packets: Annotated[Count, Field(le=BUFFER_MOST)]
