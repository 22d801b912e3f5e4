"""Results of a sweep as tables on the terminal: the best points, the Pareto front, the sensitivities."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import count_bounded, count_possibly_better, find_senses, is_bounded
from kernbench.sweep.results.error_bars import HIGH, LOW
from kernbench.sweep.results.pareto import pareto_front, rank_points
from kernbench.sweep.results.sensitivity import Sensitivity
from kernbench.sweep.results.swept_axes import find_swept, short_name
from kernbench.sweep.row import COLUMNS, LOWER, UPPER, VERSUS
from kernbench.text import plural
from kernbench.text_table import DEAR, KEEP, Column, TextTable

if TYPE_CHECKING:
    import polars

# Ranks of the columns of points: what is low is left out first. Objectives, and what says why (busy, bottleneck), stay.
RANKS = {
    VERSUS: 1,
    "tflops_of_peak": 2,
    "achieved_tflops": 3,
    "achieved_gbs": 3,
    "latency_ns": 4,
    "saturation_load": 5,
    "p99_ns": 6,
    "accepted": 7,
}
DECIMALS = {
    LOW: ",.1f",
    HIGH: ",.1f",
    "achieved_tflops": ",.3f",
    "achieved_gbs": ",.1f",
    "accepted": ",.3f",
    "saturation_load": ",.3f",
}
UNITS = {"tflops": "TFLOPS", "gbs": "GB/s"}
RANKED = 10  # points of the table of the best
PARAMETERS = DEAR  # the rank of all varying parameters: the last ones go first
TRAFFIC = ("accepted", "p99_ns", "saturation_load")
WHOLE = "in table.parquet"
SENSITIVITY_RANKS = {"1 % more gives": 1, "worst at": 2, "between them": 3}
WHOLE_SENSITIVITIES = "in report.md"
MARKS: dict[str | None, str] = {LOWER: "≥ ", UPPER: "≤ ", None: ""}  # before a figure


def best_points(table: polars.DataFrame, objectives: Sequence[Objective], most: int = RANKED) -> TextTable:
    """The best `most` points by the first objective: varying parameters, objectives, latency, and bottleneck or throughput."""
    ranked = rank_points(table, objectives[0], most)
    title = f"best {len(ranked)} of {count_results(table)} by {objectives[0].column}{tell_others(table, ranked, objectives[0])}"
    return _points(table, ranked, objectives, title)


def front_points(table: polars.DataFrame, objectives: Sequence[Objective], most: int = 20) -> TextTable:
    """The Pareto front, at most its first `most` points."""
    front = pareto_front(table, objectives)
    wanted = ", ".join(map(str, objectives))
    title = f"Pareto front of {wanted}: {len(front)} of {plural(len(table), 'point')}"
    if len(front) > most:
        title += f", {most} shown"
    return _points(table, front.head(most), objectives, title)


def sensitivity_table(found: Sequence[Sensitivity]) -> TextTable:
    """The sensitivities of the objectives to the parameters."""
    heads = sensitivity_heads(found)
    cells = zip(*map(sensitivity_cells, found), strict=True)
    columns = [
        Column(heading, texts, right=heading in heads[-3:], rank=SENSITIVITY_RANKS.get(heading, KEEP))
        for heading, texts in zip(heads, cells, strict=True)
    ]
    title = f"what moves the objectives, each parameter averaged over all others{tell_selection(found)}"
    return TextTable(columns, title, WHOLE_SENSITIVITIES)


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
    bars = [name for name in (LOW, HIGH) if name in table.columns]
    return list(dict.fromkeys([*varying, *wanted, *versus, "latency_ns", *bars]))


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


def _points(table: polars.DataFrame, rows: polars.DataFrame, objectives: Sequence[Objective], title: str) -> TextTable:
    wanted = {objective.column for objective in objectives}
    columns = {name: _column(name, rows, wanted) for name in shown_columns(table, objectives)}
    columns |= dict((_bench_columns if "bottleneck" in table.columns else _traffic_columns)(rows, columns))
    return TextTable([*columns.values()], title, WHOLE)


def _column(name: str, rows: polars.DataFrame, objectives: Container[str]) -> Column:
    of_results = name in (*COLUMNS, LOW, HIGH) or name.endswith(VERSUS)
    rank = RANKS.get(VERSUS if name.endswith(VERSUS) else name, KEEP if name in COLUMNS else PARAMETERS)
    return Column(
        _heading(name) if of_results else short_name(name),
        _cells(rows, name),
        right=rows[name].dtype.is_numeric(),
        rank=KEEP if name in objectives else rank,
    )


def _traffic_columns(rows: polars.DataFrame, shown: Container[str]) -> Iterator[tuple[str, Column]]:
    for name in TRAFFIC:
        if name in rows.columns and rows[name].count() and name not in shown:
            yield name, _column(name, rows, ())


def _bench_columns(rows: polars.DataFrame, shown: Container[str]) -> Iterator[tuple[str, Column]]:
    rate = "achieved_tflops" if rows["achieved_tflops"].sum() else "achieved_gbs"
    if rate in rows.columns and rate not in shown:
        yield rate, _column(rate, rows, ())
    if "tflops_of_peak" in rows.columns and rows["tflops_of_peak"].sum():
        of_peak = mark_bounds(rows, "tflops_of_peak", _percents(rows["tflops_of_peak"]))
        yield "tflops_of_peak", Column("of peak", of_peak, right=True, rank=RANKS["tflops_of_peak"])
    if rows["bottleneck"].count():  # bounds have none
        yield "busy", Column("busy", _percents(rows["bottleneck_utilisation"]), right=True)
        yield "bottleneck", Column("bottleneck", [name or "" for name in rows["bottleneck"]])
    if "collective_algorithm" in rows.columns and rows["collective_algorithm"].count():
        yield (
            "collective_algorithm",
            Column("collective algorithm", [name or "" for name in rows["collective_algorithm"]]),
        )


def _percents(shares: polars.Series) -> list[str]:
    """Shares in whole percents; all with decimals if none reaches ten."""
    most = float(shares.fill_null(0).max() or 0)  # pyright: ignore[reportArgumentType]
    form = ".0%" if most >= 0.1 else ".1%" if most >= 0.01 else ".2%"
    return ["" if share is None else f"{share:{form}}" for share in shares]


def _cells(rows: polars.DataFrame, column: str) -> list[str]:
    return mark_bounds(rows, column, [_cell(column, value) for value in rows[column]])


def _cell(column: str, value: Any) -> str:
    form = ",.1f" if column.endswith("_ns") and column in COLUMNS else DECIMALS.get(column)
    return format_value(value) if value is None or form is None else f"{value:{form}}"


def _heading(column: str) -> str:
    words = column.replace("_ns", " ns").replace("achieved_", "").replace("_", " ")
    return UNITS.get(words, words)
