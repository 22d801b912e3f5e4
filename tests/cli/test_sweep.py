from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars
import pytest
import yaml

from kernbench.cli.main import main
from kernbench.errors import RunError
from kernbench.sweep.design.points import Points
from kernbench.sweep.trial import Trial
from tests.sweep import fakes


@pytest.fixture(autouse=True)
def fake_runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Runs take no time; M = 13 fails and M = 14 is where someone types Ctrl-C. Returns the Ms that ran."""
    ran: list[int] = []

    def run_bench(bench: str, topology: str, *, parameters: dict[str, Any], **_: Any) -> object:
        ran.append(parameters["M"])
        if parameters["M"] == 13:
            raise RunError("thirteen brings bad luck")
        if parameters["M"] == 14:
            raise KeyboardInterrupt
        return fakes.result(float(parameters["M"]))

    fakes.patch_runs(monkeypatch, run_bench)
    monkeypatch.setattr("kernbench.cli.output.compiling.announce_compiling", lambda: None)
    monkeypatch.setattr("kernbench.report.figures.style.save", save)
    return ran


def save(figure: object, stem: Path) -> list[Path]:
    """A plot that takes no time."""
    path = stem.with_suffix(".svg")
    path.write_text("<svg></svg>", encoding="utf-8")
    return [path]


def write_grid(directory: Path, **parameters: object) -> str:
    path = directory / "toygrid.yaml"
    path.write_text(yaml.safe_dump(fakes.toy_grid(directory, **parameters)), encoding="utf-8")
    return str(path)


def run(*arguments: object) -> int:
    return main(["sweep", *map(str, arguments), "--workers", "1"])


def test_a_sweep_shows_its_best_points_and_where_the_files_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(write_grid(tmp_path, M=[2, 1]), "--out", out) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        f"toy: {tmp_path / 'toy.py'} on tiny, hybrid mode: 2 points",
        "1/2  M=2  2.0 ns",
        "2/2  M=1  1.0 ns",
    ]
    lines = printed.out.splitlines()
    assert lines[0] == "best 2 of 2 points by achieved_tflops"
    names = ["table.parquet", "latency.svg", "pareto.parquet", "report.md", "report.html"]
    assert lines[-5:] == [f"wrote {out / name}" for name in names]


def test_what_is_there_does_not_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fake_runs: list[int]
) -> None:
    grid, out = write_grid(tmp_path, M=[2, 1]), tmp_path / "out"
    run(grid, "--out", out)
    capsys.readouterr()
    assert run(grid, "--out", out) == 0
    assert fake_runs == [2, 1]
    assert capsys.readouterr().err == f"toy: {tmp_path / 'toy.py'} on tiny, hybrid mode: 2 points, 2 already in {out}\n"


def test_json_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(write_grid(tmp_path, M=[2, 1]), "--out", out, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    best = printed.pop("best")
    assert printed.pop("wall_s") > 0
    assert len(printed.pop("front")) == 2
    assert (best["M"], best["latency_ns"], best["status"]) == (2, 2.0, "ok")
    assert printed == {
        "sweep": "toy",
        "bench": str(tmp_path / "toy.py"),
        "topology": "tiny",
        "mode": "hybrid",
        "points": 2,
        "ran": 2,
        "failed": 0,
        "changed": [],
        "objectives": ["max achieved_tflops"],
        "free": [],
        "unequal_work": None,
        "sensitivity": [],
        "files": {
            "table": str(out / "table.parquet"),
            "lines (svg)": str(out / "latency.svg"),
            "front": str(out / "pareto.parquet"),
            "report": str(out / "report.md"),
            "page": str(out / "report.html"),
        },
    }


def test_hardware_that_costs_nothing_by_default_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    axes = {"M": [1, 2], "topology.hbm.channels": [2, 4], "topology.pe_gemm.tflops_f16": [1, 2]}
    path, out = write_grid(tmp_path, **axes), tmp_path / "out"
    assert run(path, "--out", out) == 0
    sentence = (
        "the grid has no objectives; in the default, max achieved_tflops, hardware counts as free, so that twice as much of "
        "hbm.channels, pe_gemm.tflops_f16 costs nothing: "
        "give derived: {cost: …} and objectives: [max achieved_tflops, min cost]"
    )
    assert sentence in capsys.readouterr().out.splitlines()
    assert f"* {sentence}" in (out / "report.md").read_text(encoding="utf-8").replace("\\", "").splitlines()
    assert sentence in (out / "report.html").read_text(encoding="utf-8")
    assert run(path, "--out", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["free"] == ["topology.hbm.channels", "topology.pe_gemm.tflops_f16"]


@pytest.mark.slow
def test_a_front_over_unequal_work_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["gemm-single-pe", "--topology", "tiny", "--mode", "analytic", "--workers", "1", "--out", tmp_path / "out"]
    asked += ["--set", "M=16,64", "--set", "topology.hbm.channel_gbs=8,16"]
    asked += ["--objective", "min latency_ns", "--objective", "min topology.hbm.channel_gbs"]
    assert run(*asked) == 0
    sentence = (
        "the points do unequal work, up to 4 times as many useful flops by M, and in min latency_ns less work counts"
    )
    assert sentence in capsys.readouterr().out
    assert sentence in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert run(*asked, "--json") == 0
    assert json.loads(capsys.readouterr().out)["unequal_work"] == {"times": pytest.approx(4), "parameters": ["M"]}
    assert run(*asked, "--set", "M=16") == 0
    assert "unequal work" not in capsys.readouterr().out


def test_failed_points_are_counted_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(write_grid(tmp_path, M=[1, 13]), "--out", tmp_path / "out") == 1
    assert capsys.readouterr().err.splitlines()[-3:] == [
        "2/2  M=13  error",
        "M=13: thirteen brings bad luck",
        "error: 1 of 2 points failed; the column error of the table says why",
    ]


def test_points_that_are_no_answer_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = {**fakes.toy_grid(tmp_path, M=[1, 2]), "derived": {"cost": "1 / (M - 2)", "none": "dtype"}}
    path = tmp_path / "grid.yaml"
    path.write_text(yaml.safe_dump({**grid, "constraints": "latency_ns < 1"}), encoding="utf-8")
    assert run(path, "--out", tmp_path / "out") == 0
    sentences = [
        "1 point without cost, since '1 / (M - 2)' has no value there, as at M = 2",
        "2 points without none, since 'dtype' has no value there",
        "none of 2 points keeps the conditions on results",
    ]
    assert capsys.readouterr().err.splitlines()[-3:] == sentences
    report = (tmp_path / "out" / "report.md").read_text()
    assert all(f"* {sentence}\n" in report for sentence in sentences)


def test_failed_points_run_again_on_request(tmp_path: Path, fake_runs: list[int]) -> None:
    grid, out = write_grid(tmp_path, M=[1, 13]), tmp_path / "out"
    assert [run(grid, "--out", out) for _ in range(2)] == [1, 1]
    assert fake_runs == [1, 13]
    run(grid, "--out", out, "--retry")
    assert fake_runs == [1, 13, 13]


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(write_grid(tmp_path, M=[1, 14, 2]), "--out", out) == 130
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"interrupted: finished points are kept in {out}; the same command goes on"
    )
    assert polars.read_parquet(out / "table.parquet")["M"].to_list() == [1]


def test_changed_inputs_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid, out = write_grid(tmp_path, M=[1, 2]), tmp_path / "out"
    run(grid, "--out", out)
    bench = tmp_path / "toy.py"
    bench.write_text(fakes.TOY + "# edited\n", encoding="utf-8")
    capsys.readouterr()
    run(grid, "--out", out)
    assert f"bench {bench} changed since the last run here: 2 points run anew\n" in capsys.readouterr().err


def tried(monkeypatch: pytest.MonkeyPatch, *trials: Trial) -> None:
    """Let trials have this result."""
    monkeypatch.setattr("kernbench.sweep.estimate.try_groups", lambda groups, ends, most_s: trials)


@pytest.fixture
def guess(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is tried for an estimate."""
    tried(monkeypatch, Trial(2.0, 0.5, 300_000_000))


