from __future__ import annotations

from typing import Any

import pytest

from kernbench.errors import InputError
from kernbench.sweep.design.parameter_space import ParameterSpace
from kernbench.sweep.grid.grid import load_grid

DEFAULTS = {"M": 1, "depth": 0, "variant": "ref", "topology.hbm.channels": 8}


def space(**grid: Any) -> ParameterSpace:
    return ParameterSpace(load_grid({"bench": "toy", **grid}), DEFAULTS)


def test_a_parameter_with_a_condition_is_set_where_it_holds() -> None:
    found = space(parameters={"depth": {"values": [1, 2], "when": "variant == 'load'"}, "variant": ["ref", "load"]})
    assert found.resolve({"depth": 2, "variant": "load"}) == {"depth": 2, "variant": "load"}
    assert found.resolve({"depth": 2, "variant": "ref"}) == {"variant": "ref"}


def test_a_condition_of_a_parameter_reads_conditional_ones_above_it() -> None:
    inner = {"values": [5], "when": "depth > 0"}
    found = space(parameters={"depth": {"values": [3], "when": "variant == 'load'"}, "M": inner, "variant": ["load"]})
    assert found.resolve({"depth": 3, "M": 5, "variant": "load"}) == {"depth": 3, "M": 5, "variant": "load"}
    assert found.resolve({"depth": 3, "M": 5, "variant": "ref"}) == {"variant": "ref"}


def test_conditions_read_derived_columns_and_the_topology() -> None:
    found = space(parameters={"M": [1, 2]}, derived={"area": "M * topology.hbm.channels"}, constraints="area <= 8")
    assert [found.is_allowed({"M": m}) for m in (1, 2)] == [True, False]


def test_conditions_on_results_wait_for_them() -> None:
    found = space(
        parameters={"M": [1]}, derived={"energy": "2 * latency_ns"}, constraints=["energy < 1", "latency_ns < 1"]
    )
    assert found.is_allowed({"M": 1})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"where": "MM > 1"}, "grid: 'MM' is not a parameter here; did you mean 'M'?"),
        ({"where": "latency > 1"}, "grid: 'latency' is not a parameter here; did you mean 'latency_ns'?"),
        ({"derived": {"a": "b", "b": 1}}, "grid: 'b' is not a parameter here; known: M, depth, variant"),
        ({"derived": {"M": 1}}, "grid: 'M' is a column already; give the derived one another name"),
        ({"derived": {"events": 1}}, "grid: 'events' is a column already; give the derived one another name"),
        ({"derived": {"feasible": 1}}, "grid: 'feasible' is a column already; give the derived one another name"),
        (
            {"derived": {"a": "latency_ns", "a_bound": 1}},
            "grid: 'a_bound' is a column already; give the derived one another name",
        ),
        (
            {"derived": {"a_vs_baseline": 1}},
            "grid: 'a_vs_baseline' is a column already; give the derived one another name",
        ),
        (
            {"parameters": {"M": {"value": 1, "when": "latency_ns > 1"}}},
            "grid: 'latency_ns' is not a parameter here; known: M, depth, variant",
        ),
    ],
)
def test_names_that_mean_nothing_are_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        space(**given)
    assert str(caught.value) == sentence


def test_a_condition_without_truth_names_its_place() -> None:
    found = space(parameters={"M": [1]}, derived={"a": "1 / (M - 1)"}, constraints="a < 1")
    with pytest.raises(InputError) as caught:
        found.is_allowed({"M": 1})
    assert str(caught.value) == "grid: '1 / (M - 1)' cannot be evaluated with M = 1 (division by zero)"
