from __future__ import annotations

from typing import Any

import pytest

from kernbench.errors import InputError
from kernbench.sweep.design.design import UNSET
from kernbench.sweep.design.parameter_space import ParameterSpace
from kernbench.sweep.design.sampling import sample
from kernbench.sweep.grid.grid import load_grid

METHODS = ["random", "sobol", "latin"]


def drawn(method: str, samples: int, parameters: dict[str, Any], **grid: Any) -> list[tuple[Any, ...]]:
    given = {"bench": "toy", "method": method, "samples": samples, "parameters": parameters, **grid}
    design = sample(ParameterSpace(load_grid(given), {"M": 0}))
    return [
        tuple(None if i == UNSET else values[i] for values, i in zip(design.values, choice, strict=True))
        for choice in design.choices.tolist()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_as_many_different_points_as_asked_for_all_of_them_allowed(method: str) -> None:
    axes = {"M": {"min": 1, "max": 64}, "gbs": {"min": 8.0, "max": 64.0, "scale": "log"}, "kind": ["a", "b"]}
    points = drawn(method, 24, axes, constraints="M * gbs <= 1024")
    assert len(set(points)) == len(points) == 24
    assert all(1 <= m <= 64 and 8 <= gbs <= 64 and m * gbs <= 1024 and kind in "ab" for m, gbs, kind in points)
    assert all(type(m) is int and type(gbs) is float for m, gbs, _ in points)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_draws_the_same_points(method: str) -> None:
    axes = {"M": {"min": 1, "max": 1000}, "N": [1, 2, 3]}
    assert drawn(method, 8, axes) == drawn(method, 8, axes, seed=0) != drawn(method, 8, axes, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_small_space_gives_all_it_has(method: str) -> None:
    assert sorted(drawn(method, 50, {"M": [1, 2, 3], "N": [4, 5]})) == [(m, n) for m in (1, 2, 3) for n in (4, 5)]


@pytest.mark.slow
def test_latin_hypercubes_have_one_point_in_each_slice() -> None:
    points = drawn("latin", 10, {"M": {"min": 0.0, "max": 10.0}, "N": {"min": 0.0, "max": 10.0}})
    for axis in range(2):
        assert sorted(int(point[axis]) for point in points) == list(range(10))


@pytest.mark.slow
def test_sobol_points_are_even_in_powers_of_two() -> None:
    points = drawn("sobol", 16, {"M": {"min": 0.0, "max": 4.0}, "N": {"min": 0.0, "max": 4.0}})
    assert sorted((int(m), int(n)) for m, n in points) == [(m, n) for m in range(4) for n in range(4)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("more", [{}, {"K": {"values": [1, 2], "when": "M > 5"}}], ids=["whole", "conditional"])
def test_a_condition_that_nothing_meets_does_not_draw_for_ever(method: str, more: dict[str, Any]) -> None:
    axes = {"M": {"min": 1, "max": 1000}, "N": {"min": 1, "max": 1000}, **more}
    with pytest.raises(InputError) as caught:
        drawn(method, 100_000, axes, constraints=["M + N == 1"])
    assert str(caught.value) == (
        "grid: none of 65,536 drawn points meets the conditions; let them keep more, or narrow the values from "
        "which is drawn"
    )


@pytest.mark.parametrize("method", METHODS)
def test_draws_are_counted_where_hardly_any_meets_the_conditions(method: str) -> None:
    grid = {"bench": "toy", "method": method, "samples": 100_000, "constraints": "M == N"}
    axes = {"M": {"min": 1, "max": 300}, "N": {"min": 1, "max": 300}}
    design = sample(ParameterSpace(load_grid({**grid, "parameters": axes}), {}))
    assert 0 < len(design.choices) <= design.met < design.drawn
    assert design.drawn <= 64 * (len(design.choices) + 1024)


def test_a_grid_without_parameters_is_one_point() -> None:
    assert drawn("random", 5, {}) == [()]


def test_axes_that_are_zipped_are_drawn_together() -> None:
    points = drawn("random", 9, {"M": [1, 2, 3], "N": [10, 20, 30]}, zip=["M", "N"])
    assert sorted(points) == [(1, 10), (2, 20), (3, 30)]
