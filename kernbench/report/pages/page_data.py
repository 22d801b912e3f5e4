"""What a page shows of a sweep, for `report.html` and for the viewer: its state as JSON, its points as Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernbench.report.pages.arrow import to_arrow
from kernbench.report.tables.sweep_tables import MARKS
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import is_bounded, sense_of
from kernbench.sweep.results.error_bars import HIGH, LOW
from kernbench.sweep.results.pareto import pareto_front
from kernbench.sweep.row import BOUND, COLUMNS, STAMP, VERSUS
from kernbench.text import plural

if TYPE_CHECKING:
    import polars

UNSHOWN = ("key", "program_digest", *STAMP)
KEY_DIGITS = 16  # of a key, enough to tell the points of a sweep apart
KEY, FRONT, BOUNDED = "_key", "_front", "_bounded"  # columns of the Arrow table: of the row; on the front; bounds alone
MARK = "_mark."  # before the name of a column: its marks of figures that are bounds
TOLD = ("description", "workload", "bench", "topology", "mode")
DIGITS = 16  # of a digest that is shown


def find_parameters(table: polars.DataFrame) -> tuple[str, ...]:
    """The columns of a table that are parameters. Errors: StopIteration if it is not the table of a sweep."""
    return tuple(table.columns[: next(i for i, name in enumerate(table.columns) if name in COLUMNS)])


def describe_sweep(
    manifest: Mapping[str, Any], objectives: Sequence[Objective], colours: Mapping[str, Any]
) -> dict[str, Any]:
    """The part of a page's state that `sweep.json`, the objectives and the colours of axes give, in JSON's types."""
    return {
        **{name: manifest.get(name) for name in TOLD},
        "objectives": [{"column": one.column, "least": one.least} for one in objectives],
        "colours": dict(colours),
        "about": tell_origin(manifest),
    }


def tell_origin(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What made a sweep, as names with texts: version, command, grid, workload, machine, date. The unknown is left out."""
    digests: Mapping[str, str] = manifest.get("digests", {})
    origin = [
        ("KernBench", manifest.get("kernbench", "")),
        ("Command", manifest.get("command", "kernbench.sweep, from Python" if "date" in manifest else "")),
        ("Grid", ", ".join(filter(None, (_file_of(manifest), _method_of(manifest), _points_of(manifest))))),
        ("Workload", manifest.get("workload", "")),
        ("Machine", manifest.get("topology", "")),
        ("Mode", manifest.get("mode", "")),
        ("Date", manifest.get("date", "")),
        *((f"Digest of {name}", digest[:DIGITS]) for name, digest in digests.items() if name != "KernBench"),
    ]
    return [(name, text) for name, text in origin if text]


def _file_of(manifest: Mapping[str, Any]) -> str:
    file = manifest.get("file", "")
    return "" if file == "grid" else file  # of a mapping, or of options of the command


def _method_of(manifest: Mapping[str, Any]) -> str:
    return f"method {manifest['method']}" if "method" in manifest else ""


def _points_of(manifest: Mapping[str, Any]) -> str:
    most = max(manifest.get("most_points", 0), manifest.get("points", 0))
    return plural(most, "point") if most else ""


def make_arrow(table: polars.DataFrame, objectives: Sequence[Objective]) -> bytes:
    """The Arrow file of a page: figures as float64 with nan for none, texts and truths as dictionaries.

    It has all columns of the table but digests, and those above: `KEY`, `FRONT`, `BOUNDED`, and with `MARK` the marks of
    figures that are bounds.
    """
    import polars

    front = table["key"].is_in(pareto_front(table, objectives)["key"].to_list())
    bounded = is_bounded(table)
    bars = [name for name in (LOW, HIGH) if name in table.columns]
    shown = [name for name in table.columns if name not in (*UNSHOWN, *bars) and not name.endswith(BOUND)]
    if bars:  # beside what they are the bars of
        at = shown.index("latency_ns") + 1
        shown[at:at] = bars
    columns = [column for name in shown if (column := _to_page(table[name])) is not None]
    marks = [_marks_of(table, column.name, bounded) for column in columns] if bounded.any() else []
    own = [table["key"].str.head(KEY_DIGITS).alias(KEY), front.alias(FRONT), bounded.alias(BOUNDED)]
    return to_arrow(polars.DataFrame([*columns, *(mark for mark in marks if mark is not None), *own]))


def _to_page(column: polars.Series) -> polars.Series | None:
    """A column as the page reads it; None if it is a text that no row has."""
    import polars

    if column.dtype.is_numeric():
        return column.cast(polars.Float64).fill_null(float("nan"))
    return column.cast(polars.String).cast(polars.Categorical) if column.null_count() < len(column) else None


def _marks_of(table: polars.DataFrame, name: str, bounded: polars.Series) -> polars.Series | None:
    """The mark before each figure of a column that is a bound; None if the column has no such figures."""
    import polars

    own = name.removesuffix(VERSUS) + BOUND
    sense = polars.col(own) if own in table.columns else polars.lit(sense_of(name))
    marks = {sense: mark for sense, mark in MARKS.items() if sense}
    marked = sense.cast(polars.String).replace_strict(marks, default=None, return_dtype=polars.String)
    found = table.select(polars.when(bounded).then(marked).alias(MARK + name)).to_series()
    return found.cast(polars.Categorical) if found.null_count() < len(found) else None
