"""Routers with a pipeline: a message is `stages` cycles in each, and a link takes `width_bytes` a cycle."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from kernbench.parts.part import Part
from kernbench.parts.prices import PassPrices, Silicon
from kernbench.schema.fields import Bytes, Count, Ghz, Mm
from kernbench.units import FS_PER_NS


class PipelinedRouter(Part):
    """A router of a cube's mesh."""

    kind: ClassVar[str] = "noc"
    energy: PassPrices = PassPrices()
    silicon: Silicon = Silicon()
    clock_ghz: Ghz = Field(description="clock of the routers")
    width_bytes: Bytes = Field(description="bytes that a link moves in a cycle")
    stages: Count = Field(description="stages of a router's pipeline")
    attach_mm: Mm = Field(description="least distance between a router and a part attached to it")

    def area_scale(self) -> tuple[float, str]:
        """GB/s of a link."""
        return self.gbs, ""

    @property
    def gbs(self) -> float:
        """Of a link, one way."""
        return self.width_bytes * self.clock_ghz

    @property
    def overhead_fs(self) -> int:
        """From the first stage to the last."""
        return round(self.stages * FS_PER_NS / self.clock_ghz)
