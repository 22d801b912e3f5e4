"""Parts that data passes through: routers, die-to-die ports, the IO chiplet's network, and what joins packages."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from kernbench.parts.part import Delaying, Part
from kernbench.parts.prices import CrossingPrices, EndpointPrices, PassPrices, Silicon
from kernbench.schema.fields import Gbs, Mm


class Noc(Delaying):
    """The router mesh of a cube. `gbs` is for each directed link; an attached part is at least `attach_mm` away."""

    kind: ClassVar[str] = "noc"
    ports: ClassVar[tuple[str, ...]] = ("overhead_fs", "gbs", "attach_mm")
    energy: PassPrices = PassPrices()
    silicon: Silicon = Silicon()
    gbs: Gbs = Field(description="bandwidth of each directed link between routers")
    attach_mm: Mm = Field(description="least distance between a router and a part attached to it")

    def area_scale(self) -> tuple[float, str]:
        """GB/s of a link."""
        return 1.0, "gbs"


class MeshRouter(Part):
    """A router of a bare network, whose times are fields of the topology."""

    kind: ClassVar[str] = "mesh_router"
    energy: PassPrices = PassPrices()
    silicon: Silicon = Silicon()


class Ucie(Delaying):
    """A die-to-die port. `gbs` is one connection, one way; each of the two ports of a crossing charges the overhead."""

    kind: ClassVar[str] = "ucie"
    ports: ClassVar[tuple[str, ...]] = ("overhead_fs", "gbs")
    energy: CrossingPrices = CrossingPrices()
    silicon: Silicon = Silicon()
    gbs: Gbs = Field(description="bandwidth of one connection, each way")

    def area_scale(self) -> tuple[float, str]:
        """GB/s of a connection."""
        return 1.0, "gbs"


class IoNoc(Delaying):
    """The network of an IO chiplet: one node between PCIe, the IO_CPU and the connections of the ports."""

    kind: ClassVar[str] = "io_noc"
    energy: PassPrices = PassPrices()
    silicon: Silicon = Silicon()


class PcieEp(Delaying):
    """The PCIe endpoint. `gbs` is its link, one way; it is cut-through unless `store_and_forward`."""

    kind: ClassVar[str] = "pcie_ep"
    ports: ClassVar[tuple[str, ...]] = ("overhead_fs", "gbs")
    energy: EndpointPrices = EndpointPrices()
    silicon: Silicon = Silicon()
    gbs: Gbs = Field(description="bandwidth of its link, each way")
    store_and_forward: bool = Field(description="it waits for whole messages; else it forwards each flit as it comes")

    def area_scale(self) -> tuple[float, str]:
        """GB/s of its link."""
        return 1.0, "gbs"

    def stores(self) -> bool:
        """As the field says."""
        return self.store_and_forward or super().stores()


class Switch(Delaying):
    """The fabric switch that joins the PCIe endpoints of all packages."""

    kind: ClassVar[str] = "switch"
    energy: PassPrices = PassPrices()
    silicon: Silicon = Silicon()


class SipLink(Delaying):
    """A port of a direct link between two packages. `gbs` is the link, one way; each of its two ports charges the overhead."""

    kind: ClassVar[str] = "sip_link"
    ports: ClassVar[tuple[str, ...]] = ("overhead_fs", "gbs")
    energy: CrossingPrices = CrossingPrices()
    silicon: Silicon = Silicon()
    gbs: Gbs = Field(description="bandwidth of the link, each way")

    def area_scale(self) -> tuple[float, str]:
        """GB/s of the link."""
        return 1.0, "gbs"
