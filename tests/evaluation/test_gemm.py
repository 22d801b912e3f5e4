"""The GEMM evaluation."""

from __future__ import annotations

import polars
import pytest

from kernbench import InputError, run
from kernbench.evaluation.gemm import COLUMNS, SHAPES, VARIANTS, evaluate_gemm


@pytest.fixture(scope="module")
def table() -> polars.DataFrame:
    return evaluate_gemm("tiny", overrides={"hbm.channel_gbs": 64})


def test_eight_shapes_in_three_variants_between_the_published_ends() -> None:
    assert (len(SHAPES), len(VARIANTS)) == (8, 3)
    assert {(32, 128, 32), (512, 512, 512), (32, 3072, 32)} <= set(SHAPES)


@pytest.mark.slow
def test_a_row_is_a_run(table: polars.DataFrame) -> None:
    assert table.schema == polars.Schema(COLUMNS)
    assert table.select("M", "K", "N", "variant").rows() == [
        (*shape, variant) for shape in SHAPES for variant in VARIANTS
    ]
    parameters = {"M": 128, "K": 128, "N": 128, "variant": "load_ref", "cubes": 1, "pes": 1}
    alone = run("matmul-composite", "tiny", parameters=parameters, overrides={"hbm.channel_gbs": 64})
    row = table.row(by_predicate=(polars.col("M") == 128) & (polars.col("variant") == "load_ref"), named=True)
    assert (row["pe_exec_ns"], row["latency_ns"]) == (alone.pe_exec_ns, alone.latency_ns)
    assert row["efficiency"] == pytest.approx(alone.achieved_tflops / 8)
    assert row["verified"] is None


@pytest.mark.slow
def test_what_must_hold_of_every_row(table: polars.DataFrame) -> None:
    for row in table.to_dicts():
        assert 0 < row["gemm_busy_ns"] <= row["pe_exec_ns"] < row["latency_ns"]
        assert 0 < row["efficiency"] <= 1
        assert row["efficiency"] == pytest.approx(row["gemm_busy_ns"] / row["pe_exec_ns"])  # no tile here is cut short
        assert row["pes"] == 1
    best = table.group_by("M", "K", "N", maintain_order=True).agg(polars.col("dma_read_bytes"))
    for streamed, one, both in best["dma_read_bytes"]:
        assert streamed >= one >= both  # what is loaded once is not read again


def test_the_machine_is_asked_before_anything_runs() -> None:
    with pytest.raises(InputError) as error:
        evaluate_gemm("tiny", pes=9)
    assert str(error.value) == "matmul-composite got pes=9; give 1 to 2, or 0 for all"
