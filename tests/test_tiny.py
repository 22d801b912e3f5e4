"""The package end to end on the smallest machine in under a minute: a machine, a bench, a sweep, a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from kernbench.cli.main import main

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


@pytest.fixture
def kernbench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """What the command prints in `tmp_path`; in this process, which has loaded the compiled loops."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> str:
        code, printed = main(arguments), capsys.readouterr()
        assert code == 0, printed.err
        return printed.out

    return call


def test_a_users_own_bench(kernbench: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "benches").mkdir()
    (tmp_path / "benches" / "scale.py").write_text(BENCH)
    assert "scale" in {b["name"] for b in json.loads(kernbench("list", "--json"))["benches"]}
    arguments = ("run", "scale", "--topology", "tiny", "--verify-data", "--json", "--set", "rows=32", "--out", "out")
    result = json.loads(kernbench(*arguments))
    assert result["verified"] is True
    assert result["parameters"] == {"rows": 32, "factor": 3.0}
    assert json.loads(kernbench(*arguments, "--live"))["latency_ns"] == result["latency_ns"]
    logs = list((tmp_path / "out").glob("oplog.parquet"))
    assert len(logs) == 1
    assert pl.read_parquet(logs[0]).height > 50


def test_a_sweep(kernbench: Callable[..., str], tmp_path: Path) -> None:
    grid = "bench: vector-add\ntopology: tiny\nparameters:\n  n: {values: [1000, 4000]}\n"
    (tmp_path / "grid.yaml").write_text(grid + "  topology.hbm.channel_gbs: {values: [16, 32]}\n")
    kernbench("sweep", "grid.yaml", "--out", "out")
    table = pl.read_parquet(tmp_path / "out" / "table.parquet")
    assert table.height == 4
    assert table["status"].to_list() == ["ok"] * 4
    slow, fast = (
        table.filter(pl.col("n") == 4000, pl.col("topology.hbm.channel_gbs") == gbs)["pe_exec_ns"][0]
        for gbs in (16, 32)
    )
    assert fast < slow


def test_a_process_runs_a_bench_and_leaves_nothing_else(tmp_path: Path) -> None:
    done = run_process(tmp_path, "run", "vector-add", "--topology", "tiny", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["bench"] == "vector-add"
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_is_one_sentence(tmp_path: Path) -> None:
    done = run_process(tmp_path, "run", "vector-ad", "--topology", "tiny")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: unknown bench 'vector-ad'; did you mean 'vector-add'?")
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def run_process(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`kernbench` in a process of its own."""
    command = [sys.executable, "-m", "kernbench", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
