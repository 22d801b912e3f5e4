"""Typed records of the op log."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from kernbench import InputError, run
from kernbench.oplog.record import FIELDS, OpRecord, read_records

SMALL = {"M": 16, "K": 16, "N": 16}


def test_a_record_is_a_row(tmp_path: Path) -> None:
    result = run("gemm-single-pe", "tiny", parameters=SMALL)
    log, records = result.op_log(), result.records()
    assert FIELDS == ("start_fs", "end_fs", "component", "op_kind", "op_name", "params", "dependencies")
    assert len(records) == log.height
    assert [r.start_fs for r in records] == log["start_fs"].to_list()
    assert records == sorted(records, key=lambda r: (r.start_fs, r.end_fs))
    gemm = next(r for r in records if r.op_kind == "gemm")
    assert (gemm.component, gemm.op_name) == ("sip0.cube0.pe0.pe_gemm", "gemm")
    assert [(i["space"], i["shape"], i["dtype"]) for i in gemm.params["inputs"]] == [("hbm", [16, 16], "f16")] * 2
    assert records[gemm.dependencies[0]].op_name == "fetch"
    read = next(r for r in records if r.op_name == "dma_read")
    assert (read.params["address"], read.params["nbytes"]) == (0x1_0000_0000, 512)
    assert next(r for r in records if r.op_name == "launch").params == {}
    log.write_parquet(tmp_path / "log.parquet")
    assert read_records(tmp_path / "log.parquet") == records


def test_commands_are_control_and_work_is_not() -> None:
    records = run("qkv-gemm", "tiny", parameters={"tokens": 2, "hidden": 8, "head_dim": 4}).records()
    assert {r.op_kind for r in records} == {"memory", "gemm", "control", "composite"}
    assert {r.op_kind for r in run("vector-add", "tiny").records()} == {"memory", "math", "control"}
    assert all(isinstance(r, OpRecord) for r in records)


def test_what_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^no op log can be read from this table: "):
        read_records(pl.DataFrame({"start_fs": [1]}))
    with pytest.raises(InputError, match=r"^no op log can be read from .*gone\.parquet: "):
        read_records(tmp_path / "gone.parquet")
