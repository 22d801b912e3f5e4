"""Directories of files: complete or absent."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest

from kernbench.atomic_output import RESULT, write_directory, write_json
from kernbench.errors import RunError


def test_all_files_appear_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "probe"

    def write(partial: Path) -> None:
        (partial / "a.txt").write_text("a")
        write_json({"b": 1}, partial / RESULT)

    write_directory(out, write)
    assert sorted(path.name for path in out.iterdir()) == ["a.txt", "result.json"]
    assert json.loads((out / RESULT).read_text()) == {"b": 1}
    assert [path.name for path in out.parent.iterdir()] == ["probe"]


def test_a_later_run_replaces_its_files_and_leaves_others(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for text in ("old", "new"):
        write_directory(tmp_path, lambda partial, text=text: (partial / "a.txt").write_text(text))
    assert (tmp_path / "a.txt").read_text() == "new"
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_table_that_has_no_room_is_told_as_any_file(tmp_path: Path) -> None:
    table = polars.DataFrame({"a": [1]})
    with pytest.raises(RunError, match=r"cannot be written: .*; nothing was kept"):
        write_directory(tmp_path / "probe", lambda _: table.write_parquet("/dev/full"))


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "probe"

    def write(partial: Path) -> None:
        (partial / "a.txt").write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(RunError) as caught:
        write_directory(out, write)
    assert (
        str(caught.value) == f"the run is done but {out} cannot be written: No space left on device; nothing was kept"
    )
    assert list(tmp_path.iterdir()) == []
