"""Sweeps in processes of their own, and what has to hold after a fault."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars
import yaml

from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.run import run_sweep
from kernbench.unfinished import PREFIX

ROOT = Path(__file__).parents[2]
ENDS_S = 120  # in which whatever is waited for has happened, however slow the machine
MARK = "KERNBENCH_TEST_FAMILY"  # in the environment of a process and of all that it starts

BENCH = """
import time
from kernbench import DPPolicy, bench

def double(x, tl):
    tl.store(x, tl.load(x, (4, 32)) * 2)

@bench("double", "A small matrix, doubled, after a moment")
def run(torch, *, rows=4, pause=0.0):
    time.sleep(pause)
    x = torch.zeros((rows, 32), dp=DPPolicy(pe="replicate", num_cubes=1))
    torch.launch("double", double, x)
"""

SWEEP = """
import json, sys
from kernbench.sweep.run import run_sweep
grid, out, workers, scheduler = json.loads(sys.argv[1])
print("begins", file=sys.stderr, flush=True)
run_sweep(grid, out, workers, lambda point, row: print("point", file=sys.stderr, flush=True), scheduler=scheduler)
"""


def make_grid(directory: Path, points: int = 12, pause: float = 0.05, **parameters: Any) -> dict[str, Any]:
    """A grid of structures, each of which takes a moment, so that points run in worker processes."""
    path = directory / "double.py"
    path.write_text(BENCH, encoding="utf-8")
    axes = {"rows": [4 * (1 + i) for i in range(points)], "pause": pause, **parameters}
    return {"name": "double", "bench": str(path), "topology": "tiny", "parameters": axes}


@dataclass
class Family:
    """A process and all that it starts."""

    process: subprocess.Popen[str]
    mark: str
    lines: list[str] = field(default_factory=list)  # of stderr, as far as read

    def read_line(self) -> str:
        """The next line that it writes; "" at the end."""
        assert self.process.stderr is not None
        self.lines.append(self.process.stderr.readline())
        return self.lines[-1]

    def wait(self) -> int:
        """Its exit code."""
        assert self.process.stderr is not None
        self.lines += self.process.stderr.read().splitlines(keepends=True)
        return self.process.wait(ENDS_S)

    def members(self) -> list[int]:
        """The processes of the family that live, but for the first."""
        found = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
        return [one for one in found if one != self.process.pid and _lives(one) and self.mark in _read(one, "environ")]

    def wait_for_workers(self) -> list[int]:
        """Those that run points: forked from one that was started. Before them the sweep may have loops to compile."""
        while self.process.poll() is None:
            members = self.members()
            if workers := [one for one in members if _parent(one) in members]:
                return workers
            time.sleep(0.05)
        raise AssertionError("the sweep ended before it was looked for its workers")

    def check_gone(self) -> None:
        """No process is left."""
        ends = time.monotonic() + ENDS_S
        while left := self.members():
            assert time.monotonic() < ends, f"processes outlive the sweep: {[_read(one, 'cmdline') for one in left]}"
            time.sleep(0.05)


@contextmanager
def start(*command: str, within: Sequence[str] = ()) -> Iterator[Family]:
    """Start Python with arguments, `within` another command; all that is left at the end is killed."""
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [*within, sys.executable, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), MARK: mark},
    )
    family = Family(process, mark)
    try:
        yield family
    finally:
        for one in (process.pid, *family.members()):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def start_sweep(grid: dict[str, Any], out: Path, workers: int = 2, scheduler: str = "local") -> Any:
    """Start a sweep from Python, which writes a table and no reports; it tells of each point on stderr."""
    return start("-c", SWEEP, json.dumps([grid, str(out), workers, scheduler]))


def start_command(grid: dict[str, Any], out: Path, workers: int = 2) -> Any:
    """Start the command `kernbench sweep`."""
    path = out.parent / "grid.yaml"
    path.write_text(yaml.safe_dump(grid, sort_keys=False), encoding="utf-8")
    return start("-m", "kernbench", "sweep", str(path), "--out", str(out), "--workers", str(workers))


def read_table(out: Path) -> polars.DataFrame:
    """The table that a sweep left, but for how long its points took."""
    return polars.read_parquet(out / "table.parquet").drop("wall_s")


def count_reported(lines: list[str]) -> int:
    """The number of points that a sweep has said to be done."""
    return sum(bool(re.match(r"point|\d+/\d+ ", line)) for line in lines)


def check_resumed(grid: dict[str, Any], out: Path, whole: polars.DataFrame, reported: int = 0) -> None:
    """The same sweep again runs only what was not reported, and leaves the table of one that was not disturbed."""
    plan = plan_sweep(grid, out)
    assert len(plan.points) - len(plan.missing) >= reported, "a row that was reported is lost"
    run_sweep(grid, out, 1)
    assert read_table(out).equals(whole)
    kept = [polars.read_parquet(path)["key"] for path in (out / "parts").glob("*.parquet")]
    assert sorted(polars.concat(kept)) == sorted(whole["key"]), "a row is missing or is there twice"
    left = [path for path in out.parent.rglob("*") if path.name.startswith(PREFIX)]
    assert not left, "unfinished files stay"


def _lives(process: int) -> bool:
    status = _read(process, "stat").rpartition(")")[2].split()
    return bool(status) and status[0] != "Z"


def _parent(process: int) -> int:
    status = _read(process, "stat").rpartition(")")[2].split()
    return int(status[1]) if status else 0


def _read(process: int, name: str) -> str:
    try:
        return Path(f"/proc/{process}/{name}").read_bytes().decode(errors="replace").replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError, PermissionError):  # it ended just now, or is somebody else's
        return ""
