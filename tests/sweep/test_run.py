from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars
import pytest

import kernbench
from kernbench.errors import InputError
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.point import Point
from kernbench.sweep.results.store import Store
from kernbench.sweep.run import run_plan, run_sweep
from tests.sweep import fakes

ROOT = Path(__file__).parents[2]


class Ran:
    """A run that remembers which M it ran."""

    def __init__(self) -> None:
        self.ms: list[Any] = []

    def __call__(self, point: Point) -> object:
        self.ms.append(point.parameters["M"])
        return fakes.run_fake(point)


def sweep(grid: dict[str, object], out: Path, **options: Any) -> tuple[Any, list[Any]]:
    run = Ran()
    return run_sweep(grid, out, 1, run=run, **options), run.ms


def test_a_sweep_leaves_a_table_with_a_row_per_point(tmp_path: Path) -> None:
    result, ran = sweep(fakes.toy_grid(tmp_path, M=[3, 1, 2], N=[7, 8]), tmp_path / "out")
    assert ran == [3, 3, 1, 1, 2, 2]
    assert result.table_path == tmp_path / "out" / "table.parquet"
    assert polars.read_parquet(result.table_path).equals(result.table)
    assert result.table.select("M", "N", "dtype", "latency_ns").rows() == [
        (3, 7, "f16", 3.0),
        (3, 8, "f16", 3.0),
        (1, 7, "f16", 1.0),
        (1, 8, "f16", 1.0),
        (2, 7, "f16", 2.0),
        (2, 8, "f16", 2.0),
    ]
    assert result.failed == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["parts", "sweep.json", "table.parquet"]


def test_only_missing_points_run(tmp_path: Path) -> None:
    first, _ = sweep(fakes.toy_grid(tmp_path, M=[1, 2]), tmp_path / "out")
    again, ran = sweep(fakes.toy_grid(tmp_path, M=[1, 2]), tmp_path / "out")
    assert ran == []
    assert again.table.equals(first.table)
    _, ran = sweep(fakes.toy_grid(tmp_path, M=[0, 1, 2, 3]), tmp_path / "out")
    assert ran == [0, 3]


def test_a_grid_that_shrinks_and_grows_again_runs_nothing(tmp_path: Path) -> None:
    sweep(fakes.toy_grid(tmp_path, M=[1, 2, 3]), tmp_path / "out")
    small, _ = sweep(fakes.toy_grid(tmp_path, M=[2]), tmp_path / "out")
    assert small.table["M"].to_list() == [2]
    _, ran = sweep(fakes.toy_grid(tmp_path, M=[1, 2, 3]), tmp_path / "out")
    assert ran == []


def test_a_failed_point_is_a_row_and_runs_again_only_when_asked(tmp_path: Path) -> None:
    grid = fakes.toy_grid(tmp_path, M=[1, 13, 2])
    result, _ = sweep(grid, tmp_path / "out")
    assert result.failed == 1
    assert result.table["status"].to_list() == ["ok", "error", "ok"]
    assert result.table["error"].to_list() == [None, "thirteen brings bad luck", None]
    again, ran = sweep(grid, tmp_path / "out")
    assert (ran, again.failed) == ([], 1)
    _, ran = sweep(grid, tmp_path / "out", retry=True)
    assert ran == [13]


def test_a_point_whose_worker_died_runs_again(tmp_path: Path) -> None:
    grid = fakes.toy_grid(tmp_path, M=[1])
    (point,) = plan_sweep(grid, tmp_path / "out").points
    store = Store(tmp_path / "out")
    store.append({**fakes_lost(), "key": point.key})
    result, ran = sweep(grid, tmp_path / "out")
    assert (ran, result.failed) == ([1], 0)


def fakes_lost() -> dict[str, Any]:
    from kernbench.sweep.row import LOST, failed_row

    return failed_row(LOST, "died")


def test_changed_inputs_are_named_and_run_anew(tmp_path: Path) -> None:
    grid = fakes.toy_grid(tmp_path, M=[1, 2])
    sweep(grid, tmp_path / "out")
    assert plan_sweep(grid, tmp_path / "out").changed == ()
    bench = tmp_path / "toy.py"
    bench.write_text(fakes.TOY + "# edited\n", encoding="utf-8")
    assert plan_sweep(grid, tmp_path / "out").changed == (f"bench {bench}",)
    _, ran = sweep(grid, tmp_path / "out")
    assert ran == [1, 2]


def test_ctrl_c_keeps_what_has_finished(tmp_path: Path) -> None:
    def run(point: Point) -> object:
        if point.parameters["M"] == 3:
            raise KeyboardInterrupt
        return fakes.run_fake(point)

    grid = fakes.toy_grid(tmp_path, M=[1, 2, 3, 4])
    with pytest.raises(KeyboardInterrupt):
        run_sweep(grid, tmp_path / "out", 1, run=run)
    assert polars.read_parquet(tmp_path / "out" / "table.parquet")["M"].to_list() == [1, 2]
    _, ran = sweep(grid, tmp_path / "out")
    assert ran == [3, 4]


def test_every_finished_point_is_heard_of(tmp_path: Path) -> None:
    heard: list[tuple[Any, Any]] = []
    grid = fakes.toy_grid(tmp_path, M=[1, 13])
    sweep(grid, tmp_path / "out", on_point=lambda point, row: heard.append((point.parameters["M"], row["status"])))
    assert heard == [(1, "ok"), (13, "error")]