def test_a_dry_run_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fake_runs: list[int], guess: None
) -> None:
    grid, out = write_grid(tmp_path, M=[1, 2], **{"topology.hbm.channel_gbs": [4, 8]}), tmp_path / "out"
    assert run(grid, "--out", out, "--dry-run", "--try") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path / 'toy.py'} on tiny, hybrid mode: M 1, 2; topology.hbm.channel_gbs 4, 8",
        "4 points, 2 programs, 2 machines",
        f"4 of the points are not in {out} yet",
        "about 5.0 s and 300 MB in this process, from a few points tried just now",
    ]
    assert run(grid, "--out", out, "--dry-run", "--try", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "sweep": "toy",
        "workload": str(tmp_path / "toy.py"),
        "topology": "tiny",
        "mode": "hybrid",
        "points": 4,
        "missing": 4,
        "programs": 2,
        "machines": 2,
        "workers": 1,
        "seconds": 5.0,
        "least_seconds": None,
        "peak_bytes": 300_000_000,
        "tried": 1,
        "errors": [],
        "not_run": [],
        "out": str(out),
    }
    assert (fake_runs, out.exists()) == ([], False)


@pytest.mark.parametrize(
    ("trials", "said", "seconds", "least"),
    [
        (
            [Trial(2.5, 2.0, 3 * 10**8, share=0.25)],
            [
                "about 17.0 s, at least 5.0 s, and 300 MB in this process: a point had done 25% of its simulation after 2.5 s"
            ],
            17.0,
            5.0,
        ),
        (
            [Trial(4.0, 0.0, 3 * 10**8, share=0.0)],
            ["at least 8.0 s and 300 MB in this process: after 4.0 s a point had not begun to simulate"],
            None,
            8.0,
        ),
        (
            [Trial(1.0, 0.5, 3 * 10**8, error="no luck"), Trial(3.0, 0.5, 2 * 10**8)],
            [
                "about 4.0 s and 300 MB in this process, from a few points tried just now",
                "1 of 2 points tried fails: no luck",
            ],
            4.0,
            None,
        ),
    ],
)
def test_a_dry_run_tells_what_is_known_of_points_that_take_long_or_fail(
    trials: list[Trial],
    said: list[str],
    seconds: float | None,
    least: float | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried(monkeypatch, *trials)
    grid, out = write_grid(tmp_path, M=[1, 2]), tmp_path / "out"
    assert run(grid, "--out", out, "--dry-run", "--try") == 0
    assert capsys.readouterr().out.splitlines()[3:] == said
    assert run(grid, "--out", out, "--dry-run", "--try", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["seconds"], told["least_seconds"]) == (seconds, least)
    assert told["errors"] == [trial.error for trial in trials if trial.error]


def test_a_dry_run_of_mode_auto_tells_bounds_and_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def guess(groups: list[Points], _ends: float, _most_s: object) -> list[Trial]:
        return [Trial(1.0 if groups[0].context.mode == "analytic" else 3.0, 0.5, 300_000_000)]

    monkeypatch.setattr("kernbench.sweep.estimate.try_groups", guess)
    path, out = tmp_path / "auto.yaml", tmp_path / "out"
    asked = {"mode": "auto", "objectives": "min latency_ns"}
    path.write_text(yaml.safe_dump({**fakes.toy_grid(tmp_path, M=[1, 2]), **asked}), encoding="utf-8")
    assert run(path, "--out", out, "--dry-run", "--try") == 0
    assert capsys.readouterr().out.splitlines()[3:] == [
        "bounds: about 2.0 s and 300 MB in this process, from a few points tried just now",
        "events, if bounds decided nothing: about 6.0 s and 300 MB in this process, from a few points tried just now",
    ]
    assert run(path, "--out", out, "--dry-run", "--try", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["seconds"] == 2.0
    most = {"points": 2, "seconds": 6.0, "least_seconds": None, "peak_bytes": 300_000_000, "tried": 1, "errors": []}
    assert told["most_events"] == most


def test_a_dry_run_of_a_search(tmp_path: Path, capsys: pytest.CaptureFixture[str], guess: None) -> None:
    search = {"method": "optimise", "samples": 20, "objectives": "min latency_ns"}
    path = tmp_path / "search.yaml"
    path.write_text(yaml.safe_dump({**fakes.toy_grid(tmp_path, M={"min": 1, "max": 99}), **search}), encoding="utf-8")
    assert run(path, "--out", tmp_path / "out", "--dry-run", "--try") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path / 'toy.py'} on tiny, hybrid mode: M 1 to 99",
        "up to 20 points; the first 8: 8 programs, 1 machine",
        f"8 of the first are not in {tmp_path / 'out'} yet",
        "about 40.0 s and 300 MB in this process, from a few points tried just now",
    ]


