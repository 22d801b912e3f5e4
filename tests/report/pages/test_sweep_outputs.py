from __future__ import annotations

from pathlib import Path

import polars
import pytest

from kernbench.report.pages.markdown_report import find_free, tell_free
from kernbench.report.pages.sweep_outputs import choose_objectives, find_rows, read_report_columns, write_outputs
from kernbench.sweep.grid.grid import Objective, load_grid
from tests.report.sample_pages import read_points
from tests.report.sample_tables import table, traffic_table

GRID = {"bench": "toy", "name": "mine", "description": "A <question> & more"}
BANDWIDTH = "topology__hbm__channel_gbs"


def test_a_grid_that_asks_nothing_wants_the_least_latency() -> None:
    grid = load_grid(GRID)
    assert choose_objectives(grid, table(lambda v: 1.0, variant=["a", "b"])) == (Objective("latency_ns"),)
    paid = table(lambda g, v: 1.0, **{BANDWIDTH: [8, 16]}, variant=["a", "b"])
    assert choose_objectives(grid, paid) == (Objective("latency_ns"), Objective("topology.hbm.channel_gbs"))
    assert choose_objectives(load_grid({**GRID, "mode": "auto"}), paid) == (Objective("latency_ns"),)
    work = table(lambda m: 1.0, M=[1, 2])
    assert choose_objectives(grid, work) == (Objective("achieved_tflops", least=False),)


def test_traffic_wants_low_latency_and_where_the_load_varies_throughput() -> None:
    grid = load_grid({"pattern": "uniform"})
    same = traffic_table(lambda b: 0.1 * b, topology__buffer_flits=[1, 2])
    assert choose_objectives(grid, same) == (Objective("latency_ns"),)
    assert tell_free(grid, same, (Objective("latency_ns"),))[0].startswith(
        "the grid has no objectives; in the default, min latency_ns, hardware counts as free, so that twice as much of "
        "buffer_flits costs nothing"
    )
    loads = traffic_table(lambda load: load, load=[0.1, 0.2])
    assert choose_objectives(grid, loads) == (Objective("accepted", least=False), Objective("latency_ns"))


def test_all_outputs_of_traffic_are_made(tmp_path: Path) -> None:
    grid = load_grid({"pattern": "uniform", "topology": "mesh_8x8", "objectives": ["max accepted"]})
    made = traffic_table(
        lambda b, v: None if b == 4 else 0.1 * b + 0.01 * v,
        topology__buffer_flits=[1, 2, 4],
        topology__virtual_channels=[1, 2],
    )
    paths = write_outputs(grid, made.lazy(), tmp_path)
    report = paths["report"].read_text()
    assert "uniform traffic on mesh_8x8, hybrid mode, method grid: 6 points, 2 of which failed." in report
    assert "| buffer_flits | virtual_channels | accepted | latency_ns |" in report
    assert "p99_ns" in read_points(paths["page"]).columns
    assert polars.read_parquet(paths["front"]).select("topology.buffer_flits", "accepted").rows() == [(2, 0.22)]


def test_answers_are_made_of_what_varies() -> None:
    given = table(lambda m, n: 10.0 * m, M=[1, 2], N=[7]).with_columns(polars.lit(1.0).alias("cost"))
    grid = load_grid(GRID)
    read = read_report_columns(grid, given.lazy())
    assert read.columns == [
        "M",
        "latency_ns",
        "bottleneck",
        "bottleneck_utilisation",
        "achieved_tflops",
        "tflops_of_peak",
        *read.columns[6:],
    ]
    assert read.columns[6:] == ["fidelity", "status", "error", "key", "cost"]
    assert find_rows(given.lazy(), read[::-1]).equals(given[::-1])
    assert read_report_columns(grid, given.clear().lazy()).is_empty()


@pytest.mark.parametrize("column", ["N", "achieved_gbs"])
def test_an_objective_in_which_all_points_are_equal_is_shown(column: str, tmp_path: Path) -> None:
    given = table(lambda m, n: 10.0 * m, M=[1, 2], N=[7])
    grid = load_grid({**GRID, "objectives": [f"min {column}"]})
    assert column in read_report_columns(grid, given.lazy()).columns
    assert f"\n* min {column}: " in write_outputs(grid, given.lazy(), tmp_path)["report"].read_text()


def test_hardware_counts_as_free_only_if_the_grid_asks_for_nothing() -> None:
    axes = {"topology__sips__count": [1, 2], BANDWIDTH: [8, 16], "sips": [1, 2], "topology__ucie__overhead_ns": [1, 2]}
    given = table(lambda *_: 1.0, **axes, algorithm=["ring", "tree"])
    grid = load_grid(GRID)
    by_default = (Objective("latency_ns"), Objective("topology.hbm.channel_gbs"))
    assert find_free(grid, given, by_default) == ["topology.sips.count", "sips"]
    assert find_free(grid, given, by_default[:1]) == ["topology.sips.count", "topology.hbm.channel_gbs", "sips"]
    assert find_free(load_grid({**GRID, "objectives": ["min latency_ns"]}), given, by_default[:1]) == []
    assert tell_free(grid, table(lambda *_: 1.0, algorithm=["ring", "tree"]), by_default) == []


