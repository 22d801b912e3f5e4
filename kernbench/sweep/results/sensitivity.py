"""Sensitivity of objectives to parameters.

For each value of an axis the objective is averaged over all other axes. `spread` is the relative difference of the averages,
`share` the part of the variance that they explain (the first-order Sobol' index; on a whole grid the shares add up to 1 without
interactions), `slope` the change of the objective, in per cent, for one per cent more of a numeric parameter.

Points that have only bounds are in no average. Where there are such points, as in mode auto, those that were simulated are a
selection near the front, whose averages may order the values of an axis otherwise than averages of the whole grid. So the
best value is then that of the best point, which is the same in both, and none is called the worst.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import answerable, count_bounded, is_bounded, possible
from kernbench.sweep.results.pareto import best_point, with_figure
from kernbench.sweep.results.swept_axes import Swept, find_swept, restrict

if TYPE_CHECKING:
    import polars

MOST_VALUES = 12  # of a numeric axis; more, as from sampling, are grouped in BINS of equally many points
BINS = 8
FEW_VALUES = 4  # more, with hardly more than one point each, are grouped too


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The effect of one axis on one objective. `best` and `worst` are values of the axis, or `low … high` of a bin.

    They have the best and the worst average; of a selection, `best` is the value at the best point and `worst` is None.
    """

    axis: Swept
    objective: Objective
    best: Any
    worst: Any
    spread: (
        float | None
    )  # the worst average over the best (or the reverse for a maximum) - 1; None if they are not positive
    share: float  # of the variance, 0 … 1
    slope: float | None  # d ln objective / d ln parameter; None unless both are numeric and positive
    points: int  # that are averaged
    of: int  # points of the table
    selected: bool  # whether others are left out since they have only bounds
    of_bounds: bool  # whether bounds are averaged, since nothing was simulated


def find_sensitivities(table: polars.DataFrame, objectives: Sequence[Objective]) -> list[Sensitivity]:
    """For each objective every axis with an effect on it, the largest share first."""
    done, selected = answerable(table), count_bounded(table) > 0
    found: list[Sensitivity] = []
    for objective in objectives:
        rows = with_figure(done, objective.column)
        swept = restrict(find_swept(possible(table)), rows) if selected else find_swept(rows)
        axes = [axis for axis in swept if axis.column != objective.column]
        alone = len(axes) == 1
        at = (
            rows["key"].is_in(best_point(table, objective, objectives)["key"].to_list()).arg_max() if selected else None
        )
        effects = (_sensitivity(rows, axis, objective, alone, at, len(table)) for axis in axes)
        found += sorted((one for one in effects if one), key=lambda one: -one.share)
    return found


def _sensitivity(
    rows: polars.DataFrame, axis: Swept, objective: Objective, alone: bool, best_at: int | None, of: int
) -> Sensitivity | None:
    """None if the axis has no effect; `best_at`: the best row, if its value counts as the best."""
    outcome = rows[objective.column].to_numpy().astype(float)
    labels, which = _groups(rows, axis, alone)
    counts = np.bincount(which, minlength=len(labels))
    means = np.bincount(which, outcome, len(labels)) / counts
    total = outcome.var()
    between = (counts * (means - outcome.mean()) ** 2).sum() / len(outcome)
    low, high = int(means.argmin()), int(means.argmax())
    if low == high:
        return None
    best, worst = (low, high) if objective.least else (high, low)
    return Sensitivity(
        axis,
        objective,
        labels[best] if best_at is None else rows[axis.column][best_at],
        labels[worst] if best_at is None else None,
        means[high] / means[low] - 1 if means[low] > 0 else None,
        between / total if total > 0 else 0.0,
        _slope(rows, axis, outcome),
        len(rows),
        of,
        best_at is not None,
        bool(is_bounded(rows).any()),
    )


def _groups(rows: polars.DataFrame, axis: Swept, alone: bool) -> tuple[list[Any], np.ndarray]:
    """The labels of an axis's values or bins, and int64[row] the label of each row."""
    drawn = not alone and len(axis.values) > FEW_VALUES and len(rows) < 2 * len(axis.values)
    if not axis.numeric or (len(axis.values) <= MOST_VALUES and not drawn):
        places = {value: i for i, value in enumerate(axis.values)}
        return list(axis.values), np.array([places[value] for value in rows[axis.column]])
    values = rows[axis.column].to_numpy().astype(float)
    bins = max(2, min(BINS, len(rows) // 3))  # of three points or more each
    edges = np.unique(np.quantile(values, np.linspace(0, 1, bins + 1)))
    which = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    present, which = np.unique(which, return_inverse=True)
    return [f"{edges[i]:.4g} … {edges[i + 1]:.4g}" for i in present], which


def _slope(rows: polars.DataFrame, axis: Swept, outcome: np.ndarray) -> float | None:
    if not axis.numeric or min(axis.values) <= 0 or outcome.min() <= 0:
        return None
    return float(np.polyfit(np.log(rows[axis.column].to_numpy().astype(float)), np.log(outcome), 1)[0])
