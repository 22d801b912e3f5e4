"""What the page shows of a sweep: its state in a few words, and its table as Arrow.

The table is that of the sweep, or while it runs the one so far. It is read again when the file has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.atomic_output import unreadable
from kernbench.errors import InputError, shorten
from kernbench.report.colours import tell_axes
from kernbench.report.pages.page_data import describe_sweep, find_parameters, make_arrow
from kernbench.schema.guards import is_mapping
from kernbench.sealing import read_sealed_parquet
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.file_names import MANIFEST, PROGRESS, TABLE
from kernbench.sweep.results.manifest import read_manifest
from kernbench.sweep.results.objectives import default_objectives
from kernbench.sweep.results.swept_axes import find_swept
from kernbench.web.sources import SweepSource

if TYPE_CHECKING:
    import polars

_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass(frozen=True, slots=True)
class SweepTable:
    """The table of a sweep as the page gets it."""

    version: str  # of the files it was made of
    running: bool
    rows: int
    parameters: tuple[str, ...]
    objectives: tuple[Objective, ...]
    colours: Mapping[str, Any]  # of axes
    arrow: bytes


def find_version(source: SweepSource) -> str:
    """A text that changes when the files of a sweep change. Errors: InputError as `SweepSource.file`, or if it is gone."""
    if not source.directory.is_dir():
        raise InputError(f"{source.directory} is not there any more")
    return ";".join(f"{name}:{_stamp(source.file(name))}" for name in (PROGRESS, TABLE, MANIFEST))


def load_table(source: SweepSource) -> SweepTable:
    """The table of a sweep, or its rows so far. Errors: InputError for a file that is no table of a sweep."""
    version = find_version(source)
    path = next((file for name in (PROGRESS, TABLE) if (file := source.file(name)).is_file()), None)
    if path is None:
        return SweepTable(version, True, 0, (), (), {}, b"")
    try:
        table = read_sealed_parquet(path)
        given = read_manifest(source.file(MANIFEST)).get("objectives", [])
        objectives = _read_objectives(given, table) or default_objectives(table, of_traffic="accepted" in table.columns)
        parameters = find_parameters(table)
        colours, arrow = tell_axes(find_swept(table)), make_arrow(table, objectives)
    except FileNotFoundError:  # it has just been finished: the next look finds the whole table
        return SweepTable(version, True, 0, (), (), {}, b"")
    except (OSError, StopIteration, *_MALFORMED, *unreadable()) as error:
        raise InputError(f"{path} is not the table of a sweep ({shorten(error)}); make it again") from None
    return SweepTable(version, path.name == PROGRESS, len(table), parameters, objectives, colours, arrow)


def describe(source: SweepSource, table: SweepTable) -> dict[str, Any]:
    """The state of a sweep for the page, in JSON's types."""
    told = read_manifest(source.file(MANIFEST))
    points = max(told.get("most_points", told.get("points", 0)), table.rows)
    return {
        **describe_sweep(told, table.objectives, table.colours),
        "name": source.name,
        "directory": str(source.directory),
        "version": table.version,
        "running": table.running,
        "rows": table.rows,
        "points": points,
        "parameters": list(table.parameters),
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
