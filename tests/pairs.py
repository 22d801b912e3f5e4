"""Pairs of values: fewer cases than a product has, with every two values of two parameters in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any


def pairwise(*values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Cases of parameters, given the values of each; each case is of the product, the same ones at every call.

    Of the cases that are left it takes the one with the most pairs that none has yet, the first of several.
    """
    cases = list(product(*map(range, map(len, values))))
    pairs = {case: set(combinations(enumerate(case), 2)) for case in cases}
    missing = set[tuple[tuple[int, int], ...]]().union(*pairs.values())
    chosen: list[tuple[Any, ...]] = []
    while missing:
        best = max(cases, key=lambda case: len(pairs[case] & missing))
        missing -= pairs[best]
        chosen.append(tuple(of[at] for of, at in zip(values, best, strict=True)))
    return chosen
