from __future__ import annotations

import json
import re
from pathlib import Path

import polars
import pytest

from kernbench.report.sweep_outputs import choose_objectives, find_rows, read_report_columns, write_outputs
from kernbench.sweep.grid.grid import Objective, load_grid
from tests.report.tables import table

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


def test_answers_are_made_of_what_varies() -> None:
    given = table(lambda m, n: 10.0 * m, M=[1, 2], N=[7]).with_columns(polars.lit(1.0).alias("cost"))
    read = read_report_columns(given.lazy())
    assert read.columns == [
        "M",
        "latency_ns",
        "bottleneck",
        "bottleneck_utilisation",
        "achieved_tflops",
        *read.columns[5:],
    ]
    assert read.columns[5:] == ["status", "error", "key", "cost"]
    assert find_rows(given.lazy(), read[::-1]).equals(given[::-1])
    assert read_report_columns(given.clear().lazy()).is_empty()


@pytest.mark.slow
def test_bounds_among_simulated_points_are_told_apart(tmp_path: Path) -> None:
    given = table(lambda m: 10.0 * m, M=[1, 2, 3]).with_columns(
        fidelity=polars.Series(["hybrid", "analytic", "analytic"])
    )
    grid = load_grid({**GRID, "mode": "auto"})
    lines = write_outputs(grid, given.lazy(), tmp_path)["report"].read_text(encoding="utf-8").splitlines()
    assert (
        "* 1 of them simulated; of the others, whose fidelity is analytic, figures are bounds: "
        "the least time, the highest rate"
    ) in lines
    assert "| M | latency_ns | fidelity | bottleneck |" in lines
    assert "| 2 | 20 | analytic | sip0.cube0.hbm_ctrl.pe0 |" in lines


@pytest.mark.slow
def test_all_answers_are_written_and_the_same_for_the_same_table(tmp_path: Path) -> None:
    grid = load_grid({**GRID, "objectives": ["min latency_ns", "max achieved_tflops"]})
    given = table(lambda m, v: None if m == 3 else 10.0 * m + len(v), M=[1, 2, 3], variant=["a|b", "</script>"])
    paths = write_outputs(grid, given.lazy(), tmp_path)
    assert sorted({path.stem for path in paths.values()}) == ["heatmap", "latency", "parallel", "pareto", "report"]
    front = polars.read_parquet(paths["front"])
    assert front["latency_ns"].to_list() == [13.0]
    before = {name: path.read_bytes() for name, path in paths.items()}
    assert {name: path.read_bytes() for name, path in write_outputs(grid, given.lazy(), tmp_path).items()} == before


@pytest.mark.slow
def test_the_report_says_what_was_found(tmp_path: Path) -> None:
    given = table(lambda m, v: None if m == 3 else 10.0 * m + len(v), M=[1, 2, 3], variant=["a|b", "cc"])
    report = write_outputs(load_grid(GRID), given.lazy(), tmp_path)["report"].read_text(encoding="utf-8")
    lines = report.splitlines()
    assert lines[0] == "# A <question> & more"
    assert lines[2] == "toy on sip_2x4x4, hybrid mode, method grid: 6 points, 2 of which failed."
    assert "* max achieved_tflops: 83.3333 at M = 1, variant = cc" in lines
    assert "| 1 | a\\|b | 76.9231 | 13 | sip0.cube0.hbm_ctrl.pe0 |" in lines
    assert lines[lines.index("## Points that failed") + 4] == "| 3 | a\\|b | no |"


@pytest.mark.slow
def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    given = table(lambda m, v: 10.0 * m + len(v), M=[1, 2], variant=["</script>", "cc"])
    page = write_outputs(load_grid(GRID), given.lazy(), tmp_path)["page"].read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!#|data:)', page)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    data = json.loads(re.findall(r'type="application/json">(.*?)</script>', page, re.S)[0])
    assert data["columns"][:2] == ["M", "variant"]
    assert sorted(row[0] for row in data["rows"]) == [1, 1, 2, 2]
    assert data["front"] == [True, False, False, False]
    assert "A &lt;question&gt; &amp; more" in page


@pytest.mark.slow
def test_the_page_plots_truths_and_its_data_ends_no_script(tmp_path: Path) -> None:
    given = table(lambda m, v: 10.0 * m + len(v), M=[1, 2], variant=["<!--<script>", "cc"])
    given = given.with_columns((polars.col("M") > 1).alias("dear"))
    grid = load_grid({**GRID, "derived": {"dear": "M > 1"}, "objectives": ["min latency_ns", "min dear"]})
    page = write_outputs(grid, given.lazy(), tmp_path)["page"].read_text(encoding="utf-8")
    held = re.findall(r'type="application/json">(.*?)</script>', page, re.S)[0]
    assert "<" not in held
    data = json.loads(held)
    assert data["across"] == "dear"
    assert set(data["numeric"]) == {"M", "dear", "latency_ns", "achieved_tflops"}