def test_a_dry_run_of_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid, out = write_grid(tmp_path, M=[1, 2]), tmp_path / "out"
    run(grid, "--out", out)
    capsys.readouterr()
    run(grid, "--out", out, "--dry-run", "--try")
    assert capsys.readouterr().out.splitlines()[2:] == [f"0 of the points are not in {out} yet", "nothing to run"]


def test_fail_fast_stops_at_the_first_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fake_runs: list[int]
) -> None:
    out = tmp_path / "out"
    assert run(write_grid(tmp_path, M=[1, 13, 2]), "--out", out, "--fail-fast") == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "error: stopped at the first point that failed, M=13: thirteen brings bad luck"
    )
    assert fake_runs[:2] == [1, 13]
    assert polars.read_parquet(out / "table.parquet")["status"].to_list()[:2] == ["ok", "error"]
    assert "1 of which failed." in (out / "report.html").read_text(encoding="utf-8")


def test_the_page_says_what_made_the_sweep_though_its_points_are_there_already(tmp_path: Path) -> None:
    grid, out = write_grid(tmp_path, M=[1, 2]), tmp_path / "out"
    assert run(grid, "--out", out) == 0
    before = (out / "report.html").read_bytes()
    told = json.loads((out / "sweep.json").read_text(encoding="utf-8"))
    assert told["command"] == f"kernbench sweep {grid} --out {out} --workers 1"
    assert told["date"].endswith(" UTC")
    assert f"<dt>Command</dt><dd>{told['command']}</dd>" in before.decode()
    assert f"<dt>Grid</dt><dd>{grid}, method grid, 2 points</dd>" in before.decode()
    assert run(grid, "--out", out, "--json") == 0
    assert (out / "report.html").read_bytes() == before


