"""Pareto front: the points that no other point dominates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import answerable

if TYPE_CHECKING:
    import polars


def undominated(costs: np.ndarray) -> np.ndarray:
    """bool[point]: of float64[point, objective], less being better, the points that no other equals or betters throughout.

    Points that are equal in all objectives stand or fall together. A point with a nan is never one of them.
    """
    mask = np.zeros(len(costs), dtype=bool)
    known = np.flatnonzero(~np.isnan(costs).any(axis=1))
    order = known[np.lexsort(costs[known].T[::-1])]  # who comes later never dominates who came before
    if len(order):
        mask[order] = (_stairs if costs.shape[1] <= 2 else _front)(costs[order])
    return mask


def _stairs(costs: np.ndarray) -> np.ndarray:
    """Of sorted points with one objective or two: the best of each step in the first that beats all steps before."""
    first, second = costs[:, 0], costs[:, -1]
    begins = np.concatenate([[True], first[1:] != first[:-1]])
    step = np.cumsum(begins) - 1
    best = second[begins]
    before = np.concatenate([[np.inf], np.minimum.accumulate(best)[:-1]])
    if costs.shape[1] == 1:
        return step == 0
    return (second == best[step]) & (best < before)[step]


def _front(costs: np.ndarray) -> np.ndarray:
    """Of sorted points with any number of objectives."""
    mask = np.zeros(len(costs), dtype=bool)
    front = np.empty((0, costs.shape[1]))
    for i, cost in enumerate(costs):
        at_most = (front <= cost).all(axis=1)
        if not (at_most & (front < cost).any(axis=1)).any():
            mask[i] = True
            if not at_most.any():
                front = np.vstack([front, cost])
    return mask


def pareto_front(table: polars.DataFrame, objectives: Sequence[Objective]) -> polars.DataFrame:
    """The rows that no other beats, best in the first objective first; of results only (`answerable`)."""
    import polars

    done = answerable(table)
    signs = [1.0 if objective.least else -1.0 for objective in objectives]
    columns = [done[objective.column].cast(polars.Float64).to_numpy() for objective in objectives]
    costs = np.column_stack([sign * column for sign, column in zip(signs, columns, strict=True)])
    front = done.filter(polars.Series(undominated(costs)))
    return front.sort(objectives[0].column, descending=not objectives[0].least, maintain_order=True)


def rank_points(table: polars.DataFrame, objective: Objective, most: int | None = None) -> polars.DataFrame:
    """The results, best first, at most `most`."""
    known = with_figure(answerable(table), objective.column)
    figures = known[objective.column].to_numpy().astype(float)
    return known[np.argsort(figures if objective.least else -figures, kind="stable")[:most]]


def best_point(table: polars.DataFrame, objective: Objective, objectives: Sequence[Objective]) -> polars.DataFrame:
    """The best result in one of the objectives, of equals one on the front: one row, or none."""
    front = pareto_front(table, objectives)
    return rank_points(front if len(front) else table, objective, 1)


def with_figure(table: polars.DataFrame, column: str) -> polars.DataFrame:
    """The rows that have a figure in a column."""
    return table.drop_nulls(column) if table[column].null_count() else table
