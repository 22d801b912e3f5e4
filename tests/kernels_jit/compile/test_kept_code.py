"""Compiled functions on disk: found again, and compiled anew where they are damaged, foreign or cannot be kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"),
]

PROGRAM = """
import sys

import numpy as np
from kernels_jit.compile.jit import jit

@jit
def triple(x):
    return np.full(3, x).sum()

@jit
def seven(x):
    return triple(x) + x // 7  # a jitted function may call another

print(seven(14), triple(2))
print(sum(sum(function.stats.cache_hits.values()) for function in (seven, triple)))
print("numba.misc.cffiimpl" in sys.modules)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the program is."""
    made = tmp_path_factory.mktemp("program")
    (made / "program.py").write_text(PROGRAM)
    return made


def start_with(cache: Path, folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KERNBENCH_CACHE": str(cache), "PYTHONWARNINGS": "error"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "program.py"], cwd=folder, env=environment, **pipes)


@pytest.fixture
def start(tmp_path: Path, folder: Path) -> Callable[[], subprocess.Popen[str]]:
    """Starts the program, whose cache is in `tmp_path`."""
    return lambda: start_with(tmp_path, folder)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Path:
    """A cache with all functions of the program."""
    cache = tmp_path_factory.mktemp("compiled")
    assert hits(start_with(cache, folder)) == 0
    return cache


@pytest.fixture
def kept(compiled: Path, tmp_path: Path) -> None:
    """Puts the compiled functions into `tmp_path`."""
    shutil.copytree(compiled, tmp_path, dirs_exist_ok=True)


def hits(process: subprocess.Popen[str]) -> int:
    """How many overloads the program found; its results are right, it complains of nothing, and only to compile takes rules."""
    out, err = process.communicate()
    result, found, rules = out.splitlines()
    assert (process.returncode, err, result) == (0, "", "44 6")
    assert rules == str(int(found) < 2)
    return int(found)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "jit").rglob("*") if path.is_file())


def test_what_was_compiled_is_found(start, kept, tmp_path: Path):
    before = {path: path.read_bytes() for path in files(tmp_path)}
    assert {path.name.partition("-")[0] for path in before} == {"program.seven", "program.triple"}
    assert hits(start()) == 2
    assert {path: path.read_bytes() for path in files(tmp_path)} == before


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def garbled(content: bytes) -> bytes:
    return content[:200] + bytes(byte ^ 0x55 for byte in content[200:])


@pytest.mark.parametrize(
    "damages",
    [
        {"program.seven": truncated, "program.triple": garbled},
        {"program.seven": lambda _: b"", "program.triple": lambda _: b"\x80\x04N."},
    ],
)
def test_damaged_files_are_compiled_anew(start, kept, tmp_path: Path, damages: dict[str, Callable[[bytes], bytes]]):
    """The files of each function are damaged in a way of their own."""
    for path in files(tmp_path):
        path.write_bytes(damages[path.name.partition("-")[0]](path.read_bytes()))
    assert hits(start()) == 0
    assert hits(start()) == 2


def test_a_file_in_the_place_of_another_is_compiled_anew(start, kept, tmp_path: Path):
    first, second = [path for path in files(tmp_path) if path.suffix == ".nbc"][:2]
    first.write_bytes(second.read_bytes())
    assert hits(start()) == 1
    assert hits(start()) == 2


def test_processes_side_by_side_do_not_disturb_each_other(start):
    for process in [start() for _ in range(3)]:
        hits(process)
    hits(start())  # one that starts removes what another has not sealed yet; then this one writes it again
    assert hits(start()) == 2


def test_two_checkouts_of_the_same_sources_share_what_is_compiled(tmp_path: Path):
    program = (
        "import numpy as np\n"
        "from kernels_jit.routing.dijkstra import dense_distances\n"
        "print(dense_distances(np.array([[9, 2], [2, 9]]), 0), sum(dense_distances.stats.cache_hits.values()))\n"
    )
    outputs = []
    for checkout in ("one", "other"):
        shutil.copytree(ROOT / "kernels_jit", tmp_path / checkout / "kernels_jit")
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / checkout), "KERNBENCH_CACHE": str(tmp_path / "cache")}
        command = [sys.executable, "-c", program]
        outputs.append(
            subprocess.run(command, cwd=tmp_path / checkout, env=environment, capture_output=True, text=True)
        )
    assert [(done.stdout, done.stderr) for done in outputs] == [("[0 2] 0\n", ""), ("[0 2] 1\n", "")]
