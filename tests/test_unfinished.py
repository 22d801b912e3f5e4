"""Unfinished files: theirs who live, nobody's after that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernbench import unfinished
from kernbench.unfinished import (
    PREFIX,
    STALE_SECONDS,
    remove_abandoned,
    second_name,
    unfinished_directory,
    unfinished_file,
)

WRITER = """
import sys, time
from pathlib import Path
from kernbench import unfinished
with getattr(unfinished, sys.argv[1])(Path(sys.argv[2])) as path:
    print(path, flush=True)
    time.sleep(100)
"""


@pytest.mark.parametrize("make", [unfinished_file, unfinished_directory])
def test_it_is_gone_at_the_end_unless_it_was_renamed(tmp_path: Path, make: type[unfinished_file]) -> None:  # pyright: ignore
    with make(tmp_path) as path:
        assert list(tmp_path.iterdir()) == [path]
    assert list(tmp_path.iterdir()) == []
    with make(tmp_path) as path:
        path.rename(tmp_path / "done")
    assert list(tmp_path.iterdir()) == [tmp_path / "done"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["unfinished_file", "unfinished_directory", "second_name"])
def test_what_a_process_writes_stays_until_it_ends_in_whatever_way(tmp_path: Path, kind: str) -> None:
    at = tmp_path / "table" if kind == "second_name" else tmp_path
    (tmp_path / "table").write_text("kept")
    command = [sys.executable, "-c", WRITER, kind, at]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        path = Path(writer.stdout.readline().strip())
        remove_abandoned(tmp_path)
        assert path.exists()
        writer.kill()
    assert path.exists()
    remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "table"]


def test_other_files_stay_and_pipes_stop_nobody(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}notes").touch()
    os.mkfifo(tmp_path / f"{PREFIX}{'1' * 32}")
    (tmp_path / f"{PREFIX}{'2' * 32}").symlink_to(tmp_path)
    remove_abandoned(tmp_path)
    assert (tmp_path / f"{PREFIX}notes").exists()


@pytest.mark.parametrize("locks", [True, False])
def test_without_locks_age_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: bool) -> None:
    if locks:
        monkeypatch.setattr(unfinished.fcntl, "flock", refuse)
    else:
        monkeypatch.setattr(unfinished, "fcntl", None)
    with unfinished_file(tmp_path) as path:
        remove_abandoned(tmp_path)
        assert path.exists()
        before = path.stat().st_mtime - STALE_SECONDS - 1
        os.utime(path, (before, before))
        remove_abandoned(tmp_path)
        assert not path.exists()


def refuse(*_: object) -> None:
    raise OSError("no locks here")


@pytest.mark.parametrize("links", [True, False])
def test_a_second_name_stays_though_the_file_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    path, other = tmp_path / "table.parquet", tmp_path / "other"
    path.write_bytes(b"before")
    other.write_bytes(b"after")
    if not links:
        monkeypatch.setattr(os, "link", refuse)
    with second_name(path) as held:
        assert held.suffix == ".parquet"
        other.replace(path)
        assert held.read_bytes() == b"before"
        remove_abandoned(tmp_path)
        assert held.exists()
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_there_has_no_second_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), second_name(tmp_path / "none"):
        pass
    assert list(tmp_path.iterdir()) == []
