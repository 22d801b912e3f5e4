"""What bench files declare, as their text says it."""

from __future__ import annotations

import os
from pathlib import Path

import kernbench.runs.declared_benches as declared
from kernbench.runs.declared_benches import read_declared


def write(path: Path, name: str, age_s: int) -> Path:
    path.write_text(f"from kernbench import bench\n\n@bench({name!r}, 'one')\ndef run(torch): pass\n", encoding="utf-8")
    os.utime(path, (1e9 - age_s, 1e9 - age_s))
    return path


def test_a_file_is_parsed_once_and_again_when_it_has_changed(tmp_path: Path, monkeypatch) -> None:
    path, parsed = write(tmp_path / "one.py", "first", 9), list[Path]()
    read = declared.read_python
    monkeypatch.setattr(declared, "read_python", lambda path, what: parsed.append(path) or read(path, what))
    assert [[one.name for one in read_declared(path).benches] for _ in range(3)] == [["first"]] * 3
    assert len(parsed) == 1
    write(path, "other", 5)
    assert [one.name for one in read_declared(path).benches] == ["other"]
    assert len(parsed) == 2
