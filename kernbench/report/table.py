"""Results of a sweep as tables on the terminal: the best points, the Pareto front, the sensitivities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernbench.report.sensitivity import Sensitivity
from kernbench.report.swept_axes import find_swept, short_name
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.point import TOPOLOGY
from kernbench.sweep.results.bounds import count_bounded, count_possibly_better, find_senses, is_bounded
from kernbench.sweep.results.pareto import pareto_front, rank_points
from kernbench.sweep.row import COLUMNS, LOWER, UPPER, VERSUS
from kernbench.text import plural

if TYPE_CHECKING:
    import polars
    from rich.console import Console, ConsoleOptions, ConsoleRenderable
    from rich.table import Table

# Columns of points that may be left out, in this order.
SPARE = (VERSUS, "of peak", "TFLOPS", "busy", "bottleneck", "saturation_load", "p99_ns", "accepted")
TRAFFIC = ("accepted", "p99_ns", "saturation_load")
MARKS: dict[str | None, str] = {LOWER: "≥ ", UPPER: "≤ ", None: ""}  # before a figure
ENDLESS = 10_000  # characters, wider than any table


@dataclass(frozen=True, slots=True)
class Column:
    """A column of texts. `spare` is its name in `SPARE` if it may be left out."""

    heading: str
    cells: Sequence[str]
    right: bool
    spare: str = ""


@dataclass(frozen=True, slots=True)
class Points:
    """A table of points. In a narrow terminal headings are broken, then spare columns are left out: no number is cut."""

    title: str
    columns: Sequence[Column]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[ConsoleRenderable]:
        from rich.text import Text

        def is_too_wide(table: Table) -> bool:
            return table.__rich_measure__(console, options.update(width=ENDLESS)).maximum > options.max_width

        shown = self._draw(self.columns, narrow=False)
        for most in range(len(SPARE) + 1):
            if not is_too_wide(shown):
                break
            gone = [column for column in self.columns if column.spare in SPARE[:most]]
            shown = self._draw([column for column in self.columns if column not in gone], narrow=True)
            if gone:
                headings = ", ".join(column.heading.replace(".\n", ".") for column in gone)
                shown.caption = f"not shown, for lack of room: {headings}\n"
        yield Text(self.title, style="bold")  # a title of the rich table would be cut to its width
        yield shown

    def _draw(self, columns: Sequence[Column], *, narrow: bool) -> Table:
        table = _empty()
        table.collapse_padding = narrow
        for column in columns:
            heading = _broken(column.heading) if narrow else column.heading
            table.add_column(heading, justify="right" if column.right else "left", overflow="fold")
        for cells in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*cells)
        return table


def best_points(table: polars.DataFrame, objectives: Sequence[Objective], most: int = 10) -> Points:
    """The best `most` points by the first objective: varying parameters, objectives, latency, and bottleneck or throughput."""
    ranked = rank_points(table, objectives[0], most)
    title = f"best {len(ranked)} of {count_results(table)} by {objectives[0].column}{tell_others(table, ranked, objectives[0])}"
    return _points(table, ranked, objectives, title)


def front_points(table: polars.DataFrame, objectives: Sequence[Objective], most: int = 20) -> Points:
    """The Pareto front, at most its first `most` points."""
    front = pareto_front(table, objectives)
    wanted = ", ".join(map(str, objectives))
    title = f"Pareto front of {wanted}: {len(front)} of {plural(len(table), 'point')}"
    if len(front) > most:
        title += f", {most} shown"
    return _points(table, front.head(most), objectives, title)


def sensitivity_table(found: Sequence[Sensitivity]) -> Table:
    """The sensitivities of the objectives to the parameters."""
    shown = _empty(f"what moves the objectives, each parameter averaged over all others{tell_selection(found)}")
    heads = sensitivity_heads(found)
    for heading in heads:
        shown.add_column(heading, justify="right" if heading in heads[-3:] else "left", overflow="fold")
    for one in found:
        shown.add_row(*sensitivity_cells(one))
    return shown


def sensitivity_heads(found: Sequence[Sensitivity]) -> tuple[str, ...]:
    """The headings of a table of sensitivities."""
    values = ("best point at",) if any(one.selected for one in found) else ("best at", "worst at")
    return ("objective", "parameter", *values, "between them", "of variance", "1 % more gives")


def tell_selection(found: Sequence[Sensitivity]) -> str:
    """Of which points sensitivities are averages, where some have only bounds."""
    if any(one.of_bounds for one in found):
        return ", of bounds alone: nothing was simulated"
    few = min(found, key=lambda one: one.points)
    if not few.selected:
        return ""
    some = f"{few.points:,} of {plural(few.of, 'point')}"
    return f", in {some}: those that were simulated and are results, mostly near the front, no average of the grid"


def sensitivity_cells(one: Sensitivity) -> tuple[str, ...]:
    """A sensitivity as texts, as in `sensitivity_table`."""
    return (
        one.objective.column,
        short_name(one.axis.column) + "".join(f", {short_name(name)}" for name in one.axis.companions),
        format_value(one.best),
        *(() if one.selected else (format_value(one.worst),)),
        "" if one.spread is None else f"{one.spread:.1%}",
        f"{one.share:.1%}",
        "" if one.slope is None else f"{one.slope:+.2f} %",
    )


def shown_columns(table: polars.DataFrame, objectives: Sequence[Objective]) -> list[str]:
    """The columns of a table of points: varying parameters, objectives, their shares of the baseline, the latency."""
    varying = [column for axis in find_swept(table) for column in (axis.column, *axis.companions)]
    wanted = [objective.column for objective in objectives]
    versus = [name for name in table.columns if name.removesuffix(VERSUS) in wanted and name not in wanted]
    return list(dict.fromkeys([*varying, *wanted, *versus, "latency_ns"]))


def count_results(table: polars.DataFrame) -> str:
    """The number of points; of those that were simulated, if others have only bounds."""
    bounded = count_bounded(table)
    return plural(len(table) - bounded, "simulated point") if bounded else plural(len(table), "point")


def tell_others(table: polars.DataFrame, ranked: polars.DataFrame, objective: Objective) -> str:
    """The points that a ranking leaves out since they have only bounds, and those of them that may belong into it."""
    bounded = count_bounded(table)
    if not bounded:
        return "; all are bounds" if is_bounded(ranked).any() else ""
    told = f"; {bounded:,} more {'has' if bounded == 1 else 'have'} only bounds"
    better = count_possibly_better(table, objective, float(ranked[objective.column][-1])) if len(ranked) else 0
    return f"{told}, by which {better:,} may stand among these" if better else told


def mark_bounds(table: polars.DataFrame, column: str, cells: Sequence[str]) -> list[str]:
    """The cells of a column with ≥ or ≤ before those that are bounds."""
    return [text and MARKS[sense] + text for text, sense in zip(cells, find_senses(table, column), strict=True)]


def format_value(value: object) -> str:
    """The text of a value of any column."""
    if value is None:
        return ""
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _points(table: polars.DataFrame, rows: polars.DataFrame, objectives: Sequence[Objective], title: str) -> Points:
    columns = []
    for name in shown_columns(table, objectives):
        heading = _heading(name) if name in COLUMNS else name.replace(".", ".\n")
        spare = VERSUS if name.endswith(VERSUS) else ""
        right = table[name].dtype.is_numeric()
        columns.append(Column(heading, _cells(rows, name), right, spare))
    of_workload = _bench_columns if "bottleneck" in table.columns else _traffic_columns
    return Points(title, [*columns, *of_workload(rows, [column.heading for column in columns])])


def _traffic_columns(rows: polars.DataFrame, headings: Sequence[str]) -> Iterator[Column]:
    for name in TRAFFIC:
        if name in rows.columns and rows[name].count() and _heading(name) not in headings:
            yield Column(_heading(name), _cells(rows, name), True, name)


def _bench_columns(rows: polars.DataFrame, headings: Sequence[str]) -> Iterator[Column]:
    if "TFLOPS" not in headings:
        yield Column("TFLOPS", _cells(rows, "achieved_tflops"), True, "TFLOPS")
    if "tflops_of_peak" in rows.columns and rows["tflops_of_peak"].sum():
        of_peak = mark_bounds(rows, "tflops_of_peak", _percents(rows["tflops_of_peak"]))
        yield Column("of peak", of_peak, True, "of peak")
    yield Column("busy", _percents(rows["bottleneck_utilisation"]), True, "busy")
    yield Column("bottleneck", [name or "" for name in rows["bottleneck"]], False, "bottleneck")


def _percents(shares: Iterable[float | None]) -> list[str]:
    return ["" if share is None else f"{share:.0%}" for share in shares]


def _cells(rows: polars.DataFrame, column: str) -> list[str]:
    return mark_bounds(rows, column, [_cell(column, value) for value in rows[column]])


def _cell(column: str, value: Any) -> str:
    if value is not None and column.endswith("_ns") and column in COLUMNS:
        return f"{value:,.1f}"
    if value is not None and column == "achieved_tflops":
        return f"{value:,.3f}"
    return format_value(value)


def _heading(column: str) -> str:
    words = column.replace("_ns", " ns").replace("achieved_", "").replace("_", " ")
    return "TFLOPS" if words == "tflops" else words


def _broken(heading: str) -> str:
    """A heading with one word on each line."""
    return re.sub(r"([._])\n?|\s", r"\1\n", heading.removeprefix(f"{TOPOLOGY}\n"))


def _empty(title: str | None = None) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(
        title=title, title_justify="left", title_style="bold", caption_justify="left", box=SIMPLE_HEAD, pad_edge=False
    )
