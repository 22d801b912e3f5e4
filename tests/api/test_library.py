"""`import kernbench`: what its functions return, and how that shows itself."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from functools import partial
from pathlib import Path

import pytest

import kernbench
from kernbench.api.sweep import sweep
from kernbench.errors import InputError, RunError
from tests.sweep import fakes
from tests.traffic.noc_trace.support import reading, write_trace

MOST_CHARACTERS = 400  # of a repr


@pytest.fixture
def fake_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_bench(_bench: str, _topology: str, *, parameters: dict[str, int], **_: object) -> object:
        if parameters["M"] == 13:
            raise RunError("thirteen brings <bad> luck")
        return fakes.result(float(parameters["M"]) + float(parameters["N"]) / 10)

    fakes.patch_runs(monkeypatch, run_bench)


@pytest.fixture
def swept(fake_runs: None, tmp_path: Path) -> kernbench.SweepResult:
    """A sweep of M and N whose latency is M + N / 10, without one point."""
    asked = {"M": [3, 1, 2, 13], "N": "4:8:x2"}
    return kernbench.sweep(
        fakes.write_toy(tmp_path),
        tmp_path / "out",
        1,
        parameters=asked,
        topology="tiny",
        objectives=["min latency_ns", "max N"],
    )


def test_a_sweep_returns_its_answers(swept: kernbench.SweepResult, tmp_path: Path) -> None:
    assert (swept.name, swept.count, swept.failed, swept.ran) == ("toy", 8, 2, 8)
    assert swept.objectives == ("min latency_ns", "max N")
    assert swept.table["M"].to_list() == [3, 3, 1, 1, 2, 2, 13, 13]
    assert swept.scan().collect().equals(swept.table)
    assert swept.best(2)["latency_ns"].to_list() == [1.4, 1.8]
    assert swept.best().columns == swept.table.columns
    with pytest.raises(InputError, match="best takes a number of rows, 0 or more; got -1"):
        swept.best(-1)
    assert swept.front.select("M", "N").rows() == [(1, 4), (1, 8)]
    first = swept.sensitivities.row(0, named=True)
    assert (first["objective"], first["parameter"], first["best"], first["worst"]) == ("latency_ns", "M", "1", "3")
    assert repr(swept) == (
        f"<SweepResult {tmp_path / 'toy.py'} on tiny, hybrid mode: 8 points, 2 failed in {tmp_path / 'out'}; "
        ".table, .best(n), .front, .sensitivities, .figures(), .show(), .plot()>"
    )
    assert "2 points failed" in swept._repr_html_()


def _save(_figure: object, stem: Path) -> list[Path]:
    """A plot that takes no time."""
    path = stem.with_suffix(".svg")
    path.parent.mkdir(exist_ok=True)
    path.write_text("<svg></svg>", encoding="utf-8")
    return [path]


def test_a_sweep_writes_the_plots_of_the_command_line(
    swept: kernbench.SweepResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernbench.report.figures.style.save", _save)
    paths = swept.plot(tmp_path / "plots")
    assert {"pareto (svg)", "lines (svg)", "front", "report", "page"} <= paths.keys()
    assert paths["report"].is_file()


def test_a_sweep_takes_the_decorated_function_and_a_mapping(fake_runs: None, tmp_path: Path) -> None:
    from kernbench.runs.bench import load_file

    (bench,) = load_file(fakes.write_toy(tmp_path))
    result = kernbench.sweep(bench.run, tmp_path / "a", 1, parameters={"M": 5}, topology="tiny")
    assert result.table["latency_ns"].to_list() == [5.2]
    grid = fakes.toy_grid(tmp_path, M=[1, 2])
    other = kernbench.sweep(grid, tmp_path / "a", 1, parameters={"M": [2, 5]}, mode="flit")
    assert (other.name, other.mode, other.ran) == ("toy-set", "flit", 2)
    with pytest.raises(InputError, match=r"^parameters M: got '1,,2', expected values with commas between them$"):
        kernbench.sweep(grid, tmp_path / "a", 1, parameters={"M": "1,,2"})


def test_the_call_of_the_package_has_the_signature_of_its_function() -> None:
    assert inspect.signature(kernbench.sweep) == inspect.signature(sweep)  # type: ignore[arg-type]


def test_sweeps_in_memory_and_on_the_disk_are_compared(swept: kernbench.SweepResult, tmp_path: Path) -> None:
    found = kernbench.compare(swept, tmp_path / "out")
    assert (len(found.pairs), len(found.moved())) == (8, 0)
    assert repr(found).startswith(f"<Comparison of {tmp_path / 'out'} and {tmp_path / 'out'}: 0 of 8 points moved")
    assert found._repr_html_().startswith("<div")


@pytest.fixture(scope="module")
def result() -> kernbench.RunResult:
    return kernbench.run("gemm-single-pe", "tiny", parameters={"M": 32, "K": 32, "N": 32})


@pytest.mark.slow
def test_results_are_short_as_text_and_tables_in_a_notebook(result: kernbench.RunResult) -> None:
    explanation = result.explain()
    shown = [result, explanation, explanation.what_if, result.device.machine]
    shown += [kernbench.probe("mesh_8x8", flows=["node[0][0]:node[3][4]:4KiB"]), kernbench.diagram("tiny", "pe")]
    for one in shown:
        assert len(repr(one)) < MOST_CHARACTERS
        assert re.fullmatch(r"<[A-Z]\w+ .+>", repr(one))
    for one in shown[:3]:
        assert one._repr_html_().count("<div") == one._repr_html_().count("</div>") >= 1
    assert f"{result.latency_ns:,.1f} ns" in repr(result)
    assert all(f", {name} {value}" in repr(result) for name, value in {**result.parameters, **result.overrides}.items())


def test_the_figures_of_a_result_may_be_pickled(result: kernbench.RunResult) -> None:
    found = pickle.loads(pickle.dumps(result))
    assert found == result
    assert (found.to_dict(), repr(found)) == (result.to_dict(), repr(result))
    assert kernbench.compare(result, found).moved().is_empty()
    assert pickle.loads(pickle.dumps(found)) == result
    assert copy.deepcopy(result).op_log().equals(copy.copy(result).op_log())
    more = found.op_log, found.explain, found.what_if, partial(found.write, "out"), partial(found.write_trace, "t")
    for ask in (*more, partial(found.snapshots, 0), partial(found.read_memory, 0, 8), lambda: found.program_digest):
        with pytest.raises(
            InputError, match=r"^this result was pickled, which keeps its figures alone; ask for its op log"
        ):
            ask()


def test_runs_are_compared(result: kernbench.RunResult) -> None:
    other = kernbench.run(
        "gemm-single-pe", "tiny", parameters={"M": 32, "K": 32, "N": "64"}, overrides={"noc.gbs": "64 GB/s"}
    )
    found = kernbench.compare(result, other)
    assert found.changed_settings() == {"N": (32, 64), "topology.noc.gbs": (None, "64 GB/s")}
    assert found.pairs["latency_ns_b"].to_list() == [other.latency_ns]


def test_a_diagram_shows_itself(tmp_path: Path) -> None:
    picture = kernbench.diagram("tiny", "cube", bandwidths=True)
    assert picture._repr_svg_().startswith("<svg")
    assert picture.write(tmp_path / "cube.svg").read_text() == picture.svg
    assert kernbench.diagram("mesh_8x8").view == "system"


def test_one_kind_of_traffic() -> None:
    with pytest.raises(InputError, match="give flows, a pattern or NoC traces, or nothing"):
        kernbench.probe("mesh_8x8", flows=["node[0][0]:node[0][1]:64"], pattern="uniform")  # type: ignore[call-overload]
    curve = kernbench.probe("mesh_8x8", pattern="neighbor", load=[0.1, 0.2], window=20)
    assert [point.load for point in curve.points] == [0.1, 0.2]


def test_evaluations_are_compared(tmp_path: Path) -> None:
    sizes = {"shapes": "32x32x32", "variants": ["ref_ref"]}
    before = kernbench.evaluate("gemm", "tiny", settings=sizes)
    after = kernbench.evaluate("gemm", "tiny", settings={**sizes, "dtype": "f32"}, overrides={"noc.gbs": 64})
    assert before.table.select("M", "K", "N", "variant").rows() == [(32, 32, 32, "ref_ref")]
    before.write(tmp_path / "a")
    found = kernbench.compare(tmp_path / "a", after)
    assert found.changed_settings() == {"dtype": ("f16", "f32"), "topology.noc.gbs": (None, "64")}
    assert (len(found.pairs), len(found.moved())) == (1, 1)
    assert repr(before) == "<EvaluationResult gemm on tiny: 1 run; .table, .figures(), .show(), .plot(directory)>"
    with pytest.raises(InputError, match="only one of them is an evaluation"):
        kernbench.compare(before, kernbench.run("gemm-single-pe", "tiny"))


def test_html_of_texts_is_escaped() -> None:
    from kernbench.notebook import html_table

    page = html_table("<b>", ["<i>"], [["<u>"]] * 30, "<s>")
    assert not re.search(r"<[bius]>", page)
    assert "and 10 more rows" in page


def test_noc_traces_are_probed(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "a.json", *reading((2, 2), (1, 2), 2048))
    (tmp_path / "b.json").write_text("[")
    found = kernbench.probe(noc_traces=str(tmp_path))
    assert [one.file for one in found.replays] == [path]
    assert [str(one) for one in found.errors] == [
        f"{tmp_path / 'b.json'}:1: the trace ends early: Expecting value, column 2"
    ]
    again = kernbench.probe("blackhole_p150", noc_traces=[path], closed_loop=True).replays[0]
    assert (again.topology, again.closed_loop) == ("blackhole_p150", True)
    with pytest.raises(InputError, match=r"b\.json:1: the trace ends early"):
        kernbench.probe(noc_traces=tmp_path / "b.json")
    with pytest.raises(InputError, match="closed_loop says how NoC traces are replayed; give noc_traces with it"):
        kernbench.probe(closed_loop=True)  # type: ignore[call-overload]
    with pytest.raises(InputError, match="probe sends one kind of traffic"):
        kernbench.probe(noc_traces=path, pattern="uniform")  # type: ignore[call-overload]
