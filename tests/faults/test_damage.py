"""Flipped bits and truncated files: the same answer, or the file is named and made again."""

from __future__ import annotations

import shutil
import warnings
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import polars
import pytest

import kernbench
from kernbench.errors import InputError
from kernbench.machine import load
from kernbench.machine.compile_cache import directory
from kernbench.oplog.record import read_records
from kernbench.sweep.results.comparison import Comparison, compare
from kernbench.sweep.results.store import DAMAGED
from kernbench.sweep.run import run_sweep
from tests.sweep import fakes

FLIPS = 8  # of each file, in CI


def spoil(file: Path, random: Random) -> None:
    """Flip a bit of a file, or one time in ten cut it off."""
    content = bytearray(file.read_bytes())
    place = random.randrange(len(content))
    if random.random() < 0.1:
        file.write_bytes(content[:place])
        return
    content[place] ^= 1 << random.randrange(8)
    file.write_bytes(content)


def compare_quietly(a: Path, b: Path) -> Comparison | None:
    """A comparison, or None if a damaged file is named."""
    try:
        return compare(a, b)
    except InputError as error:
        if str(b) not in str(error):
            raise
        return None


@pytest.mark.parametrize("kind", ["table.parquet", "sweep.json", "parts/*.parquet"])
def test_a_sweep_with_a_damaged_file(kind: str, tmp_path: Path, random: Random, rounds: int) -> None:
    grid: dict[str, Any] = fakes.toy_grid(tmp_path, M=list(range(20, 30)), N=[1, 2])
    whole, out = tmp_path / "whole", tmp_path / "out"
    run_sweep(grid, whole, 1, run=fakes.run_fake)
    for _ in range(FLIPS * rounds):
        shutil.copytree(whole, out)
        (file,) = out.glob(kind)
        spoil(file, random)
        found = compare_quietly(whole, out)
        assert found is None or not (len(found.moved()) or len(found.only_a) or len(found.only_b))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            run_sweep(grid, out, 1, run=fakes.run_fake)
        assert (out / "table.parquet").read_bytes() == (whole / "table.parquet").read_bytes()
        if "parts" in kind:
            assert [file.name in str(one.message) for one in told] == [True]
            assert (out / "parts" / DAMAGED / file.name).exists()
        shutil.rmtree(out)


def test_a_run_with_a_damaged_file(tmp_path: Path, random: Random, rounds: int) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    kernbench.run("gemm-single-pe", "tiny").write(whole)
    records = read_records(whole / "oplog.parquet")
    for _ in range(FLIPS * rounds):
        shutil.copytree(whole, out)
        for file in out.iterdir():
            spoil(file, random)
        found = compare_quietly(whole, out)
        assert found is None or not len(found.moved())
        with suppress(InputError):
            assert read_records(out / "oplog.parquet") == records
        shutil.rmtree(out)


def test_a_machine_whose_kept_file_is_damaged(
    tmp_path: Path, random: Random, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> polars.DataFrame:
        monkeypatch.setattr(load, "_recent", type(load._recent)())
        return kernbench.run("gemm-single-pe", "tiny").op_log()

    tmp_path.chmod(0o700)
    monkeypatch.setenv("KERNBENCH_CACHE", str(tmp_path))
    whole = run()
    (file,) = directory().iterdir()
    content = file.read_bytes()
    for _ in range(FLIPS * rounds):
        spoil(file, random)
        assert run().equals(whole)
        assert file.read_bytes() == content