def test_no_workers_do_no_work(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        run_plan(plan_sweep(fakes.toy_grid(tmp_path, M=1), tmp_path / "out"), workers=0)
    assert str(caught.value) == "workers are 1 or more, not 0"


def test_the_package_is_the_function() -> None:
    with pytest.raises(InputError, match=r"^grid: a grid needs a bench, or a pattern of traffic"):
        kernbench.sweep({})
    assert kernbench.sweep is sys.modules["kernbench.sweep"]  # whatever was imported first


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_table(tmp_path: Path) -> None:
    grid = fakes.toy_grid(tmp_path, M=[*range(1, 16)], N=[1, 2])
    one = run_sweep(grid, tmp_path / "one", 1, run=fakes.run_fake).table.drop("wall_s")
    three = run_sweep(grid, tmp_path / "three", 3, run=fakes.run_fake).table.drop("wall_s")
    assert three.equals(one)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hybrid", "flit"])
def test_workers_that_share_one_structure_give_the_table_of_one(tmp_path: Path, mode: str) -> None:
    figures = {"topology.hbm.channel_gbs": {"logspace": [4, 64, 9]}, "topology.noc.gbs": [64, 128]}
    grid = {"name": "g", "bench": "gemm-single-pe", "topology": "tiny", "mode": mode, "parameters": figures}
    one, two = (run_sweep(grid, tmp_path / str(workers), workers).table.drop("wall_s") for workers in (1, 2))
    assert two.equals(one)
    assert one["latency_ns"].n_unique() > 5


SCRIPT = """
import json, sys
from kernbench.sweep.run import run_sweep
from tests.sweep import fakes
grid, out, workers = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
run_sweep(grid, out, workers, lambda point, row: print(point.parameters["M"], flush=True), run=fakes.run_slowly)
"""


def start(grid: dict[str, object], out: Path, workers: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, json.dumps(grid), str(out), str(workers)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_sweep_that_is_killed_loses_nothing_that_was_reported(tmp_path: Path, workers: int) -> None:
    grid = fakes.toy_grid(tmp_path, M=[*range(1, 9)])
    process = start(grid, tmp_path / "out", workers)
    assert process.stdout is not None
    reported = [process.stdout.readline().strip() for _ in range(4)][1:]
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    _, ran = sweep(grid, tmp_path / "out")
    assert not {int(m) for m in reported} & set(ran)
    table = polars.read_parquet(tmp_path / "out" / "table.parquet")
    assert table["latency_ns"].to_list() == [float(m) for m in range(1, 9)]


@pytest.mark.slow
def test_two_processes_in_one_directory_do_no_harm(tmp_path: Path) -> None:
    grid = fakes.toy_grid(tmp_path, M=[*range(1, 7)])
    processes = [start(grid, tmp_path / "out", 1) for _ in range(2)]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    result, ran = sweep(grid, tmp_path / "out")
    assert ran == []
    assert result.table["latency_ns"].to_list() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.slow
def test_ctrl_c_ends_workers_and_keeps_rows(tmp_path: Path) -> None:
    grid = fakes.toy_grid(tmp_path, M=[*range(1, 300)])
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background ignores
    process = start(grid, tmp_path / "out", 2)
    signal.signal(signal.SIGINT, heard)
    assert process.stdout is not None
    for _ in range(3):
        process.stdout.readline()
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert time.monotonic() - asked < 10
    assert 2 <= len(polars.read_parquet(tmp_path / "out" / "table.parquet")) < 299


@pytest.mark.slow
def test_a_point_of_a_sweep_is_a_run(tmp_path: Path) -> None:
    parameters = {"M": [32, 64], "topology.hbm.channel_gbs": [16, 32]}
    grid = {"bench": "gemm-single-pe", "topology": "tiny", "parameters": parameters}
    table = run_sweep(grid, tmp_path / "out", 2).table
    assert table["status"].to_list() == ["ok"] * 4
    for row in table.iter_rows(named=True):
        fields = {"hbm.channel_gbs": row["topology.hbm.channel_gbs"]}
        alone = kernbench.run("gemm-single-pe", "tiny", parameters={"M": row["M"]}, overrides=fields)
        for column in ("latency_ns", "pe_exec_ns", "bottleneck", "achieved_tflops", "events", "flit_hops"):
            assert row[column] == getattr(alone, column)


@pytest.mark.slow
def test_a_table_may_be_scanned_on_the_disk(tmp_path: Path) -> None:
    grid = {"bench": "gemm-single-pe", "topology": "tiny", "parameters": {"M": [32, 64]}}
    result = kernbench.sweep(grid, tmp_path / "out")
    lazy = result.scan()
    assert isinstance(lazy, polars.LazyFrame)
    assert lazy.filter(polars.col("M") == 64).collect().equals(result.table.filter(polars.col("M") == 64))


@pytest.mark.slow
def test_the_wiring_of_sips_is_an_axis_as_any_other(tmp_path: Path) -> None:
    axes = {
        "topology.sips.wiring": ["switch", "direct"],
        "topology.pcie_ep.store_and_forward": [False, True],
        "topology.sip.io_chiplets": [1, 2],
        "topology.sip_link.gbs": [16, 256],
    }
    shape = {"topology.sips.count": 4, "topology.sips.topology": "torus_2d", "bytes_per_pe": 4096}
    grid = {"name": "wiring", "bench": "ccl-allreduce", "topology": "tiny", "parameters": {**shape, **axes}}
    rows = run_sweep(grid, tmp_path, 1).table.to_dicts()
    assert len(rows) == 16
    for row in rows:
        overrides = {
            name.removeprefix("topology."): row[name] for name in (*shape, *axes) if name.startswith("topology.")
        }
        one = kernbench.run("ccl-allreduce", "tiny", parameters={"bytes_per_pe": 4096}, overrides=overrides)
        assert row["latency_ns"] == one.latency_ns
    found = {(row["topology.sips.wiring"], row["topology.sip_link.gbs"]): row["latency_ns"] for row in rows}
    assert found["direct", 256] < found["direct", 16]
    assert found["switch", 256] == found["switch", 16]
