from __future__ import annotations

from tests.sweep.results.test_table import build_table, planned, rows


def test_derived_columns_read_parameters_fields_results_and_one_another() -> None:
    derived = {"area": "topology.hbm.channels * M", "cost": "area * latency_ns", "large": "area > 8", "four": 4}
    grid, points = planned(parameters={"M": [1, 2, 3]}, derived=derived)
    table = build_table(grid, points, rows(points, 10.0, 20.0, None))
    assert table.select("area", "cost", "large", "four").rows() == [
        (8.0, 80.0, False, 4.0),
        (16.0, 320.0, True, 4.0),
        (24.0, None, True, 4.0),
    ]


def test_a_derived_column_has_null_where_it_has_no_value() -> None:
    grid, points = planned(parameters={"M": [0, 2]}, derived={"share": "1 / M"})
    assert build_table(grid, points, rows(points, 1.0, 1.0))["share"].to_list() == [None, 0.5]


def test_conditions_on_results_say_what_is_feasible() -> None:
    grid, points = planned(
        parameters={"M": [1, 2, 3, 4]},
        derived={"cost": "latency_ns * M"},
        constraints=["cost <= 80", "M < 4"],
        exclude="latency_ns < 15",
    )
    table = build_table(grid, points, rows(points, 10.0, 20.0, None))
    assert table.select("M", "feasible").rows() == [(1, False), (2, True), (3, False)]
    assert len(points) == 3  # M < 4 needs no result


def test_objectives_are_compared_with_the_baseline_of_each_point() -> None:
    grid, points = planned(
        parameters={"M": [1, 2], "N": [5, 6]}, baseline={"N": 5}, objectives=["min latency_ns", "max achieved_gbs"]
    )
    table = build_table(grid, points, rows(points, 10.0, 5.0, 20.0, 30.0))
    assert table["latency_ns_vs_baseline"].to_list() == [1.0, 0.5, 1.0, 1.5]
    assert table["achieved_gbs_vs_baseline"].to_list() == [1.0] * 4


def test_nothing_is_a_share_of_zero() -> None:
    grid, points = planned(
        parameters={"M": [1, 2]},
        baseline={"M": 1},
        derived={"dear": "M > 1"},
        objectives=["min dear", "min latency_ns"],
    )
    table = build_table(grid, points, rows(points, 10.0, 5.0))
    assert table.select("dear_vs_baseline", "latency_ns_vs_baseline").rows() == [(None, 1.0), (None, 0.5)]


def test_points_of_the_baseline_that_the_grid_lacks_follow() -> None:
    grid, points = planned(parameters={"M": [1, 2], "N": [5, 6]}, where="N == 6", baseline={"N": 9})
    table = build_table(grid, points, rows(points, 10.0, 20.0, 5.0, None))
    assert table.select("M", "N", "latency_ns_vs_baseline").rows() == [
        (1, 6, 2.0),
        (2, 6, None),
        (1, 9, 1.0),
        (2, 9, None),
    ]


def test_a_value_that_is_listed_twice_is_one() -> None:
    axes = {"M": [1, 2, 3], "N": [5, 5, 6]}
    grid, points = planned(parameters=axes, zip=["M", "N"], baseline={"M": 1, "N": 5})
    assert [tuple(point.parameters.values()) for point in points] == [(1, 5), (2, 5), (3, 6)]
    table = build_table(grid, points, rows(points, 10.0, 5.0, 20.0))
    assert table["latency_ns_vs_baseline"].to_list() == [1.0, 0.5, 2.0]
