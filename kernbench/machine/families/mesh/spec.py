"""The fields of a `mesh` topology."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from kernbench.machine.network.flow_control_spec import MeshFlowControlSpec
from kernbench.parts.fabric import MeshRouter
from kernbench.parts.technology import Technology
from kernbench.schema.fields import Count, Gbs, MessageBytes, Mm, Ns
from kernbench.schema.limits import Limits
from kernbench.schema.model import Model

OUTSTANDING_MOST = 1_000_000
Side = Annotated[Count, Field(le=512)]


class MeshPartNames(Model):
    """The sheet of each part, by name."""

    mesh_router: str = "mesh_router"
    technology: str = "technology"


class MeshSpec(MeshFlowControlSpec):
    """The fields of a topology of family `mesh`: `w` columns and `h` rows, each of which is `k` if it is not given."""

    family: Literal["mesh"] = Field(description="the family of machines")
    description: str = Field(description="the machine in one line")
    k: Side | None = Field(None, description="columns and rows; none: w and h are given")
    w: Side | None = Field(None, description="columns, if not k")
    h: Side | None = Field(None, description="rows, if not k")
    torus: bool = Field(description="rows and columns are closed to rings")
    flit_bytes: MessageBytes = Field(description="size of a flit")
    link_gbs: Gbs = Field(description="bandwidth of each directed link between routers")
    hop_ns: Ns = Field(description="time from a flit's service on a link to the next router")
    injection_ns: Ns = Field(description="time from a flit's service on the link of an endpoint to its router")
    ejection_ns: Ns = Field(description="time from a flit's service on the link to an endpoint until it is there")
    endpoint_gbs: Gbs | None = Field(
        None, description="bandwidth between an endpoint and its router; none: as link_gbs"
    )
    interleave: Literal["flits", "packets"] = Field(
        "flits", description="what takes turns on a link whose queues have no limit"
    )
    one_way: bool = Field(False, description="links of a torus lead to rising indices alone")
    networks: Annotated[Count, Field(le=2)] = Field(1, description="networks side by side")
    acknowledged: bool = Field(False, description="a write ends for its sender when an acknowledgement is back")
    issue_ns: Ns = Field(0, description="least time between the starts of two transfers of an endpoint")
    hop_mm: Mm = Field(1.0, description="length of a link between routers, for its energy")
    limits: Limits = Limits()
    parts: MeshPartNames = MeshPartNames()
    mesh_router: MeshRouter
    technology: Technology
    outstanding: Annotated[Count, Field(le=OUTSTANDING_MOST)] | None = Field(
        None, description="transfers of an endpoint under way at once; none: no limit"
    )

    @property
    def columns(self) -> int:
        """The columns."""
        return self.w or self.k or 0

    @property
    def rows(self) -> int:
        """The rows."""
        return self.h or self.k or 0

    @model_validator(mode="after")
    def _has_sides(self) -> MeshSpec:
        if self.k is None and (self.w is None or self.h is None):
            missing = "w, columns" if self.w is None else "h, rows"
            raise ValueError(f"k is not given, nor {missing}; give k for a square, or w and h")
        return self

    @model_validator(mode="after")
    def _keeps_packets_without_credits(self) -> MeshSpec:
        if self.interleave == "packets" and self.flow_control == "credit":
            raise ValueError(
                "interleave is packets and flow_control is credit, where each virtual channel keeps its packet together and "
                "links interleave flits of several; give virtual_channels: 1, or flow_control: unbounded"
            )
        return self

    @model_validator(mode="after")
    def _one_way_comes_back(self) -> MeshSpec:
        if self.one_way and not self.torus:
            raise ValueError("one_way is true and torus is false, so no link leads back; set torus to true")
        return self


SPEC = MeshSpec
