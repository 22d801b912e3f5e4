"""The files of a run: complete or absent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pytest

from kernbench.errors import InputError, RunError
from kernbench.frontends.run import run_bench
from kernbench.runs import files
from kernbench.runs.file_names import ENERGY, HELD, LINKS, MACHINE, NODES, OP_LOG, PARTS, PATH, SERVICES, TRANSFERS
from kernbench.runs.files import write_files
from kernbench.runs.result import RunResult
from kernbench.sealing import load_sealed_json, read_sealed_parquet

TABLES = (NODES, LINKS, PARTS, HELD, TRANSFERS, SERVICES)


@pytest.fixture(scope="module")
def ran() -> RunResult:
    return run_bench("gemm-single-pe", "tiny", parameters={"M": 32, "K": 64, "N": 32})


def test_all_files_appear_and_nothing_else(ran: RunResult, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    told = write_files(ran, out)
    assert {path.name for path in out.iterdir()} == {"result.json", MACHINE, ENERGY, OP_LOG, PATH, *TABLES}
    assert told == {
        "oplog": str(out / "oplog.parquet"),
        "result": str(out / "result.json"),
        "critical_path": str(out / "critical_path.parquet"),
    }
    assert load_sealed_json(out / "result.json") == {**ran.to_dict(), "files": told}
    assert load_sealed_json(out / ENERGY) == ran.tell_energy()
    assert read_sealed_parquet(out / "oplog.parquet").equals(ran.op_log())
    assert [path.name for path in out.parent.iterdir()] == ["run"]


def test_the_critical_path_names_rows_of_the_op_log(ran: RunResult, tmp_path: Path) -> None:
    write_files(ran, tmp_path)
    log = read_sealed_parquet(tmp_path / "oplog.parquet").with_row_index("row")
    path = read_sealed_parquet(tmp_path / "critical_path.parquet")
    assert (path["spent_ns"].sum() - ran.latency_ns) == pytest.approx(0)
    named = path.filter(polars.col("row").is_not_null()).join(log, on="row", suffix="_of_log")
    assert len(named) > 10
    assert named["op_name"].equals(named["op_name_of_log"])
    assert (named["start_ns"] * 1e6).round().to_list() == named["start_fs"].to_list()


def test_a_later_run_replaces_the_files_and_leaves_others(ran: RunResult, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for latency in (1.0, 2.0):
        write_files(replace(ran, latency_ns=latency), tmp_path)
    assert load_sealed_json(tmp_path / "result.json")["latency_ns"] == 2
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_failure_leaves_nothing(ran: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_table: Any, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_parquet", fail)
    out = tmp_path / "run"
    with pytest.raises(RunError) as caught:
        write_files(ran, out)
    assert str(caught.value) == (
        f"the run is done but {out} cannot be written: No space left on device; nothing was kept"
    )
    assert list(tmp_path.iterdir()) == []


def test_bounds_have_no_files(tmp_path: Path) -> None:
    bounded = run_bench("gemm-single-pe", "tiny", mode="analytic", parameters={"M": 32, "K": 64, "N": 32})
    with pytest.raises(InputError, match="analytic mode has no events, so it keeps no op log; use mode hybrid"):
        write_files(bounded, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
