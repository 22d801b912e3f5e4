"""HBM that does not always answer at once: every access opens a row, long ones open more, and refreshes take their share.

A pseudo-channel is busy with `burst_bytes` for the time of the pins, a share of `row_ns` for each row that these bytes end, and
the share of time that refreshes take. An access pays `activate_ns` once, before its first burst.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from kernbench.parts.part import Part
from kernbench.parts.prices import MemoryPrices, Silicon
from kernbench.schema.fields import Bytes, Count, Gbs, Ns
from kernbench.units import FS_PER_NS


class RefreshedHbm(Part):
    """One PE's slice of a cube's HBM."""

    kind: ClassVar[str] = "hbm"
    energy: MemoryPrices = MemoryPrices()
    silicon: Silicon = Silicon()
    pin_gbs: Gbs = Field(description="bandwidth of the pins of one pseudo-channel")
    channels: Count = Field(description="pseudo-channels of a PE's slice")
    burst_bytes: Bytes = Field(description="bytes that a pseudo-channel serves at once")
    slice_bytes: Bytes = Field(description="size of a PE's slice")
    refresh_every_ns: Ns = Field(description="time between two refreshes")
    refresh_ns: Ns = Field(description="time of a refresh")
    row_bytes: Bytes = Field(description="bytes of a row")
    activate_ns: Ns = Field(description="time of the row that every access opens")
    row_ns: Ns = Field(description="time of each further row")

    @model_validator(mode="after")
    def _serves_between_refreshes(self) -> RefreshedHbm:
        if self.refresh_ns >= self.refresh_every_ns:
            raise ValueError(
                f"refresh_ns {self.refresh_ns:g} is not less than refresh_every_ns {self.refresh_every_ns:g}"
            )
        return self

    def area_scale(self) -> tuple[float, str]:
        """GB/s of the pins of all its channels."""
        return self.channels * self.pin_gbs, ""

    def memory_bytes(self) -> int:
        """The size of a slice."""
        return self.slice_bytes

    @property
    def channel_gbs(self) -> float:
        """What a pseudo-channel serves at in the long run."""
        burst_ns = self.burst_bytes / self.pin_gbs + self.row_ns * self.burst_bytes / self.row_bytes
        return self.burst_bytes / burst_ns * (1 - self.refresh_ns / self.refresh_every_ns)

    @property
    def overhead_fs(self) -> int:
        """The row that every access opens."""
        return round(self.activate_ns * FS_PER_NS)

    @property
    def turn_fs(self) -> int:
        """Reads and writes follow each other without a gap."""
        return 0
