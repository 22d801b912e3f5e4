"""Check the table of an evaluation before it is plotted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernbench.errors import InputError

if TYPE_CHECKING:
    import polars


def check_table(table: polars.DataFrame, columns: Iterable[str], title: str, name: str) -> None:
    """Errors: InputError if the table of the evaluation `name`, of that title, lacks one of its columns or all rows."""
    missing = [column for column in columns if column not in table.columns]
    if missing or table.is_empty():
        lacks = f"the column {missing[0]!r}" if missing else "rows"
        raise InputError(f"the table of the {title} evaluation lacks {lacks}; run `kernbench evaluate {name}` again")
