from __future__ import annotations

from typing import Any

import pytest

from kernbench.errors import InputError
from kernbench.sweep.design.design import UNSET
from kernbench.sweep.design.full_factorial import expand
from kernbench.sweep.design.parameter_space import ParameterSpace
from kernbench.sweep.grid.grid import load_grid


def points(defaults: dict[str, Any] | None = None, **grid: Any) -> list[tuple[Any, ...]]:
    """The values of each point; None where the axis is not set."""
    design = expand(ParameterSpace(load_grid({"bench": "toy", **grid}), defaults or {}))
    return [
        tuple(None if i == UNSET else values[i] for values, i in zip(design.values, choice, strict=True))
        for choice in design.choices.tolist()
    ]


def test_the_last_axis_varies_fastest() -> None:
    assert points(parameters={"M": [1, 2], "N": [3, 4]}) == [(1, 3), (1, 4), (2, 3), (2, 4)]


def test_zipped_axes_vary_together() -> None:
    assert points(parameters={"M": [1, 2], "P": [0, 9], "N": [3, 4]}, zip=[["M", "N"]]) == [
        (1, 3, 0),
        (1, 3, 9),
        (2, 4, 0),
        (2, 4, 9),
    ]


def test_a_grid_without_parameters_is_one_point() -> None:
    assert points() == [()]


def test_where_keeps_and_exclude_drops() -> None:
    parameters = {"M": [1, 2, 3, 4]}
    assert points(parameters=parameters, where=["M > 1", "M < 4"]) == [(2,), (3,)]
    assert points(parameters=parameters, exclude=["M == 1", "M > 2"]) == [(2,)]


def test_conditions_read_the_defaults_of_the_bench() -> None:
    assert points({"N": 2, "M": 0}, parameters={"M": [1, 2, 3]}, where="M <= N") == [(1,), (2,)]


def test_conditions_name_parameters_only() -> None:
    with pytest.raises(InputError) as caught:
        points({"N": 2}, parameters={"M": [1]}, where="M < topology.hbm.channels")
    assert str(caught.value) == "grid: 'topology.hbm.channels' is not a parameter here; known: M, N"


def test_a_condition_that_fails_names_the_point() -> None:
    with pytest.raises(InputError) as caught:
        points(parameters={"M": [1, 0]}, where="1 / M > 0")
    assert str(caught.value) == "grid: '1 / M > 0' cannot be evaluated with M = 0 (division by zero)"
