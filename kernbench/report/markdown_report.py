"""`report.md`: the results of a sweep as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.report.sensitivity import Sensitivity
from kernbench.report.swept_axes import find_swept, title_of
from kernbench.report.table import count_bounded, format_value, rank_points, sensitivity_cells, shown_columns
from kernbench.sweep.grid.grid import Grid, Objective
from kernbench.sweep.results.pareto import answerable, pareto_front, with_figure
from kernbench.sweep.results.store import write_whole
from kernbench.sweep.row import FEASIBLE, OK, VERSUS
from kernbench.text import plural

if TYPE_CHECKING:
    import polars

MOST_ROWS = 25
MOST_VALUES = 8
SENSITIVITY_HEADS = ("objective", "parameter", "best at", "worst at", "between them", "of variance", "1 % more gives")


def write_report(
    grid: Grid,
    table: polars.DataFrame,
    objectives: Sequence[Objective],
    found: Sequence[Sensitivity],
    pictures: Mapping[str, Path],
    path: Path,
) -> Path:
    """Write the report; returns its path. Errors: InputError if it cannot be written."""
    lines = [f"# {grid.description or grid.name}", "", *_summary(grid, table, objectives), ""]
    ranked = rank_points(table, objectives[0], MOST_ROWS)
    known = len(with_figure(answerable(table), objectives[0].column))
    lines += _section("Best points", _points(table, ranked, objectives, known))
    if len(objectives) > 1:
        front = pareto_front(table, objectives)
        lines += _section("Pareto front", _points(table, front, objectives, len(front)))
    if found:
        lines += _section("What moves the objectives", _rows(SENSITIVITY_HEADS, map(sensitivity_cells, found)))
    for name, picture in pictures.items():
        lines += [f"![{name}]({picture.name})", ""]
    lines += _section("Points that failed", _failures(table))
    write_whole(path, lambda file: file.write_text("\n".join(lines), encoding="utf-8"))
    return path


def summarise(grid: Grid, table: polars.DataFrame, objectives: Sequence[Objective]) -> list[str]:
    """The grid and its best points, in a few sentences."""
    done = answerable(table)
    finished = int((table["status"] == OK).sum())
    sentences = [
        f"{grid.bench} on {grid.topology}, {grid.mode} mode, method {grid.method}: {plural(len(table), 'point')}"
    ]
    if finished < len(table):
        sentences[0] += f", {len(table) - finished} of which failed"
    if FEASIBLE in table.columns:
        sentences[0] += f"; {len(done)} keep the conditions on their results"
    if bounded := count_bounded(table):
        sentences.append(
            f"{len(table) - bounded:,} of them simulated; of the others, whose fidelity is analytic, figures are bounds: "
            "the least time, the highest rate"
        )
    front = pareto_front(table, objectives)
    for objective in objectives:
        ranked = rank_points(front if len(front) else table, objective, 1)  # of equal points, one on the front
        if not len(ranked):
            continue
        best = ranked.row(0, named=True)
        where = ", ".join(f"{title_of(axis.column)} = {format_value(best[axis.column])}" for axis in find_swept(table))
        sentence = f"{objective}: {format_value(best[objective.column])}" + (f" at {where}" if where else "")
        if best.get(objective.column + VERSUS) is not None:
            sentence += f"; {best[objective.column + VERSUS]:.3g} of its baseline's"
        sentences.append(sentence)
    return [*sentences, *find_gaps(grid, table)]


def find_gaps(grid: Grid, table: polars.DataFrame) -> list[str]:
    """Sentences about finished points that are left out: formulas without a value, conditions that no point meets."""
    finished = table.filter(table["status"] == OK)
    gaps = []
    for derived in grid.derived:
        without = finished.filter(finished[derived.name].is_null())
        if len(without):
            first = without.row(0, named=True)
            where = ", ".join(
                f"{title_of(axis.column)} = {format_value(first[axis.column])}" for axis in find_swept(table)
            )
            place = f", as at {where}" if where and len(without) < len(finished) else ""
            formula = f"{derived.expression.text!r} has no value there"
            gaps.append(f"{plural(len(without), 'point')} without {derived.name}, since {formula}{place}")
    if FEASIBLE in table.columns and len(finished) and not finished[FEASIBLE].any():
        gaps.append(f"none of {plural(len(finished), 'point')} keeps the conditions on results")
    return gaps


def _summary(grid: Grid, table: polars.DataFrame, objectives: Sequence[Objective]) -> list[str]:
    first, *rest = summarise(grid, table, objectives)
    return [f"{first}.", "", *(f"* {sentence}" for sentence in [*rest, *_varied(table)])]


def _varied(table: polars.DataFrame) -> Iterable[str]:
    for axis in find_swept(table):
        shown = [format_value(value) for value in axis.values]
        if len(shown) > MOST_VALUES:
            shown = [*shown[:MOST_VALUES], f"… ({len(shown)} values)"]
        yield f"{axis.title}: {', '.join(shown)}"


def _section(title: str, rows: list[str]) -> list[str]:
    return [f"## {title}", "", *rows, ""] if rows else []


def _points(table: polars.DataFrame, rows: polars.DataFrame, objectives: Sequence[Objective], count: int) -> list[str]:
    """The first of `count` rows."""
    columns = [*shown_columns(table, objectives), "bottleneck"]
    shown = rows.select(columns).head(MOST_ROWS)
    lines = _rows([title_of(name) for name in columns], (map(format_value, row) for row in shown.iter_rows()))
    return [*lines, "", f"{len(shown)} of {count:,}."] if count > len(shown) else lines


def _failures(table: polars.DataFrame) -> list[str]:
    failed = table.filter(table["status"] != OK)
    if failed.is_empty():
        return []
    columns = [axis.column for axis in find_swept(table)]
    rows = failed.select(*columns, "error").head(MOST_ROWS)
    lines = _rows([*map(title_of, columns), "error"], (map(format_value, row) for row in rows.iter_rows()))
    return [*lines, "", f"{len(rows)} of {len(failed)}."] if len(failed) > len(rows) else lines


def _rows(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    lines = ["| " + " | ".join(_cell(text) for text in row) + " |" for row in (heads, *map(tuple, rows))]
    return [lines[0], "|" + "---|" * len(heads), *lines[1:]]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
