"""Input that once ended in a bug, a hang or a crash: one sentence, and the exit code of bad input."""

from __future__ import annotations

import os
from pathlib import Path

import polars
import pytest

from kernbench.cli.main import main

HUGE = "1" * 5000
SHEET = "kind: {kind}\ndescription: of a test\nparameters:\n  {name}:\n    value: {value}\n    unit: ns\n    source: chosen\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["run", "vector-add", "--set", f"topology.noc.gbs={HUGE}"],
            "expected a number that is not out of all proportion",
        ),
        (["run", "pe-to-pe", "-t", "tiny", "--device", f"sip:{HUGE}"], "machine tiny has no device 'sip:1111"),
        (["run", "pe-to-pe", "-t", HUGE], "unknown topology '1111"),
        (["run", "vector-add", "--out", "x" * 400], "File name too long; give a directory you may write to"),
        (["run", "vector-add", "--set", "topology.pe_dma.read_channels=1e19"], "expected less than or equal to 1024"),
        (["compare", "a" * 400, "b"], "give what a sweep, a run or an evaluation has kept (--out)"),
        (["probe", "-t", "tiny", "--flow", "sip0.cube0.pe0:sip0.cube0.pe1:1e999999999"], "bytes: got '1e999999999'"),
        (
            ["probe", "-t", "mesh_8x8", "--pattern", "uniform", "--load", "0.1", "--packet-flits", str(1 << 63)],
            "at most 1,000",
        ),
    ],
)
def test_arguments_out_of_all_proportion(
    arguments: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr().err.splitlines()[-1]  # after a word on compiling
    assert told.startswith("error: ")
    assert said in told
    assert len(told) < 500
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["../../elsewhere", "/elsewhere", ".hidden", "a\\b", "n" * 101])
def test_a_grid_writes_into_no_other_directory(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "g.yaml").write_text(f"name: '{name}'\nbench: vector-add\ntopology: tiny\nparameters: {{n: [1024]}}\n")
    assert main(["sweep", "g.yaml"]) == 2
    assert "g.yaml:1:7: name: got " in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["g.yaml"]


@pytest.mark.parametrize("value", ["{x: 1}", "[1, -.inf]"])
def test_a_collection_in_a_sheet(value: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "models").mkdir()
    (folder / "models" / "io_cpu.yaml").write_text(SHEET.format(kind="io_cpu", name="overhead_ns", value=value))
    assert main(["run", "vector-add", "-t", "tiny"]) == 2
    assert "io_cpu.overhead_ns: got " in capsys.readouterr().err


def test_a_field_whose_name_looks_like_a_type(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "t.yaml").write_text("family: mesh\ndescription: of a test\nk: 8\nflit_bytes: 256\ninjection_[ns: 1\n")
    assert main(["diagram", "-t", "t.yaml"]) == 2
    assert "t.yaml:5:1: injection_[ns: unknown field; did you mean 'injection_ns'?" in capsys.readouterr().err


@pytest.mark.parametrize("overrides", ["[]", "18446744073709551616"])
def test_results_of_another_shape(overrides: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "result.json").write_text(f'{{"overrides": {overrides}, "parameters": {{}}}}')
    assert main(["compare", ".", "."]) == 2
    assert (
        "result.json is not the table of a sweep nor the figures of a run or an evaluation (" in capsys.readouterr().err
    )


