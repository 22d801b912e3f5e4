from __future__ import annotations

import polars

from kernbench.sweep.point import Point
from kernbench.sweep.row import COLUMNS, failed_row, ok_row
from kernbench.sweep.table import build_table
from tests.sweep import fakes


def point(index: int, **parameters: object) -> Point:
    return Point(index, f"key{index}", "toy", "tiny", "flit", parameters, {"hbm.channels": 4})  # type: ignore[arg-type]


def row(index: int) -> dict[str, object]:
    return {**ok_row(fakes.result(float(index))), "key": f"key{index}"}


def test_parameters_first_then_results_in_the_order_of_the_points() -> None:
    points = [point(0, M=1), point(1, M=2), point(2, M=3)]
    table = build_table(points, {"key2": row(2), "key0": row(0), "other": row(9)})
    assert table.columns == ["M", "topology.hbm.channels", *COLUMNS]
    assert table["M"].to_list() == [1, 3]
    assert table["latency_ns"].to_list() == [0.0, 2.0]


def test_the_axes_of_the_grid_come_first_in_its_order() -> None:
    table = build_table([point(0, M=1, N=2)], {"key0": row(0)}, ["topology.hbm.channels", "N"])
    assert table.columns == ["topology.hbm.channels", "N", "M", *COLUMNS]


def test_columns_have_types() -> None:
    points = [point(0, a=1, b=1, c=1, d=True, e="x"), point(1, a=2, b=1.5, c="8 ns", d=False, e="y")]
    table = build_table(points, {"key0": row(0), "key1": {**failed_row("error", "no"), "key": "key1"}})
    assert dict(table.schema) | {"latency_ns": polars.Float64, "events": polars.Int64} == dict(table.schema)
    assert [str(table.schema[name]) for name in "abcde"] == ["Int64", "Float64", "String", "Boolean", "String"]
    assert table["c"].to_list() == ["1", "8 ns"]
    assert table["error"].to_list() == [None, "no"]


def test_a_table_of_nothing_has_its_columns() -> None:
    assert build_table([point(0, M=1)], {}).schema["M"] == polars.Int64
