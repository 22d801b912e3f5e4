"""The fields of a topology of family `ascend`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kernbench.parts.ascend import Aic, Aicpu, Aiv, GlobalMemory, NpuHost, NpuNoc, PtoRuntime
from kernbench.parts.technology import Technology
from kernbench.schema.fields import Count, MessageBytes, Mm, Mm2, NsPerMm
from kernbench.schema.limits import Limits
from kernbench.schema.model import Model


class AscendPartNames(Model):
    """The sheet of each part, by name; a part without an entry has the sheet of its own name."""

    aic: str = "aic"
    aiv: str = "aiv"
    aicpu: str = "aicpu"
    l2: str = "l2"
    gm_hbm: str = "gm_hbm"
    npu_host: str = "npu_host"
    pto_runtime: str = "pto_runtime"
    npu_noc: str = "npu_noc"
    technology: str = "technology_7nm"


class AscendSpec(Model):
    """A checked topology of family `ascend`: clusters of one AIC and some AIVs around one network, with its memories."""

    family: Literal["ascend"] = Field(description="the family of machines")
    description: str = Field(description="the machine in one line")
    flit_bytes: MessageBytes = Field(description="size of a flit")
    ns_per_mm: NsPerMm = Field(description="propagation on a wire")
    clusters: Annotated[Count, Field(le=4096)] = Field(description="clusters of cores")
    aiv_per_cluster: Annotated[Count, Field(le=8)] = Field(
        2, description="vector cores of a cluster, beside one cube core"
    )
    columns: Annotated[Count, Field(le=256)] = Field(description="clusters in a row of the floor plan")
    cluster_mm: Mm = Field(description="side of a cluster in the floor plan")
    die_mm2: Mm2 | None = Field(None, description="size of the chip; none: as large as its parts")
    limits: Limits = Limits()
    parts: AscendPartNames = AscendPartNames()
    aic: Aic
    aiv: Aiv
    aicpu: Aicpu
    l2: GlobalMemory
    gm_hbm: GlobalMemory
    npu_host: NpuHost
    pto_runtime: PtoRuntime
    npu_noc: NpuNoc
    technology: Technology


SPEC = AscendSpec
