"""`kernbench run` on a small machine: its output, its files, its errors."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest

from kernbench.cli.main import main
from kernbench.sealing import load_sealed_json

BENCH = """
import numpy as np

from kernbench import DPPolicy, bench

print("being loaded")


def double(x_ptr, y_ptr, n, tl):
    x = tl.load(x_ptr, n, "f16")
    tl.store(y_ptr, x + x)


@bench("double", "y = 2 x on one PE")
def run(torch, *, n=256, factor=2.0, fail=False):
    print("a bench may talk")
    if fail:
        raise ValueError("no such luck")
    one = DPPolicy(num_cubes=1, num_pes=1)
    x = torch.ones(n, "f16", one, name="x")
    y = torch.empty(n, "f16", one, name="y")
    torch.launch("double", double, x, y, n)
    torch.expect(y, lambda: np.full(n, factor))
"""

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with one bench file."""
    (tmp_path / "double.py").write_text(BENCH)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    """The exit code of `kernbench run double.py --topology tiny …`."""
    return main(["run", "double.py", "--topology", "tiny", *arguments])


def test_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--verify-data", "--set", "n=512") == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0] == "double on tiny, hybrid mode  n=512"
    assert lines[1].startswith("latency ")
    assert lines[-1].endswith("right  every output equals its independent reference")
    assert captured.err.startswith("being loaded\n")
    assert captured.err.endswith("a bench may talk\n")


def test_a_bench_that_stands_in_for_a_shipped_one_is_named_with_its_file(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / "benches").mkdir()
    (own / "benches" / "mine.py").write_text(BENCH.replace('"double", "y', '"vector-add", "y'))
    assert main(["run", "vector-add", "--topology", "tiny"]) == 0
    header = capsys.readouterr().out.splitlines()[0]
    assert header == "vector-add (benches/mine.py) on tiny, hybrid mode"


def test_json_is_one_object_with_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json") == 0
    summary = json.loads(capsys.readouterr().out)
    promised = "bench topology mode latency_ns pe_exec_ns events flit_hops wall_s verified parameters achieved_tflops"
    assert set(promised.split()) | {"achieved_gbs", "bottleneck", "files"} <= set(summary)
    assert (summary["bench"], summary["topology"], summary["mode"]) == ("double", "tiny", "hybrid")
    assert summary["verified"] is None
    assert summary["files"] == {}
    assert 0 < summary["pe_exec_ns"] < summary["latency_ns"]


