"""The op log of a small run."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from kernbench import DPPolicy, bench, run

ONE = DPPolicy(num_cubes=1, num_pes=1)


def multiply(a, b, c, tl) -> None:
    tl.wait(tl.composite("gemm", tl.load(a, (32, 64)), tl.ref(b, (64, 32)), out_ptr=c))


@bench("multiply", "One tile")
def multiplying(torch):
    a, b = torch.randn((32, 64), dp=ONE, name="a"), torch.randn((64, 32), dp=ONE, name="b")
    torch.launch("multiply", multiply, a, b, torch.zeros((32, 32), dp=ONE, name="c"))


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    return run(multiplying, "tiny").op_log()


def test_columns(log: pl.DataFrame) -> None:
    assert dict(log.schema) == {
        "start_fs": pl.Int64,
        "end_fs": pl.Int64,
        "component": pl.String,
        "op_kind": pl.String,
        "op_name": pl.String,
        "params": pl.String,
        "dependencies": pl.List(pl.Int64),
        "thread": pl.String,
        "bytes": pl.Int64,
        "issue_fs": pl.Int64,
    }


def test_sorted_and_in_order(log: pl.DataFrame) -> None:
    times = log.select("start_fs", "end_fs")
    assert times.equals(times.sort("start_fs", "end_fs"))
    assert (log["issue_fs"] <= log["start_fs"]).all()
    assert (log["start_fs"] <= log["end_fs"]).all()


def test_the_stages_of_a_tile_follow_their_pipe(log: pl.DataFrame) -> None:
    pe = log.filter(pl.col("thread") == "sip0.cube0.pe0.pe_cpu/multiply", pl.col("op_kind") != "control")
    assert pe.select("op_name", "component", "bytes").rows() == [
        ("dma_read", "sip0.cube0.pe0.pe_dma.read", 4096),
        ("dma_read", "sip0.cube0.pe0.pe_dma.read", 4096),
        ("composite", "sip0.cube0.pe0.pe_cpu", 0),  # begins with its first stage, ends with its last
        ("fetch", "sip0.cube0.pe0.pe_tcm.read", 0),
        ("gemm", "sip0.cube0.pe0.pe_gemm", 0),
        ("store", "sip0.cube0.pe0.pe_tcm.write", 0),
        ("dma_write", "sip0.cube0.pe0.pe_dma.write", 2048),
    ]
    gemm = log.filter(pl.col("op_name") == "gemm").row(0, named=True)
    assert gemm["end_fs"] - gemm["start_fs"] == 16_384_000
    before = log.row(gemm["dependencies"][0], named=True)
    assert (before["op_name"], before["end_fs"]) == ("fetch", gemm["start_fs"])
    first = log.filter(pl.col("op_name") == "dma_read").row(1, named=True)
    assert log.row(first["dependencies"][0], named=True)["op_name"] == "composite"


def test_a_composite_in_flight_is_no_work_of_an_engine() -> None:
    """Rows of kind gemm are those of engines, so that their lengths add up to what the engines were busy."""
    log = run("matmul-composite", "tiny", parameters={"M": 128, "K": 128, "N": 64}).op_log()
    assert log.filter(pl.col("op_kind") == "composite")["op_name"].unique().to_list() == ["composite"]
    gemms = log.filter(pl.col("op_kind") == "gemm").with_columns(took=pl.col("end_fs") - pl.col("start_fs"))
    assert gemms["component"].str.ends_with(".pe_gemm").all()
    by_engine = gemms.group_by("component").agg(pl.col("took").sum(), pl.col("end_fs").max() - pl.col("start_fs").min())
    assert (by_engine["took"] <= by_engine["end_fs"]).all()


def of(log: pl.DataFrame, op_name: str) -> list[dict[str, Any]]:
    """The parameters of operations of a name."""
    return [json.loads(text or "{}") for text in log.filter(pl.col("op_name") == op_name)["params"]]


def test_params_say_what_it_was_done_with(log: pl.DataFrame) -> None:
    load, tile = of(log, "dma_read")
    loaded = {"value": 1, "space": "hbm", "address": 0x1_0000_0000, "shape": [32, 64], "dtype": "f16"}
    assert load == {"op": "load", **loaded, "nbytes": 4096}
    streamed = {"space": "hbm", "address": 0x1_0000_1000, "shape": [64, 32], "dtype": "f16"}
    assert tile == {"op": "composite", "tile": [0, 0, 0], "operand": 1, **streamed, "nbytes": 4096}
    (gemm,) = of(log, "gemm")
    assert [(x["space"], x["shape"], x["dtype"]) for x in gemm["inputs"]] == [
        ("tcm", [32, 64], "f16"),
        ("tcm", [64, 32], "f16"),
    ]
    (whole,) = of(log, "composite")
    assert whole["inputs"] == [loaded, streamed]
    assert (whole["out"]["address"], whole["tile"], whole["acc_dtype"]) == (0x1_0000_2000, [32, 64, 32], "f32")
    assert of(log, "launch")[0] == {}


def test_commands_are_logged_where_they_act(log: pl.DataFrame) -> None:
    acts = log.filter(pl.col("op_name") == "launch", pl.col("bytes") == 0)["component"].to_list()
    down = ["sip0.io0.pcie_ep", "sip0.io0.io_cpu", "sip0.cube0.m_cpu", "sip0.cube0.pe0.pe_cpu"]
    assert acts == [*down, "sip0.cube0.m_cpu", "sip0.io0.io_cpu"]
    assert log.filter(pl.col("op_name") == "barrier")["component"].to_list() == ["sip0.cube0.pe0.pe_cpu"]


def test_it_survives_parquet(log: pl.DataFrame, tmp_path) -> None:
    log.write_parquet(tmp_path / "op_log.parquet")
    assert pl.read_parquet(tmp_path / "op_log.parquet").equals(log)
