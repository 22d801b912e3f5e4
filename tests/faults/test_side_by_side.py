"""Several sweeps in one directory at once, and readers of its table."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from random import Random

from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.results.comparison import read_side
from kernbench.sweep.run import run_sweep
from kernbench.unfinished import PREFIX
from tests.faults.sweeps import start
from tests.sweep import fakes

SWEEPS = 8
AGAIN = """
import json, sys, time
from pathlib import Path
from kernbench.sweep.run import run_sweep
from tests.sweep import fakes
grids, out = json.loads(sys.argv[1])
print("ready", file=sys.stderr, flush=True)
while not Path(out).exists():
    time.sleep(0.001)
for grid in grids:
    with run_sweep(grid, out, 1, run=fakes.run_fake).scan() as scan:
        assert set(grid["parameters"]["M"]) >= set(scan.collect()["M"]) or len(grids) > 1
"""


def test_eight_sweeps_of_two_grids_and_readers_of_their_tables(tmp_path: Path, random: Random, rounds: int) -> None:
    grids = [fakes.toy_grid(tmp_path, M=ms) for ms in (list(range(20, 60)), list(range(40, 90)))]
    tables = [run_sweep(grid, tmp_path / f"whole{i}", 1, run=fakes.run_fake).table for i, grid in enumerate(grids)]
    latencies = {m: float(m) for m in range(20, 90)}
    for i in range(rounds):
        out = tmp_path / f"out{i}"
        with ExitStack() as stack:
            families = [
                stack.enter_context(start("-c", AGAIN, json.dumps([random.choices(grids, k=6), str(out)])))
                for _ in range(SWEEPS)
            ]
            for family in families:
                family.read_line()
            out.mkdir()
            read = 0
            while any(family.process.poll() is None for family in families):
                if not (out / "table.parquet").exists():
                    continue
                table = read_side(out).table
                assert all(latencies[m] == latency for m, latency in table.select("M", "latency_ns").rows())
                read += 1
            assert read
            for family in families:
                assert family.wait() == 0, family.lines
        for grid, table in zip(grids, tables, strict=True):
            assert not len(plan_sweep(grid, out).missing)
            assert run_sweep(grid, out, 1, run=fakes.run_fake).table.equals(table)
        assert not [file for file in out.rglob("*") if file.name.startswith(PREFIX)]
        assert not (out / "parts" / "damaged").exists()
