"""Tables beside their parquet file, as CSV and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars
import pytest

from kernbench.errors import InputError
from kernbench.report.tables import table_files
from kernbench.report.tables.table_files import read_forms, write_forms

FIGURES = [0.1 + 0.2, 1 / 3, 1e300, 5e-324, 123456789.125]


def kept(directory: Path, **columns: Sequence[object]) -> dict[str, str]:
    path = directory / "table.parquet"
    polars.DataFrame(columns).write_parquet(path)
    return {"table": str(path), "plots": [], "result": "result.json"}  # type: ignore[dict-item]


def test_csv_has_all_digits(tmp_path: Path) -> None:
    files = kept(tmp_path, ns=FIGURES, name=["a,b", 'say "x"', None, "", "two\nlines"])
    assert write_forms(files, ("csv",)) == {"table_csv": str(tmp_path / "table.csv")}
    read = polars.read_csv(tmp_path / "table.csv")
    assert read["ns"].to_list() == FIGURES
    assert read["name"].to_list() == ["a,b", 'say "x"', None, "", "two\nlines"]


def test_a_list_is_one_cell(tmp_path: Path) -> None:
    write_forms(kept(tmp_path, row=[1, 2, 3], after=[[4, 5], [], None], names=[["a", "b"], ["c"], []]), ("csv", "md"))
    assert (tmp_path / "table.csv").read_text().splitlines() == ["row,after,names", "1,4 5,a b", '2,"",c', '3,,""']
    assert (tmp_path / "table.md").read_text().splitlines()[2:] == ["| 1 | 4 5 | a b |", "| 2 |  | c |", "| 3 |  |  |"]


def test_markdown_escapes_and_ends_after_its_first_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "MOST_ROWS", 2)
    write_forms(kept(tmp_path, ns=[0.1 + 0.2, None, 1.0], name=["a|b", "*", "c"]), ("md",))
    assert (tmp_path / "table.md").read_text().splitlines() == [
        "| ns | name |",
        "|---|---|",
        "| 0.30000000000000004 | a\\|b |",
        "|  | \\* |",
        "",
        "The first 2 of 3 rows; all are in the parquet file.",
    ]


def test_a_form_that_is_there_is_never_older_than_the_table(tmp_path: Path) -> None:
    write_forms(kept(tmp_path, M=[1]), ("csv",))
    assert write_forms(kept(tmp_path, M=[2]), ()) == {"table_csv": str(tmp_path / "table.csv")}
    assert (tmp_path / "table.csv").read_text() == "M\n2\n"


def test_forms_are_read_from_a_text() -> None:
    assert read_forms("csv, md,csv") == ("csv", "md")
    with pytest.raises(InputError, match="--format takes csv, md or csv,md, and got 'xlsx'"):
        read_forms("xlsx")
