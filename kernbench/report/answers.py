"""What a sweep leaves beside its table: the front, plots, a report to read, a page to look through.

Everything is made of the table and of what the grid asks for, so it can be made again at any time, and the same table
gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.report.heat import plot_heat
from kernbench.report.markdown import write_report
from kernbench.report.page import write_page
from kernbench.report.parallel import plot_parallel
from kernbench.report.pareto import plot_pareto
from kernbench.report.plot import plot_latency
from kernbench.report.sensitivity import find_sensitivities
from kernbench.report.swept import find_cost, find_swept, same_work
from kernbench.sweep.asked import LATENCY
from kernbench.sweep.front import answerable, pareto_front
from kernbench.sweep.grid import Grid, Objective
from kernbench.sweep.store import write_whole

if TYPE_CHECKING:
    import polars


def choose_objectives(grid: Grid, table: polars.DataFrame) -> tuple[Objective, ...]:
    """What to answer: what the grid asks for. Where it says nothing, the least latency, and the least of what the machine
    pays for if the table has one such axis; the most achieved where the work differs from point to point.
    """
    if grid.objectives:
        return grid.objectives
    done = answerable(table)
    rates = done["achieved_tflops"]
    if not same_work(find_swept(table)) and not rates.null_count() and rates.max():
        return (Objective("achieved_tflops", least=False),)
    cost = find_cost(done)
    return (LATENCY, Objective(cost.column)) if cost else (LATENCY,)


def write_answers(grid: Grid, table: polars.DataFrame, directory: Path) -> dict[str, Path]:
    """Write all of it into the directory of a sweep; returns the paths by name, of what there is something to say in.

    Errors: InputError if the directory cannot be written.
    """
    title = grid.description or f"{grid.bench} on {grid.topology}"
    objectives = choose_objectives(grid, table)
    front = pareto_front(table, objectives)
    found = find_sensitivities(table, objectives)
    plots = {
        "pareto": plot_pareto(table, objectives, directory / "pareto", title),
        "lines": plot_latency(table, directory / "latency", title),
        "heat map": plot_heat(table, objectives[0], directory / "heatmap", title),
        "parallel coordinates": plot_parallel(table, objectives, directory / "parallel", title),
    }
    paths = {f"{name} ({path.suffix[1:]})": path for name, drawn in plots.items() for path in drawn}
    paths["front"] = directory / "pareto.parquet"
    write_whole(paths["front"], front.write_parquet)
    pictures = {name: drawn[0] for name, drawn in plots.items() if drawn}
    paths["report"] = write_report(grid, table, objectives, found, pictures, directory / "report.md")
    paths["page"] = write_page(grid, table, objectives, found, pictures, directory / "report.html")
    return paths
