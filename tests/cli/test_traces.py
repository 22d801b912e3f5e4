"""`kernbench run --trace` on a small machine: the file, and what it cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernbench.cli.main import main
from kernbench.frontends.run import run_bench
from tests.trace.decoded import decode

RUN = ("run", "gemm-single-pe", "-t", "tiny", "--set", "M=32")


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    """The exit code of `kernbench run gemm-single-pe -t tiny …`."""
    return main([*RUN, *arguments])


def test_a_run_leaves_a_trace(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--trace", "new/run.pftrace", "--json") == 0
    assert json.loads(capsys.readouterr().out)["files"] == {"trace": "new/run.pftrace"}
    whole = decode(own / "new/run.pftrace")
    assert run("--trace", "some.pftrace", "--trace-filter", "kind=gemm", "--trace-filter", "part=sip0.cube0.pe0") == 0
    assert capsys.readouterr().out.endswith("\nwrote some.pftrace; open it at https://ui.perfetto.dev\n")
    some = decode(own / "some.pftrace")
    assert [one.name for one in some.slices] == ["start", "gemm"]
    assert some.slices[0].start_ns == 0  # whatever is left out, Perfetto counts from there
    assert {one.category for one in whole.slices} > {"gemm"}
    assert sorted(path.name for path in own.rglob("*")) == ["new", "run.pftrace", "some.pftrace"]


@pytest.mark.parametrize("name", ["x.json", "x"])
def test_a_name_that_says_something_else_is_told(own: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run("--trace", name, "--trace-filter", "kind=gemm") == 0
    said = f"wrote {name}, which has Perfetto's binary format, whatever {'.json' if name == 'x.json' else 'its name'} says; "
    assert capsys.readouterr().out.splitlines()[-1] == said + "open it at https://ui.perfetto.dev"
    assert decode(own / name).slices


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--trace", "."), "--trace takes a file, and . is a directory"),
        (("--trace", "taken/x"), "--trace takes a file in a directory, and {own}/taken is a file"),
        (("--trace", "a\0b"), "has a NUL character"),
        (("--trace-filter", "kind=gemm"), "--trace-filter says what of a run a trace holds; give --trace FILE with it"),
        (("--trace", "x", "--trace-filter", "kind=gem"), "--trace-filter: unknown kind 'gem'; did you mean 'gemm'?"),
        (("--trace", "x", "--trace-filter", "part=sip9"), "--trace-filter: machine tiny has no part 'sip9'"),
        (("--trace", "x", "--mode", "analytic"), "--trace needs events, and analytic mode has none; use mode hybrid"),
    ],
)
def test_what_cannot_be_traced(
    own: Path, arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / "taken").touch()
    assert run(*arguments) == 2
    told = capsys.readouterr().err.replace("\n", " ")
    assert sentence.format(own=own) in told
    assert [path.name for path in own.iterdir()] == ["taken"]


def test_a_disk_that_refuses_leaves_nothing(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_trace: Any, file: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kernbench.trace.perfetto.write_perfetto", refuse)
    assert run("--trace", "run.pftrace") == 1
    assert "run.pftrace cannot be written: No space left on device; nothing was kept" in capsys.readouterr().err
    assert list(own.iterdir()) == []


def test_equal_runs_have_equal_traces(own: Path) -> None:
    for name in ("a", "b"):
        run_bench("gemm-single-pe", "tiny", parameters={"M": 32}, live=name == "b").write_trace(own / name)
    assert (own / "a").read_bytes() == (own / "b").read_bytes()
