"""One process at a time compiles; a process that is killed, or a system without locks, holds nobody up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kernels_jit.compile import cache, lock

ROOT = Path(__file__).resolve().parents[3]

# Says what the one before it has kept and keeps something of its own; one that is to be killed waits before the end.
HOLDER = """
import sys
from pathlib import Path
from kernels_jit.compile.cache import is_sound
from kernels_jit.compile.lock import compile_lock

folder, name = Path(sys.argv[1]), sys.argv[2]
with compile_lock(folder):
    print(*sorted(path.stem for path in folder.glob("*.nbc") if is_sound(path, folder)), flush=True)
    (folder / f"{name}.nbc").write_bytes(b"code")
    print("written", flush=True)
    if name == "held":
        sys.stdin.read()
"""


def start(folder: Path, name: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HOLDER, str(folder), name]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
@pytest.mark.skipif(lock.fcntl is None, reason="no locks of this kind")
@pytest.mark.parametrize("killed", [False, True])
def test_a_process_waits_for_the_one_before_it_and_finds_what_that_has_kept(tmp_path: Path, killed: bool) -> None:
    held = start(tmp_path, "held")
    assert held.stdout is not None
    assert [held.stdout.readline(), held.stdout.readline()] == ["\n", "written\n"]
    waiting = start(tmp_path, "next")
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(1)
    if killed:
        held.send_signal(signal.SIGKILL)
    held.communicate()
    found, _ = waiting.communicate()
    assert found == ("\nwritten\n" if killed else "held\nwritten\n")


def test_without_a_directory_or_locks_a_process_compiles_for_itself(tmp_path: Path, monkeypatch) -> None:
    with lock.compile_lock(tmp_path / "gone"):
        pass
    monkeypatch.setattr(lock, "fcntl", None)
    with lock.compile_lock(tmp_path):
        (tmp_path / "f.nbc").write_bytes(b"code")
    assert cache.is_sound(tmp_path / "f.nbc", tmp_path)


def test_what_fails_lets_the_next_go_on(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), lock.compile_lock(tmp_path):
            raise ZeroDivisionError
