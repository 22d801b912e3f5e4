"""What acts on commands: the control CPUs, the scheduler of a PE, its DMA, queue and fetch engines."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from kernbench.components.part import Delaying, Part, fs_per_unit
from kernbench.spec.fields import Count, CountOrZero, Gbs, Ghz


class IoCpu(Delaying):
    """The processor of an IO chiplet that decodes kernel launches."""

    kind: ClassVar[str] = "io_cpu"


class MCpu(Delaying):
    """The management processor of a cube."""

    kind: ClassVar[str] = "m_cpu"


class PeCpu(Delaying):
    """The control processor of a PE. Each call of a kernel may cost it `dispatch_cycles`."""

    kind: ClassVar[str] = "pe_cpu"
    clock_ghz: Ghz
    dispatch_cycles: Annotated[CountOrZero, Field(le=10**6)]

    def figures(self) -> dict[str, float]:
        """Its parameters, with `cycle` in fs."""
        return {**super().figures(), "cycle": fs_per_unit(self.clock_ghz)}


class PeScheduler(Delaying):
    """What turns the commands of a kernel into tile tokens."""

    kind: ClassVar[str] = "pe_scheduler"


class PeDma(Delaying):
    """The DMA engine of a PE: each channel is held for the whole round trip of a transfer. `gbs` is its link, one way."""

    kind: ClassVar[str] = "pe_dma"
    gbs: Gbs
    read_channels: Count
    write_channels: Count


class PeFetchStore(Part):
    """What moves data between a PE's TCM and its registers; the TCM sets the pace."""

    kind: ClassVar[str] = "pe_fetch_store"


class PeIpcq(Delaying):
    """The queues through which PEs send to each other."""

    kind: ClassVar[str] = "pe_ipcq"
