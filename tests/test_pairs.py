"""Cases of pairs have every pair, and are cases of the product."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from tests.pairs import pairwise

TABLES = [("ab", "xyz"), ("abcdef", "uvwxyz", "12"), ("abcde", "uvw", "xyz", "12")]


@pytest.mark.parametrize("values", TABLES)
def test_each_pair_of_two_parameters_is_in_a_case(values: tuple[str, ...]) -> None:
    cases = pairwise(*values)
    assert set(cases) <= set(product(*values))
    for first, second in combinations(range(len(values)), 2):
        assert {(case[first], case[second]) for case in cases} == set(product(values[first], values[second]))


def test_pairs_of_two_parameters_are_their_product() -> None:
    assert sorted(pairwise("ab", "xyz")) == sorted(product("ab", "xyz"))


def test_a_third_parameter_costs_no_case_where_two_longer_ones_have_its_pairs() -> None:
    assert len(pairwise("abcdef", "uvwxyz", "12")) == 36