@pytest.mark.parametrize("load", ["1e-300", "5e-324"])  # divided by the flits of a packet, the latter is 0
def test_hardly_any_load_makes_hardly_any_packets(load: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["probe", "-t", "mesh_8x8", "--pattern", "tornado", "--load", load, "--window", "40"]
    assert main(arguments) in (0, 1, 2)
    assert "bug" not in capsys.readouterr().err


@pytest.mark.parametrize("swapped", [False, True])
def test_a_figure_on_one_side_alone_is_no_pass(swapped: bool, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, latency in (("a.json", "null"), ("b.json", "5.0")):
        (folder / name).write_text(
            f'{{"overrides": {{}}, "parameters": {{}}, "mode": "hybrid", "latency_ns": {latency}}}'
        )
    sides = ["b.json", "a.json"] if swapped else ["a.json", "b.json"]
    assert main(["compare", *sides, "--threshold", "1%"]) == 1
    assert "1 of 1 points moved by more than allowed (latency_ns 1%) or failed" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["\0", "\ud800", "a\udcffb"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "{}"],
        ["run", "vector-add", "-t", "{}"],
        ["run", "vector-add", "-t", "tiny", "--set", "{}=1"],
        ["run", "vector-add", "-t", "tiny", "--set", "topology.io_cpu.overhead_ns={}"],
        ["run", "vector-add", "-t", "tiny", "--out", "{}"],
        ["diagram", "-t", "tiny", "--view", "cube", "--out", "{}"],
        ["probe", "-t", "tiny", "--flow", "{}"],
        ["sweep", "{}"],
        ["compare", "{}", "b"],
        ["{}"],
        ["--{}"],
    ],
)
def test_arguments_that_no_file_can_hold(
    arguments: list[str], text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([argument.format(text) for argument in arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: the argument '")
    assert told.endswith("; leave it out\n")
    assert told.count("\n") == 1
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", [b"\xff.yaml", b"\xff"])
def test_names_of_files_that_are_not_utf_8(name: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kind in (b"topology", b"sweeps", b"models", b"benches"):
        (folder / os.fsdecode(kind)).mkdir()
        Path(os.fsdecode(os.path.join(os.fsencode(folder), kind, name))).write_text("x: 1\n")
    assert main(["list"]) == 0
    assert main(["diagram", "-t", "tiny", "--view", "cube"]) == 0
    assert main(["run", "vector-add", "-t", "tini"]) == 2
    assert "did you mean 'tiny'" in capsys.readouterr().err


def test_a_result_that_is_nested_too_deeply(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "result.json").write_text("[" * 100_000)
    assert main(["compare", ".", "."]) == 2
    assert (
        "result.json is not the table of a sweep nor the figures of a run or an evaluation (" in capsys.readouterr().err
    )


OVERFLOWING = """
import numpy as np
from kernbench import DPPolicy, bench


def kernel(x, n, tl):
    np.float16(60000) * np.float16(60000)
    tl.load(x, (n,), "f16")


@bench("overflowing", "numbers that do not fit")
def run(torch, n=256):
    np.float32(1) / np.float32(0)
    dp = DPPolicy(cube="replicate", pe="replicate", num_cubes=1, num_pes=1)
    x = torch.zeros((n,), dtype="f16", dp=dp, name="x")
    torch.expect(x, lambda: np.zeros(n) + 0 * np.log(np.zeros(n)).clip(0))
    torch.launch("kernel", kernel, x, n)
"""


@pytest.mark.parametrize("live", [[], ["--live"]])
def test_numbers_that_do_not_fit_are_silent(live: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "o.py").write_text(OVERFLOWING)
    code = main(["run", "o.py", "-t", "tiny", "--verify-data", *live])  # warnings are errors here
    assert (code, "Warning" in capsys.readouterr().err) == (0, False)


def test_a_panic_of_polars_is_bad_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def panic(*_: object, **__: object) -> None:
        raise polars.exceptions.PanicException("index out of bounds")

    monkeypatch.setattr(polars, "read_parquet", panic)
    monkeypatch.setattr(polars, "read_csv", panic)
    (folder / "table.parquet").touch()
    (folder / "flows.csv").write_text("src,dst,bytes,start_ns\n")
    assert main(["compare", ".", "."]) == 2
    assert (
        "is not the table of a sweep nor the figures of a run or an evaluation (index out of bounds)"
        in capsys.readouterr().err
    )
    assert main(["probe", "-t", "tiny", "--flows", "flows.csv"]) == 2
    assert "flows.csv is no CSV file: index out of bounds" in capsys.readouterr().err
