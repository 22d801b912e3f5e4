"""`report.md`: the results of a sweep as text.

Names, values and descriptions are shown as they are: what Markdown or HTML would read as markup has a backslash before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.report.pages.markdown import markdown_table, plain_markdown
from kernbench.report.tables.sweep_tables import (
    count_results,
    format_value,
    mark_bounds,
    sensitivity_cells,
    sensitivity_heads,
    shown_columns,
    tell_others,
    tell_selection,
)
from kernbench.report.unequal_work import tell_unequal_work
from kernbench.sweep.grid.grid import Grid, Objective
from kernbench.sweep.results.bounds import answerable, count_bounded, count_possibly_better, is_bounded, possible
from kernbench.sweep.results.pareto import best_point, pareto_front, rank_points, with_figure
from kernbench.sweep.results.sensitivity import Sensitivity
from kernbench.sweep.results.store import write_whole
from kernbench.sweep.results.swept_axes import find_swept, short_name, title_of
from kernbench.sweep.row import FEASIBLE, OK, VERSUS
from kernbench.text import plural

if TYPE_CHECKING:
    import polars

MOST_ROWS = 25
MOST_VALUES = 8
_FIRST = re.compile(r"^(?=[#>+-])")  # what makes a line more than a paragraph


def write_report(
    grid: Grid,
    table: polars.DataFrame,
    objectives: Sequence[Objective],
    found: Sequence[Sensitivity],
    pictures: Mapping[str, Path],
    path: Path,
    ranking: Sequence[str] = (),
) -> Path:
    """Write the report; returns its path. `ranking`: how certain the order of its points is, in sentences.

    Errors: InputError if it cannot be written.
    """
    lines = [f"# {_line(grid.description or grid.name)}", "", *_summary(grid, table, objectives), ""]
    ranked = rank_points(table, objectives[0], MOST_ROWS)
    known = len(with_figure(answerable(table), objectives[0].column))
    others = tell_others(table, ranked, objectives[0])
    best = _points(table, ranked, objectives, known)
    told = [f"Of {count_results(table)}{others}."] if others else []
    told += [f"{_line(sentence[0].upper() + sentence[1:])}." for sentence in ranking]
    lines += _section("Best points", [*best, *(text for sentence in told for text in ("", sentence))])
    if len(objectives) > 1:
        front = pareto_front(table, objectives)
        lines += _section("Pareto front", _points(table, front, objectives, len(front)))
    if found:
        rows = markdown_table(sensitivity_heads(found), map(sensitivity_cells, found))
        told = tell_selection(found)
        lines += _section("What moves the objectives", [f"Averages{told}.", "", *rows] if told else rows)
    for name, picture in pictures.items():
        lines += [f"![{name}]({picture.name})", ""]
    lines += _section("Points that failed", _failures(table))
    write_whole(path, lambda file: file.write_text("\n".join(lines), encoding="utf-8"))
    return path


def summarise(grid: Grid, table: polars.DataFrame, objectives: Sequence[Objective]) -> list[str]:
    """The grid and its best points, in a few sentences."""
    finished = int((table["status"] == OK).sum())
    sentences = [
        f"{grid.workload} on {grid.topology}, {grid.mode} mode, method {grid.method}: {plural(len(table), 'point')}"
    ]
    if finished < len(table):
        sentences[0] += f", {len(table) - finished} of which failed"
    if FEASIBLE in table.columns:
        open_ = int(table[FEASIBLE].is_null().sum())
        sentences[0] += f"; {int(table[FEASIBLE].sum())} keep the conditions on their results"
        sentences[0] += f", {open_} may do so by their bounds" if open_ else ""
    if bounded := count_bounded(table):
        sentences.append(
            f"{len(table) - bounded:,} of them simulated, which alone are ranked and averaged; the others, whose fidelity is "
            "analytic, have only bounds: times are at least (≥), rates at most (≤) what is shown"
        )
    elif is_bounded(table).any():
        sentences.append(
            "none of them simulated: figures are bounds, times at least (≥), rates at most (≤) what is shown"
        )
    for objective in objectives:
        ranked = best_point(table, objective, objectives)
        if not len(ranked):
            continue
        best = ranked.row(0, named=True)
        where = _tell_point(table, best)
        (figure,) = mark_bounds(ranked, objective.column, [format_value(best[objective.column])])
        sentence = f"{objective}: {figure}" + (f" at {where}" if where else "")
        if best.get(objective.column + VERSUS) is not None:
            sentence += f"; {best[objective.column + VERSUS]:.3g} of its baseline's"
        if better := count_possibly_better(table, objective, float(best[objective.column])):
            sentence += f"; {plural(better, 'point')} that {_was(better)} not simulated may be better"
        sentences.append(sentence)
    warned = [*tell_unequal_work(table, objectives), *tell_free(grid, table, objectives)]
    return [*sentences, *warned, *find_gaps(grid, table)]


def find_free(grid: Grid, table: polars.DataFrame, objectives: Sequence[Objective]) -> list[str]:
    """The axes that add hardware which costs nothing in objectives that the grid did not ask for; none if it did."""
    if grid.objectives:
        return []
    wanted = {objective.column for objective in objectives}
    axes = (axis for axis in find_swept(table) if axis.adds_hardware)
    return [axis.column for axis in axes if not wanted & {axis.column, *axis.companions}]


def tell_free(grid: Grid, table: polars.DataFrame, objectives: Sequence[Objective]) -> list[str]:
    """A sentence that says which hardware counts as free by default, if any does."""
    free = find_free(grid, table, objectives)
    if not free:
        return []
    default = " and ".join(map(str, objectives))
    return [
        f"the grid has no objectives; in the default, {default}, hardware counts as free, so that twice as much of "
        f"{', '.join(map(short_name, free))} costs nothing: "
        f"give derived: {{cost: …}} and objectives: [{objectives[0]}, min cost]"
    ]


def _tell_point(table: polars.DataFrame, row: Mapping[str, Any]) -> str:
    """The values of a row in the axes of its table: "M = 64, hbm.channel_gbs = 32 GB/s"."""
    shown: list[str] = []
    for axis in find_swept(table):
        unit = axis.unit if axis.numeric and axis.unit else ""
        shown.append(f"{short_name(axis.column)} = {format_value(row[axis.column])} {unit}".rstrip())
    return ", ".join(shown)


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def find_gaps(grid: Grid, table: polars.DataFrame) -> list[str]:
    """Sentences about finished points that are left out: formulas without a value, conditions that no point meets."""
    finished = table.filter(table["status"] == OK)
    gaps: list[str] = []
    for derived in grid.derived:
        without = finished.filter(finished[derived.name].is_null())
        if len(without):
            first = without.row(0, named=True)
            where = _tell_point(table, first)
            place = f", as at {where}" if where and len(without) < len(finished) else ""
            formula = f"{derived.expression.text!r} has no value there"
            if is_bounded(without).all():
                formula = f"{derived.expression.text!r} bounds nothing where times and rates are bounds"
            gaps.append(f"{plural(len(without), 'point')} without {derived.name}, since {formula}{place}")
    if FEASIBLE in table.columns and len(finished) and not len(possible(table)):
        gaps.append(f"none of {plural(len(finished), 'point')} keeps the conditions on results")
    return gaps


def _summary(grid: Grid, table: polars.DataFrame, objectives: Sequence[Objective]) -> list[str]:
    first, *rest = summarise(grid, table, objectives)
    return [f"{_line(first)}.", "", *(f"* {_line(sentence)}" for sentence in [*rest, *list_values(table)])]


def list_values(table: polars.DataFrame) -> Iterable[str]:
    """A line for each axis of a table, with its values."""
    for axis in find_swept(table):
        shown = [format_value(value) for value in axis.values]
        if len(shown) > MOST_VALUES:
            shown = [*shown[:MOST_VALUES], f"… ({len(shown)} values)"]
        yield f"{axis.title}: {', '.join(shown)}"


def _section(title: str, rows: list[str]) -> list[str]:
    return [f"## {title}", "", *rows, ""] if rows else []


def _points(table: polars.DataFrame, rows: polars.DataFrame, objectives: Sequence[Objective], count: int) -> list[str]:
    """The first of `count` rows."""
    columns = [*shown_columns(table, objectives), *(name for name in ("bottleneck",) if name in table.columns)]
    shown = rows.head(MOST_ROWS)
    cells = [mark_bounds(shown, name, list(map(format_value, shown[name]))) for name in columns]
    lines = markdown_table([title_of(name) for name in columns], zip(*cells, strict=True))
    return [*lines, "", f"{len(shown)} of {count:,}."] if count > len(shown) else lines


def _failures(table: polars.DataFrame) -> list[str]:
    failed = table.filter(table["status"] != OK)
    if failed.is_empty():
        return []
    columns = [axis.column for axis in find_swept(table)]
    rows = failed.select(*columns, "error").head(MOST_ROWS)
    lines = markdown_table([*map(title_of, columns), "error"], (map(format_value, row) for row in rows.iter_rows()))
    return [*lines, "", f"{len(rows)} of {len(failed)}."] if len(failed) > len(rows) else lines


def _line(text: str) -> str:
    return _FIRST.sub(r"\\", plain_markdown(text))
