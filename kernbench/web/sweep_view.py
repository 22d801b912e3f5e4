"""What the page shows of a sweep: its state in a few words, and its table as Arrow.

The table is that of the sweep, or while it runs the one so far. It is read again when the file has changed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.atomic_output import unreadable
from kernbench.errors import InputError, shorten
from kernbench.report.objectives import default_objectives
from kernbench.schema.guards import is_list, is_mapping
from kernbench.sealing import read_sealed_parquet
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import is_bounded
from kernbench.sweep.results.file_names import MANIFEST, PROGRESS, TABLE
from kernbench.sweep.results.pareto import pareto_front
from kernbench.sweep.row import BOUND, COLUMNS
from kernbench.web.arrow import to_arrow
from kernbench.web.sources import SweepSource

if TYPE_CHECKING:
    import polars

UNSHOWN = ("key", "bench_digest", "topology_digest", "kernbench", "program_digest")
KEY_DIGITS = 16  # of a key, enough to tell the points of a sweep apart
KEY, FRONT, BOUNDED = "_key", "_front", "_bounded"  # columns of the Arrow table: of the row; on the front; bounds alone
TOLD = ("description", "workload", "bench", "topology", "mode")
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass(frozen=True, slots=True)
class SweepTable:
    """The table of a sweep as the page gets it."""

    version: str  # of the files it was made of
    running: bool
    rows: int
    parameters: tuple[str, ...]
    objectives: tuple[Objective, ...]
    arrow: bytes


def find_version(source: SweepSource) -> str:
    """A text that changes when the files of a sweep change. Errors: InputError as `SweepSource.file`, or if it is gone."""
    if not source.directory.is_dir():
        raise InputError(f"{source.directory} is not there any more")
    return ";".join(f"{name}:{_stamp(source.file(name))}" for name in (PROGRESS, TABLE, MANIFEST))


def read_manifest(source: SweepSource) -> dict[str, Any]:
    """What `sweep.json` says of the sweep; what it does not say, or says in another form, is left out."""
    try:
        found = json.loads(source.file(MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not is_mapping(found):
        return {}
    texts = {name: found[name] for name in TOLD if isinstance(found.get(name), str)}
    counts = {name: found[name] for name in ("points", "most_points") if isinstance(found.get(name), int)}
    objectives = found.get("objectives")
    return {**texts, **counts, "objectives": objectives if is_list(objectives) else []}


def load_table(source: SweepSource) -> SweepTable:
    """The table of a sweep, or its rows so far. Errors: InputError for a file that is no table of a sweep."""
    version = find_version(source)
    path = next((file for name in (PROGRESS, TABLE) if (file := source.file(name)).is_file()), None)
    if path is None:
        return SweepTable(version, True, 0, (), (), b"")
    try:
        table = read_sealed_parquet(path)
        given = read_manifest(source).get("objectives", [])
        objectives = _read_objectives(given, table) or default_objectives(table, of_traffic="accepted" in table.columns)
        parameters = tuple(table.columns[: next(i for i, name in enumerate(table.columns) if name in COLUMNS)])
        arrow = _show_table(table, objectives)
    except FileNotFoundError:  # it has just been finished: the next look finds the whole table
        return SweepTable(version, True, 0, (), (), b"")
    except (OSError, StopIteration, *_MALFORMED, *unreadable()) as error:
        raise InputError(f"{path} is not the table of a sweep ({shorten(error)}); make it again") from None
    return SweepTable(version, path.name == PROGRESS, len(table), parameters, objectives, arrow)


def describe(source: SweepSource, table: SweepTable) -> dict[str, Any]:
    """The state of a sweep for the page, in JSON's types."""
    told = read_manifest(source)
    points = max(told.get("most_points", told.get("points", 0)), table.rows)
    return {
        **{name: told.get(name) for name in TOLD},
        "name": source.name,
        "directory": str(source.directory),
        "version": table.version,
        "running": table.running,
        "rows": table.rows,
        "points": points,
        "parameters": list(table.parameters),
        "objectives": [{"column": one.column, "least": one.least} for one in table.objectives],
    }


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "-"
    return f"{found.st_mtime_ns}-{found.st_ino}-{found.st_size}"


def _read_objectives(given: list[Any], table: polars.DataFrame) -> tuple[Objective, ...]:
    """The objectives that a manifest names and the table has figures of."""
    found = [Objective(one["column"], bool(one["least"])) for one in given if is_mapping(one) and "column" in one]
    return tuple(one for one in found if one.column in table.columns and table[one.column].dtype.is_numeric())


def _show_table(table: polars.DataFrame, objectives: tuple[Objective, ...]) -> bytes:
    """The columns that the page shows: figures as float64 with nan for none, texts and truths as dictionaries."""
    import polars

    front = table["key"].is_in(pareto_front(table, objectives)["key"].to_list())
    shown = [name for name in table.columns if name not in UNSHOWN and not name.endswith(BOUND)]
    columns: list[polars.Series] = []
    for name in shown:
        column = table[name]
        if column.dtype.is_numeric():
            columns.append(column.cast(polars.Float64).fill_null(float("nan")))
        elif column.null_count() < len(column):
            columns.append(column.cast(polars.String).cast(polars.Categorical))
    frame = polars.DataFrame(
        [*columns, table["key"].str.head(KEY_DIGITS).alias(KEY), front.alias(FRONT), is_bounded(table).alias(BOUNDED)]
    )
    return to_arrow(frame)
