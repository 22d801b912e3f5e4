"""`kernbench run` of task graphs and measured graphs: output, files, exit codes."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import polars
import pytest

from kernbench.cli.main import main
from kernbench.frontends.request import plan_repetition
from kernbench.library import find
from kernbench.pto.results.what_if import CLOCKS, CORES, FASTER, LARGER
from kernbench.runs.explained_files import add_explanation
from kernbench.web.run_view import RunView
from kernbench.web.sources import RunSource
from tests.trace.decoded import decode


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: object) -> int:
    return main(["run", *map(str, arguments)])


def write_graph(**more: object) -> str:
    tasks = [
        {"id": 0, "name": "a", "core": "aic", "blocks": 3, "duration_us": 5},
        {"id": 1, "name": "b", "core": "mix", "duration_us": {"mean": 4, "min": 3, "max": 6}, "deps": [0]},
    ]
    Path("g.json").write_text(json.dumps({"machine": "ascend_tiny", "tasks": tasks, **more}))
    return "g.json"


def test_replay_prints_span_utilisation_and_stages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(write_graph()) == 0
    out = capsys.readouterr().out
    assert out.startswith("g.json on ascend_tiny, hybrid mode\nruntime ")
    assert [line.split()[:4] for line in out.splitlines() if line.startswith(("a ", "b "))] == [
        ["a", "aic", "1", "3"],
        ["b", "aic+aiv", "1", "1"],
    ]


def test_replay_as_json_and_in_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(write_graph(), "--json", "--out", "kept", "--set", "topology.pto_runtime.switch_ns=900") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["topology"] == "ascend_tiny"
    assert {"span_us", "utilisation", "stages", "threads", "blocked"} <= told.keys()
    kept = json.loads(Path("kept", "result.json").read_text())
    assert {name: kept[name] for name in kept if name.startswith("bottleneck")} == {
        "bottleneck": told["bottleneck"],
        "bottleneck_part": "cluster0.aic",
        "bottleneck_utilisation": told["bottleneck_utilisation"],
    }
    assert [stage["name"] for stage in told["stages"]] == ["a", "b"]
    assert {"occupancy.parquet", "summary.json", "swimlane.svg"} <= {path.name for path in Path("kept").iterdir()}
    assert Path("kept", "swimlane.svg").read_text(encoding="utf-8").startswith("<svg ")


@pytest.mark.parametrize("what", ["run", "replay"])
def test_a_run_is_kept_and_can_be_repeated(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["vector_example", "--set", "case=Small"] if what == "run" else [write_graph()]
    fields = ["--set", "topology.pto_runtime.switch_ns=900"]
    assert run(*arguments, "-t", "ascend_tiny", *fields, "--out", "kept") == 0
    view = RunView(RunSource("kept", Path("kept").resolve()))
    about = view.about()
    assert about["missing"] == {}
    assert about["explain"]["what_if"] is None
    busy, parts = (polars.read_ipc(io.BytesIO(view.arrow(name))) for name in ("busy", "parts"))
    assert {"aicpu0", "aicpu1", "cluster0.aic" if what == "replay" else "cluster0.aiv0"} <= set(
        parts[busy["part"].unique()]["name"]
    )
    assert main([*plan_repetition(about).arguments, "--explain", "--what-if", "--out", "again"]) == 0
    add_explanation(Path("kept"), Path("again"))
    told = view.about()["explain"]["what_if"]["alternatives"]
    assert {one["name"] for one in told} == {*FASTER, *LARGER, CORES}
    assert [one["change"] for one in told] == sorted(one["change"] for one in told)
    assert told[0]["fields"].keys() == set((FASTER | LARGER | {CORES: CLOCKS})[told[0]["name"]])


@pytest.mark.parametrize("what", ["run", "replay"])
def test_a_run_is_explained(what: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["vector_example", "--set", "case=Small"] if what == "run" else [write_graph()]
    assert run(*arguments, "-t", "ascend_tiny", "--explain", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    explain = told["explain"]
    assert explain["critical_path_ns"] == pytest.approx(1000 * told["run_us"], rel=1e-12)
    assert sum(explain["critical_path"].values()) == pytest.approx(explain["critical_path_ns"])
    assert {one["name"] for one in explain["what_if"]["alternatives"]} == {*FASTER, *LARGER, CORES}
    assert "what_if" not in told  # of --what-if
    assert run(*arguments, "-t", "ascend_tiny", "--explain", "--what-if", "--out", "kept") == 0
    out = capsys.readouterr().out
    assert "\n\ncritical path by operation\noperation" in out
    assert out.count("twice as fast or large, simulated\npart ") == 1
    assert "roofline" not in out
    assert run(*arguments, "-t", "ascend_tiny", "--what-if", "--json") == 0
    assert json.loads(capsys.readouterr().out)["what_if"] == explain["what_if"]
    assert run(*arguments, "-t", "ascend_tiny", "--what-if") == 0
    table = out[out.index("\nwhat if a part") : out.index("\n\nutilisation")]
    assert table in capsys.readouterr().out
    assert json.loads(Path("kept", "result.json").read_text())["explain"] == explain
    monkeypatch.setattr("kernbench.runs.explanation.MOST_EVENTS", 0)
    assert run(*arguments, "-t", "ascend_tiny", "--explain") == 0
    assert (
        "\nnot simulated: a table takes many runs, and this one is long; --what-if simulates it\n"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("what", ["run", "replay"])
def test_a_trace_is_filtered(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["vector_example", "--set", "case=Small"] if what == "run" else [write_graph()]
    only = ["--trace-filter", "kind=kernel", "--trace-filter", "part=cluster0"]
    assert run(*arguments, "-t", "ascend_tiny", "--trace", "g.pftrace", *only) == 0
    found = decode(Path("g.pftrace"))
    assert {one.category for one in found.slices} == {"run", "kernel"} | ({"transfer"} if what == "run" else set())
    assert all(found.path(one).startswith("cluster0.") for one in found.slices if one.category == "kernel")
    assert not found.counters


def test_run_verifies_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("vector_example", "--set", "case=Small", "-t", "ascend_tiny") == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "vector-example on ascend_tiny, hybrid mode  case=Small\nruntime     tensormap_and_ringbuffer  5 tasks in 5 blocks\n"
    )
    assert re.search(r"\nbottleneck +\d+\.\d% busy  scheduler, most of all aicpu\d\n", out)
    assert re.search(r"\nnumbers +right  every output is as the golden one\n", out)


def test_a_time_limit_ends_an_orchestration_that_loops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped = find("benches/pto", "vector_example").read_text(encoding="utf-8")
    head = "def aicpu_orchestration_entry(rt, args, arg_count):\n"
    (tmp_path / "loops.py").write_text(shipped.replace(head, f"{head}    while True:\n        pass\n"))
    assert run(str(tmp_path / "loops.py"), "-t", "ascend_tiny", "--time-limit", "0.5") == 1
    assert ": it takes longer than its time limit of 0.5 s; if nothing in it loops for ever" in capsys.readouterr().err
    assert run("vector_example", "--time-limit", "5x") == 2


def test_the_environment_sets_the_window(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTO2_RING_TASK_WINDOW", "8")
    monkeypatch.setenv("PA_CASE", "CaseBatch256")
    assert run("paged_attention", "--no-data") == 1
    assert "FATAL: Flow Control Deadlock Detected!" in capsys.readouterr().err
    assert run("paged_attention", "--no-data", "--set", "topology.pto_runtime.task_window=32", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tasks"] == 208
    assert told["verified"] is None
    assert told["host_in_us"] > told["host_out_us"] > 1
    assert told["shared_memory_bytes"] == 128 + 32 * 4352 + 65537 * 8 + 56


def test_a_case_of_the_environment_that_the_bench_lacks_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PA_CASE", "CaseBatch256")
    assert run("vector_example", "-t", "ascend_tiny", "--no-data") == 2
    assert capsys.readouterr().err.strip() == (
        "error: PA_CASE=CaseBatch256 names no case of the bench; known: Default, Small; unset it, or give --set case=NAME"
    )
    assert run("vector_example", "-t", "ascend_tiny", "--set", "case=Small") == 0


def test_a_block_dim_that_the_machine_lacks_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.compile(r"\nclusters +2  all of the machine; the bench has a block_dim of 24\n")
    for topology, clusters in (("ascend_tiny", 2), ("ascend_910b2", 24)):
        assert run("vector_example", "-t", topology, "--set", "case=Small") == 0
        assert bool(shown.search(capsys.readouterr().out)) == (clusters == 2)
        assert run("vector_example", "-t", topology, "--set", "case=Small", "--json") == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["clusters"], told["block_dim"]) == (clusters, 24)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["no.json"], 2, "no.json: a program file cannot be read: No such file or directory"),
        (
            ["vector_example", "-t", "ascend_tiny", "--set", "topology.pto_runtime.task_window=12"],
            2,
            "FATAL: invalid arguments: task_window is 12, expected a power of two; give 8 or 16 (fatal code 5)",
        ),
        (["vector_example", "-t", "ascend_tiny", "--mode", "fast"], 2, "unknown mode 'fast'"),
        (["vector_example", "--set", "case=Large"], 2, "has no case 'Large'"),
        (
            ["vector_example", "-t", "tiny"],
            2,
            "machine tiny is of family 'sip'; task graphs run on family 'ascend', such as ascend_910b2",
        ),
        (["vector_example", "--trace-filter", "kind=phase"], 2, "give --trace FILE with it"),
        (
            ["vector_example", "--trace", "x", "--trace-filter", "kind=gemm"],
            2,
            "--trace-filter: unknown kind 'gemm'; known: control, counters, kernel, path",
        ),
        (
            ["vector_example", "-t", "ascend_tiny", "--trace", "x", "--trace-filter", "part=cluster7"],
            2,
            "--trace-filter: machine ascend_tiny has no part 'cluster7'",
        ),
    ],
)
def test_bad_input_is_a_sentence(
    arguments: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == code
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert sentence in said
    assert list(Path().iterdir()) == []
