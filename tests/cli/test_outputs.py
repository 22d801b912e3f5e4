"""The output directory is checked before a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernbench.cli.main import main
from kernbench.cli.output.files import check_directory
from kernbench.errors import InputError


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


def test_tables_are_kept_in_more_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flows = ("probe", "-t", "mesh_8x8", "--flow", "0:9:1KiB", "--format", "csv,md")
    assert main([*flows, "--out", str(tmp_path / "flows")]) == 0
    assert {"flows.csv", "flows.md", "flows.parquet"} <= {file.name for file in (tmp_path / "flows").iterdir()}
    assert f"wrote {tmp_path / 'flows' / 'flows.csv'}" in capsys.readouterr().out.splitlines()
    assert main([*flows]) == 2
    assert capsys.readouterr().err == (
        "error: --format says in which forms tables are kept too; give --out DIRECTORY with it\n"
    )
    assert main(["run", "vector-add", "--format", "xlsx"]) == 2
    assert capsys.readouterr().err == "error: --format takes csv, md or csv,md, and got 'xlsx'\n"