@pytest.mark.slow
def test_bounds_among_simulated_points_are_told_apart(tmp_path: Path) -> None:
    given = table(lambda m: 10.0 * m, M=[1, 2, 3]).with_columns(
        fidelity=polars.Series(["hybrid", "analytic", "analytic"])
    )
    grid = load_grid({**GRID, "mode": "auto"})
    lines = write_outputs(grid, given.lazy(), tmp_path)["report"].read_text(encoding="utf-8").splitlines()
    assert (
        "* 1 of them simulated, which alone are ranked and averaged; the others, whose fidelity is analytic, have only "
        "bounds: times are at least (≥), rates at most (≤) what is shown"
    ) in lines
    assert "* min latency_ns: 10 at M = 1" in lines
    assert "| M | latency_ns | bottleneck |" in lines
    assert "| 1 | 10 | sip0.cube0.hbm_ctrl.pe0 |" in lines
    assert not [line for line in lines if line.startswith(("| 2 ", "| 3 "))]
    assert "Of 1 simulated point; 2 more have only bounds." in lines


@pytest.mark.slow
def test_a_bound_that_may_be_better_than_the_best_result_is_told(tmp_path: Path) -> None:
    modes = polars.Series(["hybrid", "analytic", "hybrid"])
    given = table(lambda m: 10.0 * m, M=[2, 1, 3]).with_columns(fidelity=modes)
    lines = write_outputs(load_grid({**GRID, "mode": "auto"}), given.lazy(), tmp_path)["report"].read_text(
        encoding="utf-8"
    )
    assert "* min latency_ns: 20 at M = 2; 1 point that was not simulated may be better\n" in lines
    assert "Of 2 simulated points; 1 more has only bounds, by which 1 may stand among these." in lines


@pytest.mark.slow
def test_figures_of_bounds_alone_are_marked(tmp_path: Path) -> None:
    given = table(lambda m: 10.0 * m, M=[2, 1]).with_columns(fidelity=polars.lit("analytic"))
    grid = load_grid({**GRID, "mode": "analytic", "objectives": ["min latency_ns", "max achieved_tflops"]})
    paths = write_outputs(grid, given.lazy(), tmp_path)
    lines = paths["report"].read_text(encoding="utf-8").splitlines()
    assert "* none of them simulated: figures are bounds, times at least (≥), rates at most (≤) what is shown" in lines
    assert "* min latency_ns: ≥ 10 at M = 1" in lines
    assert "| 1 | ≥ 10 | ≤ 100 | sip0.cube0.hbm_ctrl.pe0 |" in lines


@pytest.mark.slow
def test_all_answers_are_written_and_the_same_for_the_same_table(tmp_path: Path) -> None:
    grid = load_grid({**GRID, "objectives": ["min latency_ns", "max achieved_tflops"]})
    given = table(lambda m, v: None if m == 3 else 10.0 * m + len(v), M=[1, 2, 3], variant=["a|b", "</script>"])
    paths = write_outputs(grid, given.lazy(), tmp_path)
    assert sorted({path.stem for path in paths.values()}) == ["heatmap", "latency", "parallel", "pareto", "report"]
    front = polars.read_parquet(paths["front"])
    assert front["latency_ns"].to_list() == [13.0]
    before = {name: path.read_bytes() for name, path in paths.items()}
    again = given.with_columns(wall_s=polars.Series("wall_s", [9.0] * len(given)))  # it took longer
    remade = {name: path.read_bytes() for name, path in write_outputs(grid, again.lazy(), tmp_path).items()}
    assert {**remade, "front": b""} == {**before, "front": b""}


@pytest.mark.slow
def test_the_report_says_what_was_found(tmp_path: Path) -> None:
    given = table(lambda m, v: None if m == 3 else 10.0 * m + len(v), M=[1, 2, 3], variant=["a|b", "cc"])
    report = write_outputs(load_grid(GRID), given.lazy(), tmp_path)["report"].read_text(encoding="utf-8")
    lines = report.splitlines()
    assert lines[0] == r"# A \<question> & more"
    assert lines[2] == "toy on sip_2x4x4, hybrid mode, method grid: 6 points, 2 of which failed."
    assert "* max achieved_tflops: 83.3333 at M = 1, variant = cc" in lines
    assert "| 1 | a\\|b | 76.9231 | 13 | sip0.cube0.hbm_ctrl.pe0 |" in lines
    assert lines[lines.index("## Points that failed") + 4] == "| 3 | a\\|b | no |"