def test_bounds_without_events(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json") == 0
    exact = json.loads(capsys.readouterr().out)
    assert run("--json", "--mode", "analytic") == 0
    bounds = json.loads(capsys.readouterr().out)
    assert bounds["lower_ns"] == bounds["latency_ns"] <= exact["latency_ns"] <= bounds["upper_ns"]
    assert bounds["binding"]
    assert run("--mode", "analytic", "--live") == 2
    assert capsys.readouterr().err.endswith(
        "analytic mode has no events, so it cannot run kernels live; use mode hybrid, or record the kernels\n"
    )


def test_live_and_recorded_take_the_same_time(capsys: pytest.CaptureFixture[str]) -> None:
    latencies = []
    for options in ((), ("--live",)):
        assert run("--json", *options) == 0
        latencies.append(json.loads(capsys.readouterr().out)["latency_ns"])
    assert latencies[0] == latencies[1]


def test_a_slower_memory_takes_longer(capsys: pytest.CaptureFixture[str]) -> None:
    latencies = []
    for figure in ("32", "1 GB/s"):
        assert run("--json", "--set", f"topology.hbm.channel_gbs={figure}", "--set", "n=8192") == 0
        latencies.append(json.loads(capsys.readouterr().out)["latency_ns"])
    assert latencies[0] < latencies[1]


def test_out_keeps_the_log_and_the_result(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "--out", "results/one") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["files"] == {
        "oplog": "results/one/oplog.parquet",
        "result": "results/one/result.json",
        "critical_path": "results/one/critical_path.parquet",
    }
    assert load_sealed_json(own / summary["files"]["result"]) == summary
    log = polars.read_parquet(own / summary["files"]["oplog"])
    assert {"start_fs", "end_fs", "component", "op_kind", "op_name"} <= set(log.columns)
    assert "dma_read" in log["op_name"]


def test_the_log_is_kept_as_csv_too(own: Path) -> None:
    assert run("--out", "r", "--format", "csv") == 0
    log, text = polars.read_parquet(own / "r/oplog.parquet"), polars.read_csv(own / "r/oplog.csv")
    assert (
        text["dependencies"].fill_null("").to_list()
        == log["dependencies"].cast(polars.List(str)).list.join(" ").to_list()
    )


def test_where_the_time_went(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--explain", "--out", "out") == 0
    lines = capsys.readouterr().out.splitlines()
    titles = [
        line
        for line in lines
        if line.startswith(("critical path: ", "what if ", "utilisation over ", "queueing", "roofline"))
    ]
    assert len(titles) == 5
    # 512 B are two bursts of 256 B, each on a channel of its own at 32 GB/s.
    said = "bound by hbm_ctrl channels: the work of 1 PE needs 8.000 ns there at least; kernels took "
    assert lines[lines.index("roofline") + 1].startswith(said)
    assert lines[-2:] == ["wrote out/critical_path.parquet", "wrote out/utilisation.parquet"]
    path = polars.read_parquet(own / "out" / "critical_path.parquet")
    kept = json.loads((own / "out" / "result.json").read_text())
    assert path["spent_ns"].sum() == pytest.approx(kept["latency_ns"])
    assert run("--explain", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["explain"] == kept["explain"]
    assert sum(found["explain"]["critical_path"].values()) == pytest.approx(found["latency_ns"])


def test_what_if_something_were_faster(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a long run it is not part of the explanation, unless it is asked for."""
    assert run("--what-if") == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("what if a field of the topology were twice as fast, simulated")
    assert lines[at + 1].split() == ["field", "latency", "ns", "change"]
    assert "hbm.channel_gbs 32 → 64" in "".join(lines[at + 2 :])
    assert run("--what-if", "--json") == 0
    alone = json.loads(capsys.readouterr().out)["what_if"]
    assert alone["factor"] == 2
    assert list(alone["alternatives"][0]) == ["fields", "latency_ns", "change"]
    assert run("--what-if", "--out", "out", "--json") == 0
    assert json.loads((own / "out" / "result.json").read_text())["what_if"] == alone
    capsys.readouterr()
    assert run("--explain", "--json") == 0
    assert json.loads(capsys.readouterr().out)["explain"]["what_if"] == alone
    monkeypatch.setattr("kernbench.runs.explanation.MOST_EVENTS", 1)
    assert run("--explain") == 0
    assert "and this one is long; --what-if simulates it" in capsys.readouterr().out
    assert run("--explain", "--what-if", "--json") == 0
    assert json.loads(capsys.readouterr().out)["explain"]["what_if"] == alone


def test_wrong_numbers_are_a_failed_check(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--verify-data", "--json", "--set", "factor=3.0") == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["verified"] is False
    assert captured.err.splitlines()[-1] == (
        "error: tensor 'y' at [0]: expected 3, got 2; tolerance 0.002 x max(1, |expected|); 256 of 256 elements differ "
        "by at most 512 units of f16, more than rounding explains"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--mode", "magic"], 2, "unknown mode 'magic'"),
        (["--explain", "--mode", "analytic"], 2, "--explain needs events, and analytic mode has none; use mode hybrid"),
        (["--what-if", "--mode", "analytic"], 2, "--what-if needs events, and analytic mode has none; use mode hybrid"),
        (["--device", "sip:7"], 2, "machine tiny has no device 'sip:7'; known: all, sip:0"),
        (["--topology", "tinny"], 2, "unknown topology 'tinny'; did you mean 'tiny'?"),
        (["--set", "n=many"], 2, "parameter 'n' of bench 'double' is int, as its default 256; got 'many'"),
        (["--set", "topology.hbm.channel_gb=1"], 2, "unknown topology field 'hbm.channel_gb'; did you mean"),
        (["--set", "nn=1"], 2, "bench 'double' has no parameter 'nn'"),
        (["--out", "double.py"], 2, "--out takes a directory, and double.py is a file"),
        (
            ["--time-limit", "soon"],
            2,
            "time limit: got 'soon', expected more than 0 seconds, alone or with s, min or h",
        ),
        (["--op-limit", "0"], 2, "op limit: got '0', expected a whole number of operations, 1 or more"),
        (
            ["--op-limit", "3"],
            1,
            "kernel double on sip0.cube0.pe0, at double.py:11: the kernels of this run issue more than 3 operations, ",
        ),
        (["--set", "fail=true"], 1, "bench 'double' raised ValueError: no such luck, at "),
    ],
)
def test_errors_are_sentences_and_leave_nothing(
    own: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, sentence: str
) -> None:
    out = [] if "--out" in arguments else ["--out", "results/one"]
    assert run("--json", *out, *arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1].startswith(f"error: {sentence}")
    assert "Traceback" not in captured.err
    assert [path.name for path in own.iterdir()] == ["double.py"]


def test_an_unknown_bench_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "vector-ad", "--topology", "tiny"]) == 2
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .startswith("error: unknown bench 'vector-ad'; did you mean 'vector-add'? Known: ")
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("tanto-matmul", "-t", "tiny"), "of family 'sip'; give one such as wormhole_n150"),
        (
            ("tanto-matmul", "-t", "tiny", "--set", "topology.tensix_core.fidelity=lofi"),
            "give one such as wormhole_n150",
        ),
        (("vector-add", "-t", "tensix_tiny", "--set", "topology.hbm.channel_gbs=1"), "runs Tanto programs, and bench"),
        (("tanto-matmul", "-t", "mesh_8x8"), "run on family 'tensix', such as wormhole_n150"),
        (("gemm-single-pe", "-t", "tensix_tiny"), "give a topology of family 'sip', such as sip_2x4x4, or declare it"),
        (("vector_example", "-t", "tiny"), "task graphs run on family 'ascend', such as ascend_910b2"),
    ],
)
def test_a_bench_on_a_machine_of_another_family_names_what_runs_it(
    arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 2
    assert sentence in capsys.readouterr().err
