from __future__ import annotations

from typing import Any

import numpy as np
import polars
import pytest

from kernbench.sweep.design.full_factorial import expand
from kernbench.sweep.design.parameter_space import ParameterSpace
from kernbench.sweep.design.points import Points, SweepContext, make_points
from kernbench.sweep.grid.grid import Grid, load_grid
from kernbench.sweep.results import stored_rows
from kernbench.sweep.results.table import list_frames
from kernbench.sweep.row import BENCH_COLUMNS, COLUMNS, failed_row, ok_row
from tests.sweep import fakes

DEFAULTS = {"M": 1, "N": 2}
FIELDS = {"topology.hbm.channels": 8}


def planned(**grid: Any) -> tuple[Grid, Points]:
    checked = load_grid({"bench": "toy", **grid})
    design = expand(ParameterSpace(checked, {**FIELDS, **DEFAULTS}))
    return checked, make_points(SweepContext("toy", "tiny", "flit", "", DEFAULTS, FIELDS), design)


class Rows:
    """Rows that are in memory."""

    def __init__(self, points: Points, rows: polars.DataFrame) -> None:
        self._at = {key: place for place, key in enumerate(rows["key"])}
        self._keys = points.keys.astype(str).tolist()
        self._rows = rows
        self.found = np.array([key in self._at for key in self._keys])

    def take(self, which: np.ndarray) -> polars.DataFrame:
        return self._rows[[self._at[self._keys[place]] for place in which]]


def build_table(grid: Grid, points: Points, rows: polars.DataFrame) -> polars.DataFrame:
    return polars.concat(list_frames(grid, points, Rows(points, rows)))


def rows(points: Points, *latencies: float | None) -> polars.DataFrame:
    """Rows of the first points; a latency of None is a failed one."""
    made = []
    for key, latency in zip(points.keys, latencies, strict=False):
        figures = failed_row("error", "no") if latency is None else ok_row(fakes.result(latency))
        made.append({**figures, "key": key.decode()})
    return polars.DataFrame(made, schema=dict(COLUMNS))


def test_parameters_first_then_results_in_the_order_of_the_points() -> None:
    grid, points = planned(parameters={"topology.hbm.channels": [4], "M": [1, 2, 3]})
    table = build_table(grid, points, rows(points, 1.0, 2.0)[::-1])
    assert table.columns == ["topology.hbm.channels", "M", "N", *BENCH_COLUMNS]
    assert table["M"].to_list() == [1, 2]
    assert table["latency_ns"].to_list() == [1.0, 2.0]


def test_columns_have_types() -> None:
    axes = {"a": [1, 2], "b": [1, 1.5], "c": [1, "8 ns"], "d": [True, False], "e": ["x", "y"]}
    grid, points = planned(parameters=axes, zip=[list(axes)])
    table = build_table(grid, points, rows(points, 1.0, None))
    assert [str(table.schema[name]) for name in "abcde"] == ["Int64", "Float64", "String", "Boolean", "String"]
    assert table["c"].to_list() == ["1", "8 ns"]
    assert table["error"].to_list() == [None, "no"]
    assert [table.schema[name] for name in ("latency_ns", "events")] == [polars.Float64, polars.Int64]


def test_a_table_of_nothing_has_its_columns() -> None:
    grid, points = planned(parameters={"M": [1]})
    assert build_table(grid, points, rows(points)).schema["M"] == polars.Int64


def test_a_parameter_that_is_not_set_has_its_default() -> None:
    channels = {"values": [4, 16], "when": "M == 2"}
    grid, points = planned(parameters={"topology.hbm.channels": channels, "M": [1, 2]})
    table = build_table(grid, points, rows(points, 1.0, 1.0, 1.0))
    assert table.select("M", "topology.hbm.channels").rows() == [(1, 8), (2, 4), (2, 16)]
    assert [point.overrides for point in points] == [{}, {"hbm.channels": 4}, {"hbm.channels": 16}]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_table_made_in_pieces_is_the_same(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    derived = {"large": "latency_ns > 2", "none": "1 / (M - M)", "per_n": "latency_ns / N"}
    axes = {"M": [1, 2, 3], "N": [1, "2"], "topology.hbm.channels": [4, 8.5]}
    grid, points = planned(
        parameters=axes, derived=derived, baseline={"N": 1}, objectives=["min per_n"], constraints="per_n < 9"
    )
    made = rows(points, 1.0, None, 2.0, 3.0, 30.0, 4.0, 5.0)
    whole = build_table(grid, points, made)
    monkeypatch.setattr(stored_rows, "SLICE", size)
    assert build_table(grid, points, made).equals(whole)
    assert [str(whole.schema[name]) for name in ("large", "none", "feasible")] == ["Boolean", "Float64", "Boolean"]
