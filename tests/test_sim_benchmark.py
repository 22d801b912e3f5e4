"""The pytest plugin from a user's tests: alone, with pytest-benchmark's comparison, under xdist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernbench import run

pytest_plugins = ("pytester",)

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest
from kernbench.errors import InputError

@pytest.mark.benchmark(group="gemm")
def test_gemm(sim_benchmark):
    result = sim_benchmark("gemm-single-pe", "tiny", overrides={"noc.gbs": NOC})
    assert result.latency_ns > 0

@pytest.mark.parametrize("ns", [1.5, 2.0])
def test_own(sim_benchmark, ns):
    assert sim_benchmark.record(lambda: ns) == ns

def test_without(): pass
"""


class Project:
    """A directory with a test file, in which pytest is run: in this process if that will do."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester, self.path = pytester, pytester.path
        self.write(256)
        (self.path / "pytest.ini").write_text("[pytest]\n")

    def write(self, noc: float) -> None:
        (self.path / "test_latency.py").write_text(TESTS.replace("NOC", str(noc)))

    def pytest(self, *arguments: str) -> tuple[int, str]:
        apart = {"-n", "--benchmark-compare-fail=mean:1%"} & {*arguments}  # the latter ends pytest by an exception
        start = self.pytester.runpytest_subprocess if apart else self.pytester.runpytest_inprocess
        done = start("-p", "kernbench.sim_benchmark", "-p", "no:cacheprovider", *arguments)
        return int(done.ret), done.stdout.str() + done.stderr.str()

    @property
    def kept(self) -> dict[str, int]:
        return json.loads((self.path / "simulated" / "test_latency.json").read_text())


@pytest.fixture(scope="module")
def loaded() -> None:
    """All modules of a run: pytester forgets those that are first imported within its own runs."""
    run("gemm-single-pe", "tiny")


@pytest.fixture
def project(loaded: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # in whose workers pytest-benchmark measures nothing
    return Project(pytester)


@pytest.mark.slow
def test_a_test_without_a_kept_latency_fails_until_it_is_kept(project: Project) -> None:
    code, said = project.pytest("-q")
    assert code == 1
    assert (
        "test_own[1.5] has no simulated latency in simulated/test_latency.json yet; keep 1.5 ns with pytest --sim-update"
    ) in said
    code, said = project.pytest("-q", "--sim-update")
    assert (code, sorted(project.kept)) == (0, ["test_gemm", "test_own[1.5]", "test_own[2.0]"])
    assert "3 simulated latencies kept in" in said
    assert project.pytest("-q")[0] == 0
    assert "has no" not in said


def test_any_change_fails_in_either_direction(project: Project) -> None:
    assert project.pytest("-q", "--sim-update")[0] == 0
    first = project.kept
    assert project.pytest("-q")[0] == 0
    for noc, sign in ((255, "+"), (257, "-")):
        project.write(noc)
        code, said = project.pytest("-q")
        assert code == 1
        assert f"ns of simulated time, {sign}0." in said
        assert "ns in simulated/test_latency.json; if it should, keep it with pytest --sim-update" in said
        assert "1 failed, 3 passed" in said
    assert project.pytest("-q", "--sim-update", "-k", "gemm")[0] == 0
    assert project.kept["test_gemm"] < first["test_gemm"]
    assert project.kept["test_own[1.5]"] == first["test_own[1.5]"] == 1_500_000


@pytest.mark.slow
def test_workers_of_xdist_compare_and_one_process_keeps(project: Project) -> None:
    assert project.pytest("-q", "--sim-update")[0] == 0
    alone = project.kept
    project.write(257)
    code, said = project.pytest("-q", "-n", "2", "--sim-update")
    assert code == 0, said
    assert project.kept["test_gemm"] < alone["test_gemm"]
    project.write(256)
    code, said = project.pytest("-q", "-n", "1")
    assert code == 1
    assert "1 failed, 3 passed" in said


@pytest.mark.slow
def test_what_is_saved_and_compared_is_simulated_time(project: Project) -> None:
    assert project.pytest("-q", "--sim-update", "--benchmark-save=before")[0] == 0
    saved = json.loads(next(project.path.glob(".benchmarks/*/*_before.json")).read_text())
    times = {run["name"]: (run["group"], run["stats"]["mean"], run["stats"]["rounds"]) for run in saved["benchmarks"]}
    assert times["test_own[1.5]"] == (None, 1.5e-9, 1)
    assert times["test_gemm"][0] == "gemm"
    assert round(times["test_gemm"][1] * 1e15) == project.kept["test_gemm"]
    code, _ = project.pytest("-q", "--benchmark-compare=0001", "--benchmark-compare-fail=mean:1%")
    assert code == 0
    project.write(64)
    code, said = project.pytest("-q", "--sim-update", "--benchmark-compare=0001", "--benchmark-compare-fail=mean:1%")
    assert code == 1
    assert "Performance has regressed" in said


@pytest.mark.slow
def test_a_run_that_fails_is_a_test_that_fails_and_keeps_nothing(project: Project) -> None:
    project.write(0)
    code, said = project.pytest("-q", "--sim-update", "-k", "gemm")
    assert code == 1
    assert "InputError: override noc.gbs: got 0" in said
    assert not (project.path / "simulated").exists()


@pytest.mark.slow
def test_pytest_benchmark_may_be_disabled(project: Project) -> None:
    assert project.pytest("-q", "--sim-update")[0] == 0
    assert project.pytest("-q", "--benchmark-disable")[0] == 0
    project.write(100)
    assert project.pytest("-q", "--benchmark-disable")[0] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<<<<<<< ours\n", "it is no JSON (Expecting value: line 1 column 1"),
        ("[3]", "it holds no femtoseconds by test"),
    ],
)
def test_a_file_that_a_merge_broke_is_named(project: Project, text: str, reason: str) -> None:
    kept = project.path / "simulated" / "test_latency.json"
    kept.parent.mkdir()
    kept.write_text(text)
    code, printed = project.pytest("-k", "own")
    assert code == 1
    assert f"simulated/test_latency.json cannot be read: {reason}" in printed
    assert "Traceback" not in printed
    code, printed = project.pytest("-k", "own", "--sim-update")
    assert f"nothing kept in simulated/test_latency.json: {reason}" in printed
    assert (code, kept.read_text()) == (0, text)


@pytest.mark.slow
def test_figures_of_runs_are_extra_info_and_their_changes_are_shown(project: Project) -> None:
    assert project.pytest("-q", "--sim-update", "--benchmark-save=before")[0] == 0
    saved = json.loads(next(project.path.glob(".benchmarks/*/*_before.json")).read_text())
    info = {run["name"]: run["extra_info"] for run in saved["benchmarks"]}
    gemm = info["test_gemm"]
    assert (gemm["bench"], gemm["topology"], gemm["mode"], gemm["parameters"]["M"]) == (
        "gemm-single-pe",
        "tiny",
        "hybrid",
        128,
    )
    assert gemm["latency_fs"] == project.kept["test_gemm"]
    assert {"latency_ns", "pe_exec_ns", "bottleneck", "achieved_tflops"} <= gemm.keys()
    assert info["test_own[1.5]"] == {"latency_fs": 1_500_000}
    _, said = project.pytest("-q", "--sim-update", "--benchmark-compare=0001")
    assert "none moved, of 1 test" in said
    project.write(128)
    _, said = project.pytest("-q", "--sim-update", "--benchmark-compare=0001")
    moved = [line for line in said.splitlines() if line.startswith("test_latency.py::test_gemm  ")]
    assert any(f"latency_ns: {gemm['latency_ns']:,.6g} → " in line and "  +" in line for line in moved)
