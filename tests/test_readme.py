"""Everything the README says to type works, in order, and prints what the README shows.

It runs in a directory with the project's data folders, with this environment and these sources in the place of what `make`
would install. `make test` alone is only looked at: it is what runs this test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readme import Step, read_steps, without_wall_time

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("Makefile", "pyproject.toml", "topology", "models", "benches", "sweeps")
STUBS = {
    "kernbench": f'exec "{sys.executable}" -m kernbench "$@"',
    "python": f'exec "{sys.executable}" "$@"',
    "activate": "",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A directory that looks like a checkout after `make setup`."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, tmp_path / name)
    stubs = tmp_path / ".venv" / "bin"
    stubs.mkdir(parents=True)
    for name, body in STUBS.items():
        (stubs / name).write_text(f"#!/bin/sh\n{body}\n")
        (stubs / name).chmod(0o755)
    (stubs.parent / ".installed").touch()
    return tmp_path


def run(step: Step, checkout: Path) -> subprocess.CompletedProcess[str]:
    """Do what a command or a Python step says."""
    arguments = [sys.executable, "-c", step.text]
    if step.kind == "command":
        arguments = ["bash", "-c", step.text.replace("make test", "make --dry-run test")]
    environment = {
        **os.environ,
        "PATH": f"{checkout / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",  # the working directory holds no sources
    }
    return subprocess.run(arguments, cwd=checkout, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_every_step_in_order(checkout: Path) -> None:
    steps = read_steps((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(steps) > 10
    for step in steps:
        if step.kind == "file":
            target = checkout / step.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(step.text, encoding="utf-8")
            continue
        done = run(step, checkout)
        assert done.returncode == 0, f"{step.text}\n{done.stdout}{done.stderr}"
        shown, printed = without_wall_time(step.output), without_wall_time(done.stdout)
        assert printed[: len(shown)] == shown, f"{step.text} prints\n{done.stdout}"


def test_reading_steps() -> None:
    page = """text
```console
$ one 1
shown

$ two
```
```python
# a/b.py
x = 1
```
```python
print(2)
```
```yaml
not: a file
```
"""
    assert read_steps(page) == [
        Step("command", "one 1", output="shown"),
        Step("command", "two"),
        Step("file", "# a/b.py\nx = 1\n", path="a/b.py"),
        Step("python", "print(2)\n"),
    ]


def test_wall_time_does_not_count() -> None:
    assert without_wall_time("a   1.2 s of 3 ns\nb") == ["a … s of 3 ns", "b"]
