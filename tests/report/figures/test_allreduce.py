"""Plots of the all-reduce evaluation."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

from kernbench.errors import InputError
from kernbench.evaluation.allreduce import COLUMNS, SIZES, list_cases
from kernbench.report.figures.allreduce import plot_allreduce


def table() -> polars.DataFrame:
    rows = [
        {
            "topology": "tiny",
            "n_sips": 6,
            "participants": 12,
            "dtype": "f16",
            "latency_ns": 100.0 + case["bytes_per_pe"] / (1 + i % 3),
            "module": case["algorithm"],
            "slot_bytes": 4096,
            "piece_bytes": 4096,
            "algbw_gbs": 1.0,
            "busbw_gbs": 1.5,
            "task_bound_ns": 40.0,
            "times_task_bound": 3.0,
            "bound_ns": 50.0 if i % 2 else 60.0,
            "times_bound": 2.0,
            "verified": True,
            **case,
        }
        for i, case in enumerate(list_cases(SIZES))
    ]
    return polars.DataFrame(rows, schema=COLUMNS)


@pytest.mark.slow
def test_a_picture_for_each_question(tmp_path: Path) -> None:
    paths = plot_allreduce(table(), tmp_path)
    names = ("buffer_kinds", "sip_topologies", "roots", "algorithms")
    assert [path.name for path in paths] == [f"{name}.{suffix}" for name in names for suffix in ("svg", "png")]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_a_table_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        plot_allreduce(table().drop("root"), tmp_path)
    assert str(error.value) == (
        "the table of the all-reduce evaluation lacks the column 'root'; run `kernbench evaluate allreduce` again"
    )
    with pytest.raises(InputError, match="lacks rows"):
        plot_allreduce(table().clear(), tmp_path)
