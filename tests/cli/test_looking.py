"""Commands that look run no code of the working directory: they read what it declares."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernbench import library
from kernbench.cli.main import main

MARKS = "\nwith open({!r}, 'a', encoding='utf-8') as mark:\n    mark.write({!r})\n"
OWN = {
    "benches/mine.py": "benches/gemm_single_pe.py",
    "benches/tanto/own.py": "benches/tanto/convolutions.py",
    "benches/pto/graph.py": "benches/pto/blocked_gemm.py",
    "benches/ccl/rings.py": "benches/ccl/ring_allreduce.py",
    "models/array.py": "models/systolic.py",
}
SWEEP = """
description: rows of an array
bench: mine
topology: small
parameters:
  M: [16, 32]
  topology.pe_gemm.rows: [32, 64]
"""


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that appears when a Python file of the working directory runs; there is one of each kind."""
    monkeypatch.chdir(tmp_path)
    for folder in ("topology", "sweeps", "models", "benches/tanto", "benches/pto", "benches/ccl"):
        (tmp_path / folder).mkdir(parents=True)
    for name, shipped in OWN.items():
        text = (library.shipped() / shipped).read_text(encoding="utf-8").replace("gemm-single-pe", "mine")
        Path(name).write_text(text.replace("tanto-", "tanto-own-") + MARKS.format(str(tmp_path / "ran"), name))
    Path("models/array.yaml").write_text((library.shipped() / "models/systolic.yaml").read_text(encoding="utf-8"))
    tiny = (library.shipped() / "topology/tiny.yaml").read_text(encoding="utf-8")
    Path("topology/small.yaml").write_text(f"{tiny}parts: {{pe_gemm: array}}\n")
    Path("sweeps/own.yaml").write_text(SWEEP)
    return tmp_path / "ran"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("list", "mine"),
        ("list own", "tanto-own-conv"),
        ("list --json", "tanto-own-pool"),
        ("show mine", "columns of A, rows of B"),
        ("show benches/mine.py", "columns of A, rows of B"),
        ("show tanto-own-conv", "columns of the image"),
        ("show graph", "rows and columns of a tile"),
        ("show rings", "All-reduce on two rings"),
        ("show array", "rows of the array"),
        ("show small pe_gemm", "clock of the array"),
        ("show --diff tiny small pe_gemm", "clock of the array"),
        ("show own", "rows of the array"),
        ("run mine --help", "columns of A, rows of B"),
        ("run benches/mine.py --help", "columns of A, rows of B"),
        ("sweep own --dry-run", "only running benches/mine.py, models/array.py tells; --try runs a few points"),
        ("sweep mine --set M=16,32 --dry-run --json", '"not_run"'),
        ("sweep bench:graph -t ascend_910b2 --set tile=32 --dry-run", "only running benches/pto/graph.py tells"),
    ],
)
def test_looking_runs_nothing(command: str, said: str, mark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 0
    assert said in capsys.readouterr().out
    assert not mark.exists()


@pytest.mark.slow
def test_completion_runs_nothing(mark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNBENCH_CACHE", str(mark.parent / "cache"))
    for words in ("kernbench run mine --set topology.pe_gemm.", "kernbench show small pe_", "kernbench show "):
        variables = {"_KERNBENCH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()))}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        done = subprocess.run([sys.executable, "-m", "kernbench"], capture_output=True, text=True, check=False)
        assert done.stdout
        assert not mark.exists()


def test_a_plan_from_the_text_is_that_of_the_run(mark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "own", "--dry-run", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert (read["points"], read["missing"], read["seconds"], read["tried"]) == (4, 4, None, 0)
    assert read["not_run"] == [str(mark.parent / name) for name in ("benches/mine.py", "models/array.py")]
    assert main(["sweep", "own", "--workers", "1"]) == 0
    assert mark.read_text().count("benches/mine.py") >= 1
    mark.unlink()
    capsys.readouterr()
    assert main(["sweep", "own", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing"] == 0  # the keys of points are the same
    assert not mark.exists()


@pytest.mark.slow
def test_try_runs_a_few_points(mark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "own", "--dry-run", "--try", "--json"]) == 0
    tried = json.loads(capsys.readouterr().out)
    assert (tried["not_run"], tried["tried"] > 0) == ([], True)
    assert mark.exists()
    assert main(["sweep", "own", "--try"]) == 2
    assert capsys.readouterr().err == "error: --try goes with --dry-run; without it the points run\n"


def test_what_a_text_does_not_give_is_said(
    mark: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("warnings.filters", [])
    own = Path("benches/mine.py")
    own.write_text(own.read_text().replace("K=128", "K=max(64, 128)"))
    assert main(["show", "mine", "K"]) == 0
    assert "K          max(64, 128)  what only running the file tells" in capsys.readouterr().out
    assert main(["sweep", "own", "--dry-run"]) == 2
    assert capsys.readouterr().err == (
        "error: sweeps/own.yaml:3:8: benches/mine.py:16: the default of parameter 'K' is max(64, 128), which only "
        "running the bench gives; --try runs it\n"
    )
    own.write_text(own.read_text().replace('@bench("mine"', '@bench("mi" + "ne".lower()'))
    assert main(["list"]) == 0
    assert capsys.readouterr().err == (
        "warning: skipped: benches/mine.py:16: the text does not give the name of this bench, and looking runs nothing; "
        "kernbench run benches/mine.py runs it\n"
    )
    graph = Path("benches/pto/graph.py")
    graph.write_text(graph.read_text().replace("ALL_CASES = {", "ALL_CASES = dict(x={}) | {"))
    assert main(["show", "graph"]) == 2
    assert "benches/pto/graph.py: ALL_CASES is dict(x={}) | {" in capsys.readouterr().err
    assert not mark.exists()


def test_a_bench_that_runs_by_its_name_runs_no_other_file(mark: Path) -> None:
    assert main(["run", "vector-add", "-t", "tiny"]) == 0
    assert not mark.exists()
    assert main(["run", "mine", "-t", "tiny"]) == 0
    assert mark.read_text() == "benches/mine.py"
