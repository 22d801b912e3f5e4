"""The output directory is checked before a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernbench.cli.outputs import check_directory
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
