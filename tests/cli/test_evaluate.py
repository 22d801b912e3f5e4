"""`kernbench evaluate`: data, then plots, each without the other."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest

from kernbench.atomic_output import write_parquet
from kernbench.cli.main import main
from kernbench.evaluation import gemm

FIGURES = {f"{name}.{suffix}" for name in ("efficiency", "time", "stages") for suffix in ("svg", "png")}


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, and two shapes instead of eight."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gemm, "SHAPES", ((32, 64, 32), (64, 64, 64)))
    return tmp_path


def evaluate(*arguments: str) -> int:
    return main(["evaluate", "gemm", *arguments])


@pytest.mark.slow
def test_data_then_figures(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        evaluate("-t", "tiny", "--data-only", "--verify-data", "--set", "pes=2", "--set", "topology.hbm.channel_gbs=8")
        == 0
    )
    printed = capsys.readouterr()
    out = own / "results" / "gemm"
    assert {path.name for path in out.iterdir()} == {"gemm.parquet", "gemm.json"}
    table = polars.read_parquet(out / "gemm.parquet")
    kept = json.loads((out / "gemm.json").read_text())
    assert kept["rows"] == table.to_dicts()
    assert kept["settings"] == {"pes": 2}
    assert kept["overrides"] == {"hbm.channel_gbs": "8"}
    assert table["verified"].to_list() == [True] * 6
    assert table["pes"].to_list() == [1, 1, 1, 2, 2, 2]
    assert "64 x 64 x 64 load_load  " in printed.err
    assert printed.out.splitlines()[-2:] == ["wrote results/gemm/gemm.parquet", "wrote results/gemm/gemm.json"]
    assert printed.out.split()[:4] == ["M", "K", "N", "variant"]

    assert evaluate("--figures-only", "--json") == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert {Path(path).name for path in files["figures"]} == FIGURES
    assert {path.name for path in out.iterdir()} == {"gemm.parquet", "gemm.json", *FIGURES}


@pytest.mark.slow
def test_all_at_once_as_json(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("-t", "tiny", "--json", "--out", "here") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == polars.read_parquet(own / "here" / "gemm.parquet").to_dicts()
    assert {path.name for path in (own / "here").iterdir()} == {"gemm.parquet", "gemm.json", *FIGURES}


def test_a_damaged_table_is_not_drawn(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = own / "gemm.parquet"
    write_parquet(polars.DataFrame({"M": [32, 64]}), table)
    content = bytearray(table.read_bytes())
    content[10] ^= 1
    table.write_bytes(content)
    assert evaluate("--figures-only", "--out", str(own)) == 2
    assert capsys.readouterr().err == (
        f"error: {table} is damaged: it is not what was written there; make it again with the same command\n"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["gem"],
            "there is no evaluation 'gem'; did you mean 'gemm'? Known: allreduce, attention, chip-gemm, "
            "chip-networks, chips, gemm, noc, tpu",
        ),
        (
            ["gemm", "--data-only", "--figures-only"],
            "--data-only and --figures-only leave nothing to do; give one of them",
        ),
        (
            ["gemm", "--figures-only", "--out", "gone"],
            "there is no table gone/gemm.parquet; run `kernbench evaluate gemm` first, or give its --out",
        ),
        (
            ["gemm", "--set", "M=3"],
            "the evaluation 'gemm' has no setting 'M'; --set takes its settings (shapes, variants, dtype, sips, cubes, pes) or "
            "fields of topology 'sip_2x4x4'",
        ),
        (
            ["gemm", "--set", "pes=all"],
            "--set pes: got 'all', expected a number, alone or in one of: cycle, k, M, G, Ki, Mi, Gi",
        ),
        (["gemm", "--set", "shapes=64x64"], "--set shapes: got '64x64', expected M, K and N, such as 64x128x64"),
        (["allreduce", "--set", "bytes_per_pe=0"], "--set bytes_per_pe: got '0', expected 1 or more"),
        (
            ["attention", "-t", "tiny", "--set", "phases=prefil"],
            "attention has no phase 'prefil'; did you mean 'prefill'? Known: decode, prefill",
        ),
        (["gemm", "-t", "tiny", "--set", "sips=2"], "matmul-composite got sips=2; give 1 to 1, or 0 for all"),
        (["gemm", "--mode", "nope"], "unknown mode 'nope'; known: flit, hybrid"),
        (
            ["attention", "--mode", "analytic"],
            "an evaluation measures what happens, and in analytic mode nothing does; use mode hybrid",
        ),
    ],
)
def test_what_cannot_be(arguments: list[str], sentence: str, own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *arguments]) == 2
    assert capsys.readouterr().err.splitlines()[-1].partition(" (topology.")[0] == f"error: {sentence}"
    assert not list(own.iterdir())
