"""Files of the user in a checkout do not come into the tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.own_files import find_own_files


def test_files_that_git_does_not_know_are_found(tmp_path: Path) -> None:
    for name in ("topology/mine.yaml", "models/part.py", "benches/ccl/new.py", "docs/note.md", "topology/shipped.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert find_own_files(tmp_path) == []  # no checkout
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "topology/shipped.yaml"], cwd=tmp_path, check=True)
    assert find_own_files(tmp_path) == ["benches/ccl/new.py", "models/part.py", "topology/mine.yaml"]
