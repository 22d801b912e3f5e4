"""The output files of a sweep beside its table: the front, plots, `report.md` and `report.html`.

They are made from the table, the grid and `sweep.json` alone, so they can be made again at any time; the same of these give the
same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.report.figures.heatmap import plot_heat
from kernbench.report.figures.parallel import plot_parallel
from kernbench.report.figures.pareto import plot_pareto
from kernbench.report.figures.plot import plot_latency
from kernbench.report.pages.html_report import choose_rows, write_page
from kernbench.report.pages.markdown_report import MOST_ROWS, write_report
from kernbench.sweep.grid.grid import Grid
from kernbench.sweep.results.error_bars import read_ranking
from kernbench.sweep.results.file_names import MANIFEST
from kernbench.sweep.results.manifest import read_manifest
from kernbench.sweep.results.objectives import choose_objectives
from kernbench.sweep.results.pareto import pareto_front
from kernbench.sweep.results.sensitivity import find_sensitivities
from kernbench.sweep.results.store import write_whole
from kernbench.sweep.row import STAMP

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars

    from kernbench.sweep.grid.grid import Objective

UNREAD = ("wall_s", "program_digest", *STAMP)
KEPT = (
    *("latency_ns", "accepted", "bottleneck", "bottleneck_utilisation", "achieved_tflops", "tflops_of_peak"),
    *("fidelity", "status", "error", "key"),
)


def read_report_columns(grid: Grid, scan: polars.LazyFrame) -> polars.DataFrame:
    """The columns of a table that reports show: without digests, and without parameters and results that do not vary.

    The grid's objectives stay.
    """
    import polars

    names = [name for name in scan.collect_schema().names() if name not in UNREAD]
    column = polars.col(names)
    same = (column.min() == column.max()) & (column.null_count() == 0) | (column.null_count() == polars.len())
    constant = scan.select(same).collect(engine="streaming").row(0, named=True) if names else {}
    derived = names[max(names.index(name) for name in KEPT if name in names) + 1 :]
    kept = {*KEPT, *derived, *(objective.column for objective in grid.objectives)}
    return scan.select(name for name in names if not constant[name] or name in kept).collect()


def find_rows(scan: polars.LazyFrame, rows: polars.DataFrame) -> polars.DataFrame:
    """All columns of some rows of a table, in their order."""
    import polars

    found = scan.filter(polars.col("key").is_in(rows["key"].to_list())).collect(engine="streaming")
    return rows.select("key").join(found, on="key", how="left", maintain_order="left").select(found.columns)


def write_outputs(grid: Grid, scan: polars.LazyFrame, directory: Path) -> dict[str, Path]:
    """Write all outputs into the directory of a sweep; returns the paths by name, without outputs that would be empty.

    Errors: InputError if the directory cannot be written.
    """
    table = read_report_columns(grid, scan)
    objectives = choose_objectives(grid, table)
    front = pareto_front(table, objectives)
    found = find_sensitivities(table, objectives)
    plots = plot_table(grid, table, objectives, directory)
    paths = {f"{name} ({path.suffix[1:]})": path for name, drawn in plots.items() for path in drawn}
    paths["front"] = directory / "pareto.parquet"
    write_whole(paths["front"], find_rows(scan, front).write_parquet)
    pictures = {name: drawn[0] for name, drawn in plots.items() if drawn}
    ranking = read_ranking(grid, table, objectives[0], directory, MOST_ROWS)
    paths["report"] = write_report(grid, table, objectives, found, pictures, directory / "report.md", ranking)
    rows = _read_page_rows(scan, choose_rows(table, objectives))
    manifest = read_manifest(directory / MANIFEST)
    paths["page"] = write_page(
        grid, table, rows, objectives, found, pictures, manifest, directory / "report.html", ranking
    )
    return paths


def plot_table(
    grid: Grid, table: polars.DataFrame, objectives: Sequence[Objective], directory: Path
) -> dict[str, list[Path]]:
    """Draw all plots of a table into a directory; returns the SVG and the PNG of each by what it is.

    Errors: InputError if the directory cannot be written.
    """
    title = grid.description or f"{grid.workload} on {grid.topology}"
    return {
        "pareto": plot_pareto(table, objectives, directory / "pareto", title),
        "lines": plot_latency(table, directory / "latency", title),
        "heat map": plot_heat(table, objectives[0], directory / "heatmap", title),
        "parallel coordinates": plot_parallel(table, objectives, directory / "parallel", title),
    }


def _read_page_rows(scan: polars.LazyFrame, keys: list[str] | None) -> polars.DataFrame:
    """The rows with these keys, or all, with the columns that a page has."""
    import polars

    kept = scan if keys is None else scan.filter(polars.col("key").is_in(keys))
    return kept.select(polars.exclude(*UNREAD)).collect(engine="streaming")
