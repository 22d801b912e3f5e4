"""The files of a run: complete or absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars
import pytest

from kernbench.errors import RunError
from kernbench.runs.files import write_files
from kernbench.sealing import load_sealed_json, read_sealed_parquet


class Log(polars.DataFrame):
    """An op log without room on the disk."""

    def write_parquet(self, file: Any, **_: Any) -> None:
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")


class Result:
    """What `write_files` needs of a RunResult."""

    def __init__(self, latency_ns: float = 1.5, *, fails: bool = False) -> None:
        self.latency_ns = latency_ns
        self.fails = fails

    def to_dict(self) -> dict[str, Any]:
        return {"latency_ns": self.latency_ns}

    def op_log(self) -> Any:
        return Log() if self.fails else polars.DataFrame({"start_fs": [1]})


def test_both_files_appear_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    files = write_files(Result(), out)  # type: ignore[arg-type]
    assert sorted(path.name for path in out.iterdir()) == ["oplog.parquet", "result.json"]
    assert files == {"oplog": str(out / "oplog.parquet"), "result": str(out / "result.json")}
    assert load_sealed_json(out / "result.json") == {"latency_ns": 1.5, "files": files}
    assert read_sealed_parquet(out / "oplog.parquet").equals(Result().op_log())
    assert [path.name for path in out.parent.iterdir()] == ["run"]


def test_a_later_run_replaces_the_files_and_leaves_others(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for latency in (1, 2):
        write_files(Result(latency), tmp_path)  # type: ignore[arg-type]
    assert load_sealed_json(tmp_path / "result.json")["latency_ns"] == 2
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(RunError) as caught:
        write_files(Result(fails=True), out)  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"the run is done but {out} cannot be written: No space left on device; nothing was kept"
    )
    assert list(tmp_path.iterdir()) == []
