"""Disks that are full or read-only, and a directory that is removed: one sentence, and nothing lost that was reported."""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import polars
import pytest
import yaml

from kernbench.cli.main import main
from kernbench.errors import RunError
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.run import run_plan, run_sweep
from kernbench.unfinished import PREFIX
from tests.faults.sweeps import check_resumed, make_grid, read_table, start
from tests.sweep import fakes

NO_ROOM = 1 << 12  # bytes; a part has about 12,000, a table as many
AGAIN = "the same command"


@pytest.fixture
def grid(tmp_path: Path) -> dict[str, Any]:
    return make_grid(tmp_path, points=6, pause=0.0)


@pytest.fixture
def whole(tmp_path: Path, grid: dict[str, Any]) -> polars.DataFrame:
    """The table of a sweep that nothing disturbs."""
    run_sweep(grid, tmp_path / "undisturbed", 1)
    return read_table(tmp_path / "undisturbed")


@contextmanager
def longest_file(size: int) -> Iterator[None]:
    """Let the system refuse to write more to a file than this, as it does on a full disk, of this process alone."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_that_cannot_be_written_to_its_end_is_told_in_one_sentence(
    tmp_path: Path,
    grid: dict[str, Any],
    whole: polars.DataFrame,
    random: Random,
    rounds: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(yaml.safe_dump(grid, sort_keys=False), encoding="utf-8")
    sizes = [100, NO_ROOM, *(random.randrange(1, 4 * NO_ROOM) for _ in range(4 * rounds - 2))]
    for i, size in enumerate(sizes):
        out = tmp_path / f"{i}" / "out"
        with longest_file(size):
            code = main(["sweep", str(path), "--out", str(out), "--workers", "1"])
        errors = capsys.readouterr().err.splitlines()
        assert code == 2
        assert errors[-1].startswith("error: ")
        assert "cannot write" in errors[-1]
        assert not any("bug" in line or "Traceback" in line for line in errors)
        check_resumed(grid, out, whole, sum(line[0].isdigit() for line in errors))


def test_a_run_is_kept_whole_or_not_at_all(
    tmp_path: Path, random: Random, rounds: int, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = ["run", "gemm-single-pe", "--topology", "tiny", "--out", str(out)]
    assert main(command) == 0
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    for size in [0, *(random.randrange(1, len(before["oplog.parquet"])) for _ in range(rounds))]:
        with longest_file(size):
            code = main(command)
        error = capsys.readouterr().err.splitlines()[-1]
        assert code in (1, 2)  # 2 if it is found before the run
        assert "cannot be" in error
        assert {file.name: file.read_bytes() for file in out.iterdir()} == before
        assert [file.name for file in tmp_path.iterdir()] == ["run"]


SMALL_DISK = """
import subprocess, sys
from kernbench.cli.main import main
from kernbench.sweep.run import run_sweep
grid, disk, *options, last = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "none", disk], check=True)
for option in options:
    subprocess.run(["mount", "-o", "remount," + option, disk], check=True)
    print("code", main(["sweep", grid, "--out", disk + "/out", "--workers", "1"]), file=sys.stderr)
subprocess.run(["mount", "-o", "remount," + last, disk], check=True)
run_sweep(grid, disk + "/out", 1)
subprocess.run(["cp", "-r", disk + "/out", sys.argv[1] + ".kept"], check=True)
"""


@cache
def may_mount() -> bool:
    """Whether this user may mount a small disk that only his processes see."""
    mount = "mount -t tmpfs none /mnt"
    return (
        shutil.which("unshare") is not None
        and not subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True).returncode
    )


def test_a_disk_that_may_not_be_written_then_is_full_then_has_room(
    tmp_path: Path, grid: dict[str, Any], whole: polars.DataFrame, random: Random, rounds: int
) -> None:
    if not may_mount():
        pytest.skip("this system lets no user mount a disk of his own")
    path, disk = tmp_path / "grid.yaml", tmp_path / "disk"
    path.write_text(yaml.safe_dump(grid, sort_keys=False), encoding="utf-8")
    disk.mkdir()
    for i in range(rounds):
        little = random.choice([f"size={4 * random.randrange(1, 12)}k", f"nr_inodes={random.randrange(4, 9)}"])
        options = ("ro", f"rw,{little}", "size=50m,nr_inodes=1000")
        with start("-c", SMALL_DISK, str(path), str(disk), *options, within=("unshare", "-rm")) as family:
            assert family.wait() == 0, family.lines
        lines = family.lines
        codes = [at for at, line in enumerate(lines) if line.startswith("code ")]
        assert [lines[at] for at in codes] == ["code 2\n", "code 1\n"]
        assert lines[codes[0] - 1] == (
            f"error: --out cannot be in {disk}: Read-only file system; give a directory you may write to\n"
        )
        assert "No space left on device" in lines[codes[1] - 1], (little, lines)
        assert not any("bug" in line or "Traceback" in line for line in lines)
        kept = tmp_path / "grid.yaml.kept"
        assert read_table(kept).equals(whole)
        assert not [file for file in kept.rglob("*") if file.name.startswith(PREFIX)]
        kept.rename(tmp_path / f"{i}")


def test_a_directory_that_is_removed_during_a_sweep(tmp_path: Path, random: Random, rounds: int) -> None:
    grid = fakes.toy_grid(tmp_path, M=list(range(20, 40)))
    whole = run_sweep(grid, tmp_path / "undisturbed", 1, run=fakes.run_fake).table
    for i in range(rounds):
        out = tmp_path / f"{i}"
        at, heard = random.randrange(1, 20), []

        def hear(point: object, _row: object, out: Path = out, at: int = at, heard: list[object] = heard) -> None:
            heard.append(point)
            if len(heard) == at:
                shutil.rmtree(out)

        with pytest.raises(RunError, match=f"^[0-9]+ of 20 points have no row in {out}: .* run {AGAIN} again$"):
            run_plan(plan_sweep(grid, out), 1, hear, fakes.run_fake)
        assert run_sweep(grid, out, 1, run=fakes.run_fake).table.equals(whole)
