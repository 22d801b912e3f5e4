"""Flow control in a topology: the checked fields, and the figures of a machine that they give.

A machine that is kept is loaded without this module, which brings pydantic.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from kernbench.machine.network.flow_control import Allocator, Dateline, FlowControl, PortControl, Reuse
from kernbench.parts.port import BUFFER_MOST, CHANNELS_MOST
from kernbench.schema.fields import Count, Ns
from kernbench.schema.model import Model


def _named(value: Any) -> Any:
    """A kind of dateline. Errors: ValueError for whether there is one, which older files have."""
    if isinstance(value, bool):
        raise ValueError(
            f"got {str(value).lower()}, which older files have; write '{Dateline.CROSS if value else Dateline.NONE}'"
        )
    return value


class FlowControlSpec(Model):
    """The fields of a topology that say how its network is buffered; with `unbounded` the others mean nothing."""

    flow_control: Literal["unbounded", "credit"] = Field(
        "unbounded", description="unbounded: queues have no limit; credit: routers have finite buffers"
    )
    packet_flits: Annotated[Count, Field(le=1 << 20)] = Field(
        16, description="most flits of the packets that a transfer is cut into"
    )
    speculative: bool = Field(True, description="heads ask for the switch together with a virtual channel")
    allocator: Allocator = Field(
        Allocator.ISLIP,
        description="round_robin: each input chooses first; islip: each output; age: the flit longest in its buffer",
    )
    allocator_iterations: Annotated[Count, Field(le=16)] = Field(1, description="iterations of allocator islip")
    input_speedup: Annotated[Count, Field(le=8)] = Field(1, description="inputs of the switch for each port")
    internal_speedup: Annotated[Count, Field(le=16)] = Field(
        1, description="cycles of a router in the time of a flit on the fastest link"
    )
    reuse: Reuse = Field(
        Reuse.TAIL_SENT,
        description="a virtual channel is given again when its tail has left, or when its credits are back, too",
    )
    outstanding_packets: Annotated[Count, Field(le=1 << 14)] | None = Field(
        None, description="packets of a source under way at once; none: no limit"
    )


class MeshFlowControlSpec(FlowControlSpec):
    """The same of family `mesh`, whose ports are all alike."""

    virtual_channels: Annotated[Count, Field(le=CHANNELS_MOST)] = Field(
        4, description="virtual channels of each input port"
    )
    buffer_flits: Annotated[Count, Field(le=BUFFER_MOST)] = Field(
        8, description="flits that the buffer of a virtual channel holds"
    )
    credit_ns: Ns = Field(1, description="time from a credit's arrival until it can be used")
    routing_ns: Ns = Field(
        0, description="time from a head's coming to the front of its buffer until it may ask for a virtual channel"
    )
    vc_allocation_ns: Ns = Field(
        1,
        description="time from the grant of a virtual channel until its flits may ask for the switch; a cycle at least",
    )
    switch_allocation_ns: Ns = Field(
        1, description="time from the grant of the switch until the flit has left its buffer"
    )
    traversal_ns: Ns = Field(1, description="time through the crossbar")
    dateline: Annotated[Dateline | None, BeforeValidator(_named)] = Field(
        None,
        description="on a torus, packets that have half the virtual channels: cross: those behind the dateline of a ring; "
        "packet: those that cross it, on the whole ring; none: all have all; if not given packet, on a one-way torus cross",
    )


def build_flow_control(spec: FlowControlSpec, ports: tuple[PortControl, ...], **more: Any) -> FlowControl | None:
    """The flow control of a checked topology; None if unbounded."""
    if spec.flow_control == "unbounded":
        return None
    same = {f.name for f in fields(FlowControl)} & FlowControlSpec.model_fields.keys()
    given: dict[str, Any] = {name: getattr(spec, name) for name in same}
    return FlowControl(ports, **{**given, "outstanding_packets": spec.outstanding_packets or 0}, **more)


def build_mesh_flow_control(spec: MeshFlowControlSpec, dateline: Dateline) -> FlowControl | None:
    """The flow control of a checked topology whose ports are alike; None if unbounded. `dateline`: if none is given."""
    return build_flow_control(spec, (PortControl.of(spec),), dateline=spec.dateline or dateline)
