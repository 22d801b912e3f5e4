"""The fields of a topology of family `ascend`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kernbench.components.ascend import Aic, Aicpu, Aiv, GlobalMemory, NpuHost, PtoRuntime
from kernbench.schema.fields import Count, MessageBytes, Mm, NsPerMm
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


class AscendSpec(Model):
    """A checked topology of family `ascend`: clusters of one AIC and some AIVs around one network, with its memories."""

    family: Literal["ascend"]
    description: str
    flit_bytes: MessageBytes
    ns_per_mm: NsPerMm
    clusters: Annotated[Count, Field(le=4096)]
    aiv_per_cluster: Annotated[Count, Field(le=8)] = 2
    columns: Annotated[Count, Field(le=256)]
    cluster_mm: Mm
    parts: AscendPartNames = AscendPartNames()
    aic: Aic
    aiv: Aiv
    aicpu: Aicpu
    l2: GlobalMemory
    gm_hbm: GlobalMemory
    npu_host: NpuHost
    pto_runtime: PtoRuntime
