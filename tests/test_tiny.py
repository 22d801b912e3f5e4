"""The package end to end on the smallest machine in under a minute: a machine, a bench, a sweep, a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.slow

BENCH = """
import numpy as np
from kernbench import DPPolicy, bench

def scale(x, y, rows, factor, tl):
    row = rows // tl.num_programs(0) * tl.program_id(0)
    tl.store(y + row * 64, tl.load(x + row * 64, (rows // tl.num_programs(0), 32)) * factor)

@bench("scale", "A scaled matrix")
def run(torch, *, rows=64, factor=3.0):
    split = DPPolicy(pe="row_wise", num_cubes=1)
    x = torch.from_numpy(np.arange(rows * 32, dtype=np.float16).reshape(rows, 32) / 512, split, name="x")
    y = torch.empty((rows, 32), dp=split, name="y")
    torch.launch("scale", scale, x, y, rows, factor)
    assert (y.numpy() == x.initial() * factor).all()
    torch.expect(y, lambda: x.initial() * factor)
"""


def kernbench(folder: Path, *arguments: str, code: int = 0) -> str:
    """What the command prints."""
    command = [sys.executable, "-m", "kernbench", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_a_users_own_bench(tmp_path: Path) -> None:
    (tmp_path / "benches").mkdir()
    (tmp_path / "benches" / "scale.py").write_text(BENCH)
    assert "scale" in {b["name"] for b in json.loads(kernbench(tmp_path, "list", "--json"))["benches"]}
    arguments = ("run", "scale", "--topology", "tiny", "--verify-data", "--json", "--set", "rows=32", "--out", "out")
    result = json.loads(kernbench(tmp_path, *arguments))
    assert result["verified"] is True
    assert result["parameters"] == {"rows": 32, "factor": 3.0}
    assert json.loads(kernbench(tmp_path, *arguments, "--live"))["latency_ns"] == result["latency_ns"]
    logs = list((tmp_path / "out").glob("oplog.parquet"))
    assert len(logs) == 1
    assert pl.read_parquet(logs[0]).height > 50


def test_a_sweep(tmp_path: Path) -> None:
    grid = "bench: vector-add\ntopology: tiny\nparameters:\n  n: {values: [1000, 4000]}\n"
    (tmp_path / "grid.yaml").write_text(grid + "  topology.hbm.channel_gbs: {values: [16, 32]}\n")
    kernbench(tmp_path, "sweep", "grid.yaml", "--out", "out")
    table = pl.read_parquet(tmp_path / "out" / "table.parquet")
    assert table.height == 4
    assert table["status"].to_list() == ["ok"] * 4
    slow, fast = (
        table.filter(pl.col("n") == 4000, pl.col("topology.hbm.channel_gbs") == gbs)["pe_exec_ns"][0]
        for gbs in (16, 32)
    )
    assert fast < slow


def test_a_mistake_is_one_sentence(tmp_path: Path) -> None:
    said = kernbench(tmp_path, "run", "vector-ad", "--topology", "tiny", code=2)
    assert said.startswith("error: unknown bench 'vector-ad'; did you mean 'vector-add'?")
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
