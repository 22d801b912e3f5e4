"""Stages out of op logs."""

from __future__ import annotations

import polars
import pytest

from kernbench import run
from kernbench.evaluation.stages import STAGES, harvest_stages


def log(*rows: tuple[str, str, str, int, int, int]) -> polars.DataFrame:
    """Rows of (thread, component, op name, start ns, end ns, bytes)."""
    names = ("thread", "component", "op_name", "start_fs", "end_fs", "bytes")
    table = polars.DataFrame(rows, schema=names, orient="row")
    return table.with_columns(polars.col("start_fs", "end_fs") * 1_000_000)


def test_busy_is_that_of_the_busiest_server_and_counts_are_of_all() -> None:
    found = harvest_stages(
        log(
            ("a.pe_cpu/k", "a.dma.read", "dma_read", 0, 4, 64),
            ("a.pe_cpu/k", "a.dma.read", "dma_read", 4, 7, 32),
            ("b.pe_cpu/k", "b.dma.read", "dma_read", 0, 5, 64),
            ("b.pe_cpu/k", "b.gemm", "gemm", 5, 6, 0),
            ("ep/host", "ep", "dma_read", 0, 100, 1000),
        )
    )
    assert (found["dma_read_count"], found["dma_read_busy_ns"], found["dma_read_bytes"]) == (3, 7.0, 160)
    assert (found["gemm_count"], found["gemm_busy_ns"], found["pes"]) == (1, 1.0, 1)
    assert (found["store_count"], found["store_busy_ns"], found["dma_write_bytes"]) == (0, 0.0, 0)


def test_of_a_run_by_hand() -> None:
    parameters = {"M": 32, "K": 128, "N": 32, "cubes": 1, "pes": 1}
    result = run("matmul-composite", "tiny", parameters=parameters)
    found = harvest_stages(result.op_log())
    assert [found[f"{stage}_count"] for stage in STAGES] == [4, 2, 2, 1, 1]  # two k tiles of 32 x 64 x 32
    assert found["gemm_busy_ns"] == pytest.approx(2 * 16.384)
    assert found["fetch_busy_ns"] == pytest.approx(2 * 8192 / 512)
    assert found["store_busy_ns"] == pytest.approx(2048 / 512)
    assert (found["dma_read_bytes"], found["dma_write_bytes"]) == (4 * 4096, 2048)
    assert found["dma_read_busy_ns"] < result.pe_exec_ns
