"""Stages of a tiled GEMM in the op log: operations and busy time of each.

Stages overlap, so their times do not add up to the kernel's. The one whose busiest server is busy all the time is what the
kernel waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

STAGES = ("dma_read", "fetch", "gemm", "store", "dma_write")
KERNEL = r"\.pe_cpu/"  # in the names of threads that run kernels


def harvest_stages(log: polars.DataFrame) -> dict[str, float]:
    """Of each stage, from an op log: `<stage>_count` operations, `<stage>_busy_ns` of the busiest server; bytes of the DMA.

    `pes` is how many PEs multiplied.
    """
    import polars

    kernels = log.filter(polars.col("thread").str.contains(KERNEL))
    took_ns = (polars.col("end_fs") - polars.col("start_fs")).sum() / 1e6
    servers = kernels.group_by("op_name", "component").agg(polars.len().alias("count"), took_ns.alias("busy_ns"))
    found: dict[str, float] = {"pes": servers.filter(polars.col("op_name") == "gemm").height}
    for stage in STAGES:
        of_stage = servers.filter(polars.col("op_name") == stage)
        found[f"{stage}_count"] = int(of_stage["count"].sum())
        found[f"{stage}_busy_ns"] = float(of_stage["busy_ns"].max() or 0.0)  # pyright: ignore[reportArgumentType]
    for way in ("dma_read", "dma_write"):
        found[f"{way}_bytes"] = int(kernels.filter(polars.col("op_name") == way)["bytes"].sum())
    return found
