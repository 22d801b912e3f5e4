from __future__ import annotations

from kernbench.sweep.row import COLUMNS, ERROR, STAMP, failed_row, ok_row
from tests.sweep import fakes


def test_a_finished_run_fills_all_columns_but_error() -> None:
    row = ok_row(fakes.result(7.0))
    assert list(row) == [name for name in COLUMNS if name not in ("key", *STAMP)]
    assert row["latency_ns"] == 7.0
    assert (row["status"], row["error"]) == ("ok", None)


def test_a_failed_run_has_its_sentence_and_no_figures() -> None:
    row = failed_row(ERROR, "no luck", 0.5)
    assert {name: value for name, value in row.items() if value is not None} == {
        "status": "error",
        "error": "no luck",
        "wall_s": 0.5,
    }
