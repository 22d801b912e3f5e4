"""Check the table of an evaluation before it is plotted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernbench.errors import InputError, shorten

if TYPE_CHECKING:
    import polars

SIGNED = ("error",)
NULLABLE = ("verified", "bound_ns", "times_bound")  # null where nothing was asked or stated


def check_table(table: polars.DataFrame, columns: Mapping[str, type], title: str, name: str) -> None:
    """Check the table of the evaluation `name`, of that title, against the type of each column.

    Errors: InputError if it lacks a column or all rows, or has a value that no run gives.
    """
    missing = [column for column in columns if column not in table.columns]
    if missing or table.is_empty():
        lacks = f"the column {missing[0]!r}" if missing else "rows"
        raise InputError(f"the table of the {title} evaluation lacks {lacks}; run `kernbench evaluate {name}` again")
    for column, kind in columns.items():
        for value in table[column].to_list():
            if not _is_given_by_a_run(column, kind, value):
                raise InputError(
                    f"the table of the {title} evaluation has {shorten(repr(value))} in the column {column!r}; "
                    f"run `kernbench evaluate {name}` again"
                )


def _is_given_by_a_run(column: str, kind: type, value: object) -> bool:
    """Whether it has the type of its column; numbers are finite, and the time of a run is not 0."""
    if value is None:
        return column in NULLABLE
    if type(value) is not kind:
        return False
    if isinstance(value, float):
        least = -float("inf") if column in SIGNED else 0
        return (value > 0 if column in ("latency_ns", "pe_exec_ns") else value >= least) and abs(value) < float("inf")
    return True
