"""Tables that are kept as parquet, also as CSV for other programs and as Markdown for pages.

CSV has all rows with all digits. Markdown has the first `MOST_ROWS`, and says how many there are.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.atomic_output import write_file
from kernbench.errors import InputError, shorten
from kernbench.report.pages.markdown import markdown_table

if TYPE_CHECKING:
    import polars

CSV, MARKDOWN = "csv", "md"
MOST_ROWS = 1000


def read_forms(text: str) -> tuple[str, ...]:
    """The forms of a text such as `csv,md`. Errors: InputError for another form."""
    forms = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for form in forms:
        if form not in (CSV, MARKDOWN):
            raise InputError(f"--format takes csv, md or csv,md, and got {shorten(repr(text))}")
    return forms


def write_forms(files: Mapping[str, object], forms: Container[str]) -> dict[str, str]:
    """Write each parquet file of `files` in each form beside it; returns the paths, by the file's name and the form.

    A form that lies there from an earlier run is written too, so that it is never older than the parquet file.
    Errors: RunError if the disk refuses.
    """
    made: dict[str, str] = {}
    for name, file in files.items():
        path = Path(str(file))
        if path.suffix != ".parquet":
            continue
        for form, write in ((CSV, _write_csv), (MARKDOWN, _write_markdown)):
            target = path.with_suffix(f".{form}")
            if form in forms or target.exists():
                write_file(target, lambda partial, write=write, path=path: write(_join_lists(path), partial))
                made[f"{name}_{form}"] = str(target)
    return made


def _join_lists(path: Path) -> polars.LazyFrame:
    """A parquet file, each list as one text of its values with blanks between: a cell of CSV or Markdown holds no list."""
    import polars

    return polars.scan_parquet(path).with_columns(
        polars.selectors.list().cast(polars.List(polars.String)).list.join(" ")
    )


def _write_csv(table: polars.LazyFrame, path: Path) -> None:
    table.sink_csv(path)


def _write_markdown(table: polars.LazyFrame, path: Path) -> None:
    import polars

    count = table.select(polars.len()).collect().item()
    rows = table.head(MOST_ROWS).collect()
    lines = markdown_table(rows.columns, ([_text(value) for value in row] for row in rows.iter_rows()))
    if count > MOST_ROWS:
        lines += ["", f"The first {MOST_ROWS:,} of {count:,} rows; all are in the parquet file."]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _text(value: object) -> str:
    return "" if value is None else str(value)
