"""Directories of files: complete or absent."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

from kernbench.atomic_output import RESULT, write_directory, write_json
from kernbench.errors import RunError
from kernbench.sealing import load_sealed_json
from kernbench.unfinished import PREFIX


def test_all_files_appear_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "probe"

    def write(partial: Path) -> None:
        (partial / "a.txt").write_text("a")
        write_json({"b": 1}, partial / RESULT)

    write_directory(out, write)
    assert sorted(path.name for path in out.iterdir()) == ["a.txt", "result.json"]
    assert load_sealed_json(out / RESULT) == {"b": 1}
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


def stop_while_moving(monkeypatch: pytest.MonkeyPatch, moves: int) -> None:
    """Let the process be stopped after some files have been moved."""
    replace, left = Path.replace, [moves]

    def move(file: Path, to: Path) -> Path:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return replace(file, to)

    monkeypatch.setattr(Path, "replace", move)


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_a_directory_with_a_summary_holds_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int) -> None:
    out = tmp_path / "run"

    def write(text: str, partial: Path) -> None:
        for name in ("a.txt", "z.txt"):
            (partial / name).write_text(text)
        write_json({"text": text}, partial / RESULT)

    write_directory(out, lambda partial: write("old", partial))
    stop_while_moving(monkeypatch, moves)
    with pytest.raises(KeyboardInterrupt):
        write_directory(out, lambda partial: write("new", partial))
    assert not (out / RESULT).exists()
    assert [(out / name).read_text() for name in ("a.txt", "z.txt")] == ["new"] * moves + ["old"] * (2 - moves)
    assert list(tmp_path.iterdir()) == [out]
    monkeypatch.undo()
    write_directory(out, lambda partial: write("new", partial))
    assert load_sealed_json(out / RESULT) == {"text": "new"}
    assert [(out / name).read_text() for name in ("a.txt", "z.txt")] == ["new"] * 2


def test_what_a_killed_run_has_left_is_removed(tmp_path: Path) -> None:
    left, mine = tmp_path / f"{PREFIX}{'0' * 32}", tmp_path / f"{PREFIX}mine"
    for folder in (left, mine):
        folder.mkdir()
        (folder / "a.txt").write_text("half")
    write_directory(tmp_path / "run", lambda partial: (partial / "a.txt").write_text("a"))
    assert sorted(tmp_path.iterdir()) == [mine, tmp_path / "run"]


def test_what_is_under_way_is_on_the_file_system_of_a_directory_that_exists(tmp_path: Path) -> None:
    rooms: list[Path] = []
    for out in (tmp_path / "there", tmp_path / "new"):
        (tmp_path / "there").mkdir(exist_ok=True)
        write_directory(out, lambda partial: rooms.append(partial.parent))
    assert rooms == [tmp_path / "there", tmp_path]
