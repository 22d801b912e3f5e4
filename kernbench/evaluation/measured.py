"""Simulated against measured times: how far off, and in how many pairs the order is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kernbench.text import plural


class Errors(NamedTuple):
    """Errors of simulated times: absolute values of simulated over measured, less 1; and the share of ordered pairs."""

    points: int
    mean: float
    median: float
    worst: float
    ordered: float

    def __str__(self) -> str:
        return (
            f"{plural(self.points, 'point')}: mean error {self.mean:.1%}, median {self.median:.1%}, worst {self.worst:.1%}; "
            f"the order is right in {self.ordered:.1%} of pairs"
        )


def find_errors(simulated: Sequence[float], measured: Sequence[float]) -> Errors:
    """The errors of some points, at least one."""
    ours, theirs = np.asarray(simulated, np.float64), np.asarray(measured, np.float64)
    found = np.abs(ours / theirs - 1)
    return Errors(
        len(found), float(found.mean()), float(np.median(found)), float(found.max()), find_ordered(ours, theirs)
    )


def find_ordered(simulated: np.ndarray, measured: np.ndarray) -> float:
    """The share of pairs with two measured times whose simulated times are in the same order; 1 without such pairs."""
    above = np.triu(np.sign(np.subtract.outer(measured, measured)))
    pairs = np.count_nonzero(above)
    right = np.count_nonzero((above != 0) & (np.sign(np.subtract.outer(simulated, simulated)) == above))
    return right / pairs if pairs else 1.0
