"""The files of a run: complete or absent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernbench.cli.outputs import check_directory, file_names, write_files
from kernbench.errors import InputError, RunError


class Log:
    """An op log that can be written, or fails half-way."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails

    def write_parquet(self, path: Path) -> None:
        path.write_bytes(b"half")
        if self.fails:
            raise OSError(28, "No space left on device")


class Result:
    """What `write_files` needs of a RunResult."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails

    def op_log(self) -> Any:
        return Log(self.fails)


def test_both_files_appear_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    write_files(Result(), {"latency_ns": 1.5}, out)  # type: ignore[arg-type]
    assert sorted(path.name for path in out.iterdir()) == ["oplog.parquet", "result.json"]
    assert json.loads((out / "result.json").read_text()) == {"latency_ns": 1.5}
    assert [path.name for path in out.parent.iterdir()] == ["run"]
    assert file_names(out) == {"oplog": str(out / "oplog.parquet"), "result": str(out / "result.json")}


def test_a_later_run_replaces_the_files_and_leaves_others(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for latency in (1, 2):
        write_files(Result(), {"latency_ns": latency}, tmp_path)  # type: ignore[arg-type]
    assert json.loads((tmp_path / "result.json").read_text()) == {"latency_ns": 2}
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(RunError) as caught:
        write_files(Result(fails=True), {}, out)  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"the run is done but {out} cannot be written: No space left on device; nothing was kept"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.touch()
    for out in (file, file / "run"):
        with pytest.raises(InputError) as caught:
            check_directory(out)
        assert str(caught.value) == f"--out takes a directory, and {file} is a file"
    check_directory(tmp_path / "new" / "run")


def test_a_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(InputError) as caught:
        check_directory(tmp_path / "new")
    assert str(caught.value) == (f"--out cannot be in {tmp_path}: Permission denied; give a directory you may write to")
