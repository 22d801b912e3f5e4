"""What one benchmark found: ratios measured side by side, which are compared, and absolute figures, which are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Figures:
    """The findings of one benchmark, kept where pytest-benchmark writes them into its file. More is better in every ratio."""

    def __init__(self, benchmark: Any) -> None:
        self._benchmark = benchmark
        benchmark.extra_info.update(ratios={}, figures={})

    def side_by_side(self, *sides: Callable[[], float], rounds: int = 5) -> list[np.ndarray]:
        """What each side measures, float64[round]; they take turns, so that what else the machine does meets them all."""
        found = np.zeros((rounds, len(sides)))
        at = iter(found)

        def one_round() -> None:
            next(at)[:] = [side() for side in sides]

        self._benchmark.pedantic(one_round, rounds=rounds)
        return list(found.T)

    def ratio(self, name: str, values: np.ndarray, target: str = "") -> None:
        """Keep the median of a ratio that was measured in each round."""
        self._benchmark.extra_info["ratios"][name] = {"value": float(np.median(values)), "target": target}

    def show(self, name: str, values: np.ndarray | float, unit: str, target: str = "") -> None:
        """Keep the median of a figure that holds for this machine only."""
        self._benchmark.extra_info["figures"][name] = {
            "value": float(np.median(values)),
            "unit": unit,
            "target": target,
        }