def test_bad_input_is_refused_before_anything_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid, out = write_grid(tmp_path, MM=[1]), tmp_path / "out"
    assert run(grid, "--out", out) == 2
    assert "toygrid.yaml:4:3: bench 'toy' has no parameter 'MM'; did you mean 'M'?" in capsys.readouterr().err
    assert not out.exists()
    out.touch()
    assert run(write_grid(tmp_path, M=[1]), "--out", out) == 2
    assert capsys.readouterr().err == f"error: --out takes a directory, and {out} is a file\n"


def test_a_bench_is_swept_without_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fake_runs: list[int]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = (fakes.write_toy(tmp_path), "-t", "tiny", "--set", "M=1:4:x2", "--objective", "min latency_ns")
    assert run(*asked, "--save", "mine.yaml", "--json") == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert (found["sweep"], found["points"], found["objectives"]) == ("mine", 3, ["min latency_ns"])
    assert found["best"]["M"] == 1
    assert found["files"]["table"] == "results/mine/table.parquet"
    assert yaml.safe_load(Path("mine.yaml").read_text()) == {
        "bench": str(tmp_path / "toy.py"),
        "topology": "tiny",
        "objectives": ["min latency_ns"],
        "parameters": {"M": {"range": "1:4:x2"}},
    }
    assert run("mine.yaml", "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["ran"], again["front"]) == (0, found["front"])
    assert run(*asked, "--json") == 0
    assert json.loads(capsys.readouterr().out)["files"]["table"] == "results/toy/table.parquet"
    assert fake_runs == [1, 2, 4] * 2


def test_a_grid_with_other_values_says_which_bench_it_hides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fake_runs: list[int]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweeps").mkdir()
    Path("benches").mkdir()
    fakes.write_toy(Path("benches"))
    Path("sweeps/toy.yaml").write_text("bench: toy\ntopology: tiny\nparameters: {M: [5, 6, 7], N: 3}\n")
    assert run("toy", "--set", "M=8", "--json") == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines()[0] == "toy: the grid of this name; bench:toy is the bench"
    assert json.loads(printed.out)["best"]["N"] == 3
    assert fake_runs == [8]
    assert Path("results/toy-set/table.parquet").is_file()
    assert run("bench:toy", "-t", "tiny", "--set", "M=9", "--json") == 0
    assert json.loads(capsys.readouterr().out)["best"]["N"] == 2


def test_a_file_that_is_no_grid_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("# by hand\n")
    assert run(fakes.write_toy(tmp_path), "-t", "tiny", "--set", "M=1", "--save", file) == 2
    assert capsys.readouterr().err.endswith("which holds something else; remove it, or name another file\n")
    assert file.read_text() == "# by hand\n"
