"""`kernbench probe --noc-trace`: what it prints, keeps and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest

from kernbench.cli.main import main
from tests.traffic.noc_trace.support import reading, write_trace

REFUSED = [
    (("--closed-loop",), "--closed-loop says how NoC traces are replayed; give --noc-trace with it"),
    (("--noc-trace", "a.json", "--explain"), "--noc-trace says what was waited for by itself and writes no --trace"),
    (("--noc-trace", "a.json", "--flow", "0:1:1KiB"), "probe sends one kind of traffic"),
]


@pytest.fixture(autouse=True)
def traces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kernbench.cli.output.compiling.announce_compiling", lambda: None)
    monkeypatch.chdir(tmp_path)
    Path("traces").mkdir()
    for name, nbytes in (("a", 2048), ("c", 4096)):
        write_trace(Path("traces", f"{name}.json"), *reading((2, 1), (1, 1), nbytes))


def test_a_table_for_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "--noc-trace", "traces"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "NoC traces on wormhole_n150, hybrid mode, issue times of the trace"
    assert [line.split()[0] for line in lines[1:4]] == ["trace", "a", "c"]
    assert lines[4].startswith("mean absolute error ")


def test_several_files_follow_one_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "--noc-trace", "traces/c.json", "traces/a.json"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:4]] == ["c", "a"]
    assert main(["probe", "traces/a.json"]) == 2
    assert capsys.readouterr().err == (
        "error: probe takes files by an option, and got traces/a.json; give --flows FILE or --noc-trace FILE\n"
    )


def test_one_trace_by_link(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "--noc-trace", "traces/a.json", "-t", "wormhole_n150", "--closed-loop"]) == 0
    text = capsys.readouterr().out
    assert "closed loop" in text
    assert "waiting in the network by link, summed over flits" in text


def test_one_object_and_what_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["probe", "--noc-trace", "traces/a.json", "--noc-trace", "traces/c.json", "--out", "kept", "--json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert [trace["trace_cycles"] for trace in found["traces"]] == [480, 480]
    assert found["mean_absolute_error"] == sum(abs(trace["error"]) for trace in found["traces"]) / 2
    assert {"total_ns", "links"} == set(found["traces"][0]["network"])
    assert polars.read_parquet("kept/noc_traces.parquet")["error"].to_list() == [t["error"] for t in found["traces"]]
    assert json.loads(Path("kept/result.json").read_text())["files"] == found["files"]


def test_a_bad_trace_is_told_and_the_rest_runs(capsys: pytest.CaptureFixture[str]) -> None:
    Path("traces/b.json").write_text("[")
    assert main(["probe", "--noc-trace", "traces"]) == 2
    said = capsys.readouterr()
    assert "mean absolute error" in said.out
    assert [line[0] for line in said.out.splitlines()[2:4]] == ["a", "c"]
    assert said.err.splitlines()[-2:] == [
        "error: traces/b.json:1: the trace ends early: Expecting value, column 2",
        "error: 1 of 3 traces cannot be replayed, as said above",
    ]


def test_a_bad_trace_alone_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.json").write_text("")
    assert main(["probe", "--noc-trace", "b.json"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "error: b.json is empty; a NoC trace is a JSON array of events\n"


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED)
def test_what_does_not_go_together(
    arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"error: {sentence}")


def test_a_directory_without_traces(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert main(["probe", "--noc-trace", "empty"]) == 2
    assert capsys.readouterr().err.startswith("error: empty holds no trace of a NoC; ")
