from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernbench.limits.run_limits import RunLimits
from kernbench.limits.time_limit import REMEDY
from kernbench.sweep.execution import process_pool
from kernbench.sweep.execution.batches import Batch
from kernbench.sweep.execution.point_progress import PointProgress
from kernbench.sweep.execution.process_pool import run_here, run_in_workers
from kernbench.sweep.point import Point
from tests.sweep import fakes

ROOT = Path(__file__).parents[3]


def batches(*ms: int, dtype: str = "f16", size: int = 1) -> list[Batch]:
    made = [Point(i, f"key{i}", "toy", "tiny", "flit", {"M": m, "dtype": dtype}, {}) for i, m in enumerate(ms)]
    return [Batch(tuple(made[i : i + size]), True) for i in range(0, len(made), size)]


def test_here_all_points_run_in_order() -> None:
    found = [(point.index, row["status"]) for point, row in run_here(batches(1, 13, 2), fakes.run_fake)]
    assert found == [(0, "ok"), (1, "error"), (2, "ok")]


@pytest.mark.slow
def test_workers_run_all_points() -> None:
    rows = {point.index: row for point, row in run_in_workers(batches(*range(1, 16)), fakes.run_fake, 2)}
    assert sorted(rows) == list(range(15))
    assert [index for index, row in rows.items() if row["status"] == "error"] == [12]
    assert rows[3]["latency_ns"] == 4.0


@pytest.mark.slow
def test_a_worker_that_cannot_be_stopped_at_its_limit_is_killed_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process_pool, "GRACE_S", 0.0)
    points = [
        Point(i, f"k{i}", "toy", "tiny", "flit", {"M": m}, {}, RunLimits(2.0)) for i, m in enumerate((1, 13, 2, 3))
    ]
    rows = {point.index: row for point, row in run_in_workers([Batch(tuple(points), True)], fakes.run_asleep, 2)}
    assert [rows[i]["status"] for i in range(4)] == ["ok", "error", "ok", "ok"]
    assert rows[1]["error"] == (
        "bench 'toy': it takes longer than its time limit of 2 s, in code that could not be stopped, so that its process was "
        f"killed; {REMEDY}"
    )


@pytest.mark.slow
def test_workers_pass_on_what_their_points_tell() -> None:
    heard: list[PointProgress] = []
    rows = list(run_in_workers(batches(1, 2, 3), fakes.run_telling, 2, heard.append))
    assert len(rows) == 3
    assert sorted(heard) == [PointProgress(i, "simulating", 1, 3, 0.5) for i in range(3)]


@pytest.mark.slow
def test_a_worker_that_dies_twice_loses_only_its_point() -> None:
    rows = {point.index: row for point, row in run_in_workers(batches(1, 13, 2, 3, 4), fakes.run_deadly, 2)}
    assert [rows[i]["status"] for i in range(5)] == ["ok", "lost", "ok", "ok", "ok"]
    assert rows[1]["key"] == "key1"
    assert rows[1]["error"] == (
        "the worker process died 2 times at this point (killed by SIGKILL); with fewer workers each has more memory"
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 5])
def test_of_a_batch_only_the_point_is_lost_that_kills(size: int) -> None:
    outcomes = list(run_in_workers(batches(1, 2, 13, 3, 4, size=size), fakes.run_deadly, 2))
    assert sorted(point.index for point, _ in outcomes) == [0, 1, 2, 3, 4]
    assert {point.parameters["M"]: row["status"] for point, row in outcomes} == {
        1: "ok",
        2: "ok",
        13: "lost",
        3: "ok",
        4: "ok",
    }


@pytest.mark.slow
def test_a_point_whose_worker_died_gets_a_second_try(tmp_path: Path) -> None:
    rows = [row for _, row in run_in_workers(batches(13, 1, dtype=str(tmp_path)), fakes.run_deadly_once, 2)]
    assert [row["status"] for row in rows] == ["ok", "ok"]


@pytest.mark.slow
def test_workers_share_directory_and_environment_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNBENCH_TEST", "now")
    rows = [row for _, row in run_in_workers(batches(1, 2), fakes.run_where, 2)]
    for directory, process, value in (row["bottleneck"].split() for row in rows):
        assert (directory, value) == (str(tmp_path), "now")
        assert int(process) != os.getpid()


@pytest.mark.slow
def test_closing_ends_the_workers_at_once() -> None:
    started = time.monotonic()
    outcomes = run_in_workers(batches(*range(1, 100)), fakes.run_slowly, 2)
    next(outcomes)
    outcomes.close()
    assert time.monotonic() - started < 10


UNGUARDED = """
from tests.sweep import fakes
from kernbench.sweep.execution.batches import Batch
from kernbench.sweep.point import Point
from kernbench.sweep.execution.process_pool import run_in_workers
print("once", flush=True)
points = [Point(i, str(i), "toy", "tiny", "flit", {"M": i}, {}) for i in range(4)]
for point, row in run_in_workers([Batch((point,), False) for point in points], fakes.run_where, 2):
    print("worker", row["bottleneck"].split()[1], flush=True)
"""


@pytest.mark.slow
def test_a_script_without_a_main_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["once"] + ["worker"] * 4


@pytest.mark.slow
def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED.replace("range(4)", "range(1000)") + "import time; time.sleep(60)\n", encoding="utf-8")
    parent = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert parent.stdout is not None
    workers = {int(line.split()[1]) for line in (parent.stdout.readline() for _ in range(50)) if line != "once\n"}
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while any(_lives(worker) for worker in workers):
        assert time.monotonic() < deadline, "a worker outlived its parent"


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or read
        return False
