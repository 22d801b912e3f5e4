"""Parts that act on commands: control CPUs, and the scheduler, DMA, queue and fetch engines of a PE."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from kernbench.parts.derived import time_of, unit_of
from kernbench.parts.part import Delaying
from kernbench.parts.prices import DmaPrices, IpcqPrices, JobPrices, PeCpuPrices, Silicon
from kernbench.schema.fields import Count, CyclesOrZero, Gbs, Ghz, Ns

MOST_CHANNELS = 1024  # of a DMA engine, in each direction


class IoCpu(Delaying):
    """The processor of an IO chiplet that decodes kernel launches."""

    kind: ClassVar[str] = "io_cpu"
    energy: JobPrices = JobPrices()
    silicon: Silicon = Silicon()
    whole: ClassVar[bool] = True


class MCpu(Delaying):
    """The management processor of a cube."""

    kind: ClassVar[str] = "m_cpu"
    energy: JobPrices = JobPrices()
    silicon: Silicon = Silicon()
    whole: ClassVar[bool] = True


class PeCpu(Delaying):
    """The control processor of a PE. Each call of a kernel takes `dispatch_cycles`, which may be 0."""

    kind: ClassVar[str] = "pe_cpu"
    ports: ClassVar[tuple[str, ...]] = ("overhead_fs", "cycle_fs", "dispatch_cycles")
    energy: PeCpuPrices = PeCpuPrices()
    silicon: Silicon = Silicon()
    clock_ghz: Ghz = Field(description="clock of the processor")
    cycle_fs = unit_of("clock_ghz")
    dispatch_cycles: Annotated[CyclesOrZero, Field(le=10**6)] = Field(
        description="cycles that each call of a kernel takes"
    )


class PeScheduler(Delaying):
    """The scheduler of a PE, which turns the commands of a kernel into tile tokens."""

    kind: ClassVar[str] = "pe_scheduler"
    energy: JobPrices = JobPrices()
    silicon: Silicon = Silicon()


class PeDma(Delaying):
    """The DMA engine of a PE: each channel is held for the whole round trip of a transfer. `gbs` is its link, one way."""

    kind: ClassVar[str] = "pe_dma"
    ports: ClassVar[tuple[str, ...]] = ("overhead_fs", "gbs", "slots")
    energy: DmaPrices = DmaPrices()
    silicon: Silicon = Silicon()
    gbs: Gbs = Field(description="bandwidth of its link, each way")
    read_channels: Annotated[Count, Field(le=MOST_CHANNELS)] = Field(description="reads under way at once")
    write_channels: Annotated[Count, Field(le=MOST_CHANNELS)] = Field(description="writes under way at once")
    descriptor_dims: Annotated[Count, Field(le=2)] = Field(
        description="dimensions of a descriptor of a block access: 1, a run of bytes; 2, runs of one length at one distance"
    )

    def slots(self, way: str = "") -> int:
        """The number of transfers at once in a direction."""
        return self.write_channels if way == "write" else self.read_channels


class PeFetchStore(Delaying):
    """The engine that moves data between a PE's TCM and its registers, at the pace of the TCM; its overhead is the request."""

    kind: ClassVar[str] = "pe_fetch_store"
    energy: JobPrices = JobPrices()
    silicon: Silicon = Silicon()


class PeIpcq(Delaying):
    """The queues through which PEs send to each other; each message pays the overhead before its first byte leaves.

    Slots in TCM are written and read at the ports of the TCM. Slots in SRAM and HBM are behind a hop: each byte pays the hop
    and the memory, each access `sram_ns` or `hbm_ns`.
    """

    kind: ClassVar[str] = "pe_ipcq"
    pays: ClassVar[tuple[str, ...]] = (
        "sram_byte", "sram_hop_byte", "sram_access", "hbm_byte", "hbm_hop_byte", "hbm_access"
    )  # fmt: skip
    energy: IpcqPrices = IpcqPrices()
    silicon: Silicon = Silicon()
    sram_gbs: Gbs = Field(description="bandwidth of SRAM with slots in it")
    sram_hop_gbs: Gbs = Field(description="bandwidth of the hop to SRAM with slots in it")
    sram_ns: Ns = Field(description="time of each access to a slot in SRAM")
    hbm_gbs: Gbs = Field(description="bandwidth of HBM with slots in it")
    hbm_hop_gbs: Gbs = Field(description="bandwidth of the hop to HBM with slots in it")
    hbm_ns: Ns = Field(description="time of each access to a slot in HBM")
    sram_byte_fs = unit_of("sram_gbs")
    sram_hop_byte_fs = unit_of("sram_hop_gbs")
    sram_access_fs = time_of("sram_ns")
    hbm_byte_fs = unit_of("hbm_gbs")
    hbm_hop_byte_fs = unit_of("hbm_hop_gbs")
    hbm_access_fs = time_of("hbm_ns")
