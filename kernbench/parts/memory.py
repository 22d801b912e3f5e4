"""Memories: HBM slices, a cube's SRAM, a PE's TCM, and the MMU that translates addresses."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from kernbench.parts.costs import TcmCosts
from kernbench.parts.derived import time_of, unit_of
from kernbench.parts.part import Delaying, Part
from kernbench.parts.prices import MemoryPrices, MmuPrices, Silicon
from kernbench.schema.fields import Bytes, Count, Gbs, Ns

MIB = 1 << 20


class Hbm(Delaying):
    """One PE's slice of a cube's HBM: `channels` pseudo-channels, each with bursts of `burst_bytes`.

    `turn_ns` is the turnaround of a channel between reads and writes.
    """

    kind: ClassVar[str] = "hbm"
    ports: ClassVar[tuple[str, ...]] = (
        "overhead_fs", "turn_fs", "channel_gbs", "channels", "burst_bytes", "slice_bytes"
    )  # fmt: skip
    energy: MemoryPrices = MemoryPrices()
    silicon: Silicon = Silicon()
    channel_gbs: Gbs = Field(description="bandwidth of one pseudo-channel")
    channels: Annotated[Count, Field(le=4096)] = Field(description="pseudo-channels of a PE's slice")
    burst_bytes: Bytes = Field(
        description="bytes that a pseudo-channel serves at once; flits and slices are multiples of it"
    )
    slice_bytes: Bytes = Field(description="size of a PE's slice")
    turn_ns: Ns = Field(description="turnaround of a pseudo-channel between reads and writes")
    turn_fs = time_of("turn_ns")

    def area_scale(self) -> tuple[float, str]:
        """GB/s of all its channels."""
        return float(self.channels), "channel_gbs"

    def memory_bytes(self) -> int:
        """The size of a slice."""
        return self.slice_bytes

    @model_validator(mode="after")
    def _slices_hold_bursts(self) -> Hbm:
        if self.slice_bytes % self.burst_bytes:
            raise ValueError(f"slice_bytes {self.slice_bytes} is not a multiple of burst_bytes {self.burst_bytes}")
        return self


class Sram(Delaying):
    """The scratchpad of a cube. `gbs` is the bandwidth of its link and of the memory itself."""

    kind: ClassVar[str] = "sram"
    ports: ClassVar[tuple[str, ...]] = ("overhead_fs", "gbs", "bytes")
    energy: MemoryPrices = MemoryPrices()
    silicon: Silicon = Silicon()
    gbs: Gbs = Field(description="bandwidth of its link and of the memory itself")
    bytes: Bytes = Field(description="size of a cube's SRAM")

    def size_bytes(self) -> int:
        """Its size."""
        return self.bytes

    def area_scale(self) -> tuple[float, str]:
        """MiB."""
        return self.bytes / MIB, ""


class PeTcm(TcmCosts, Part):
    """The scratchpad of a PE, with separate servers for reads and writes."""

    kind: ClassVar[str] = "pe_tcm"
    ports: ClassVar[tuple[str, ...]] = ("bytes", "chain_gbs", "read", "write")
    energy: MemoryPrices = MemoryPrices()
    silicon: Silicon = Silicon()
    read_gbs: Gbs = Field(description="bandwidth of the read port")
    write_gbs: Gbs = Field(description="bandwidth of the write port")
    bytes: Bytes = Field(description="size of a PE's TCM")
    read_byte_fs = unit_of("read_gbs")
    write_byte_fs = unit_of("write_gbs")

    def size_bytes(self) -> int:
        """Its size."""
        return self.bytes

    def area_scale(self) -> tuple[float, str]:
        """MiB."""
        return self.bytes / MIB, ""

    def chain_gbs(self) -> float:
        """The bandwidth of the links between the parts of a PE, as pictures show it."""
        return self.read_gbs


class PeMmu(Part):
    """The address translation of a PE; each translation takes `tlb_ns`."""

    kind: ClassVar[str] = "pe_mmu"
    ports: ClassVar[tuple[str, ...]] = ("tlb_fs",)
    energy: MmuPrices = MmuPrices()
    silicon: Silicon = Silicon()
    tlb_ns: Ns = Field(description="time of each translation")
    tlb_fs = time_of("tlb_ns")
