"""Several sweeps in one directory at once, and readers of its table."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from random import Random
from typing import Any

from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.results.comparison import read_side
from kernbench.sweep.run import run_sweep
from kernbench.unfinished import PREFIX
from tests.faults.sweeps import ENDS_S
from tests.sweep import fakes

SWEEPS = 8
MS = range(20, 60), range(40, 90)  # of two grids


def sweep_again(grids: list[dict[str, Any]], out: Path, ready: Any) -> None:
    """Run sweeps one after the other as soon as their directory is there; each table is read when its sweep has ended."""
    ready.release()
    while not out.exists():
        time.sleep(0.001)
    for grid in grids:
        with run_sweep(grid, out, 1, run=fakes.run_fake).scan() as scan:
            found = set(scan.collect()["M"])
        assert any(found <= set(ms) for ms in MS)


def test_eight_sweeps_of_two_grids_and_readers_of_their_tables(tmp_path: Path, random: Random, rounds: int) -> None:
    grids = [fakes.toy_grid(tmp_path, M=list(ms)) for ms in MS]
    tables = [run_sweep(grid, tmp_path / f"whole{i}", 1, run=fakes.run_fake).table for i, grid in enumerate(grids)]
    latencies = {m: float(m) for m in range(20, 90)}
    context = multiprocessing.get_context("forkserver")  # which imports once for all of them
    context.set_forkserver_preload(["kernbench.sweep.execution.preload", "tests.faults.sweeps"])
    for i in range(rounds):
        out = tmp_path / f"out{i}"
        ready = context.Semaphore(0)
        processes = [
            context.Process(target=sweep_again, args=(random.choices(grids, k=6), out, ready), daemon=True)
            for _ in range(SWEEPS)
        ]
        for process in processes:
            process.start()
        for _ in processes:
            assert ready.acquire(timeout=ENDS_S)
        out.mkdir()
        read = 0
        while any(process.is_alive() for process in processes):
            if not (out / "table.parquet").exists():
                continue
            table = read_side(out).table
            assert all(latencies[m] == latency for m, latency in table.select("M", "latency_ns").rows())
            read += 1
        assert read
        assert [process.exitcode for process in processes] == [0] * SWEEPS
        for grid, table in zip(grids, tables, strict=True):
            assert not len(plan_sweep(grid, out).missing)
            assert run_sweep(grid, out, 1, run=fakes.run_fake).table.equals(table)
        assert not [file for file in out.rglob("*") if file.name.startswith(PREFIX)]
        assert not (out / "parts" / "damaged").exists()
