"""Bounds in a sweep's table: which rows have bounds in place of results, and how their figures are read.

In a row of mode analytic a time is a lower bound, a rate an upper bound, and a derived column is what the grid's formula gives
of them: that is a bound where the formula only rises or only falls, and else there is no value. So `answerable` is the one
place that says which rows are results; all that ranks, averages or draws asks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.expression import Expression
from kernbench.modes import Mode
from kernbench.sweep.grid.grid import Objective, Rule
from kernbench.sweep.grid.interval import Interval, find_interval, unknown
from kernbench.sweep.row import BOUND, FEASIBLE, LOWER, OK, UPPER, VERSUS

if TYPE_CHECKING:
    import polars

BOUNDED_MODES = (Mode.ANALYTIC, Mode.AUTO)  # of a sweep, in which rows may be bounds
TIMES = ("latency_ns", "pe_exec_ns")  # results that lie between their own column and upper_ns
# What is, of bounds, what pe_exec_ns allows at most.
RATES = ("achieved_tflops", "achieved_gbs", "tflops_of_peak", "gbs_of_peak")
ENDS = ("lower_ns", "upper_ns")  # bounds by name, which a point has whether it ran or not
NOT_NEGATIVE = (*RATES, "events", "flit_hops", "wall_s", "bottleneck_utilisation")
_SENSES = {**dict.fromkeys((*TIMES, "events", "flit_hops"), LOWER), **dict.fromkeys(RATES, UPPER)}
_SLACK = 1e-12  # of a rate worked out in another order
_ROUNDING = 1e-9  # of a formula, here and as an interval


def is_bounded(table: polars.DataFrame) -> polars.Series:
    """bool[row], whether it has bounds alone."""
    import polars

    if "fidelity" not in table.columns:
        return polars.repeat(False, len(table), eager=True)
    return is_analytic(table["fidelity"])


def is_analytic(fidelity: polars.Series) -> polars.Series:
    """bool[row], whether a row's fidelity is that of bounds. A column of nulls alone may have no type."""
    import polars

    return (fidelity.cast(polars.String, strict=False) == Mode.ANALYTIC).fill_null(value=False)


def has_simulated(table: polars.DataFrame) -> bool:
    """Whether some row that finished was simulated."""
    return bool(((table["status"] == OK) & ~is_bounded(table)).any())


def possible(table: polars.DataFrame) -> polars.DataFrame:
    """The rows of points that finished and keep the conditions on their results, or whose bounds leave that open."""
    good = table["status"] == OK
    if FEASIBLE in table.columns:
        good &= table[FEASIBLE].fill_null(is_bounded(table))
    return table if good.all() else table.filter(good)


def answerable(table: polars.DataFrame) -> polars.DataFrame:
    """The rows that are results and may be answers: finished, within the conditions on results, and simulated.

    Where no row was simulated, as in mode analytic, bounds are all there is and are compared with each other.
    """
    rows = possible(table)
    bounded = is_bounded(rows)
    return rows.filter(~bounded) if bounded.any() and has_simulated(table) else rows


def count_bounded(table: polars.DataFrame) -> int:
    """The number of rows that are bounds beside others that were simulated; 0 if none or all are bounds."""
    return int(is_bounded(table).sum()) if has_simulated(table) else 0


def sense_of(column: str) -> str | None:
    """How a figure of a result column, or of its share of the baseline's, bounds the result where it is a bound."""
    return _SENSES.get(column.removesuffix(VERSUS))


def find_senses(table: polars.DataFrame, column: str) -> list[str | None]:
    """Of each row, how its figure in a column bounds the result: LOWER, UPPER, or None if it is the result."""
    column = column.removesuffix(VERSUS)
    bounded = is_bounded(table).to_list()
    known = column + BOUND in table.columns
    senses = table[column + BOUND].to_list() if known else [sense_of(column)] * len(table)
    return [sense if bound else None for sense, bound in zip(senses, bounded, strict=True)]


def at_best(table: polars.DataFrame, objective: Objective) -> np.ndarray:
    """float64[row], an objective at the best that is possible: its result, or a bound; infinitely good if nothing bounds it."""
    figures = table[objective.column].cast(float).to_numpy().copy()
    against = UPPER if objective.least else LOWER
    senses = np.array([sense == against for sense in find_senses(table, objective.column)], bool)
    open_ = is_bounded(table).to_numpy() & (senses | np.isnan(figures))
    figures[open_] = -np.inf if objective.least else np.inf
    return figures


def best_of_each(rows: polars.DataFrame, by: Sequence[str], objective: Objective) -> polars.DataFrame:
    """Of the rows that are equal in some columns the one at best possible; of equals a result, since a bound only might win."""
    import polars

    costs = at_best(rows, objective) * (1.0 if objective.least else -1.0)
    order = np.lexsort((is_bounded(rows).to_numpy(), costs))  # nan, a result without a figure, comes last
    first = rows[order].with_columns(polars.Series("_order", order)).unique(list(by), keep="first", maintain_order=True)
    return first.sort("_order").drop("_order")


def count_possibly_better(table: polars.DataFrame, objective: Objective, than: float) -> int:
    """The number of points beside the results whose bounds allow a better figure than this."""
    if not has_simulated(table):
        return 0
    rows = possible(table)
    best = at_best(rows.filter(is_bounded(rows)), objective)
    best = best[np.isfinite(best)]
    return int((best < than).sum() if objective.least else (best > than).sum())


def bound_results(rows: polars.DataFrame, names: Sequence[str]) -> dict[str, Interval]:
    """The intervals of some results at rows that are bounds, as far as these say."""
    known = {name: rows[name].cast(float).to_numpy() for name in (*TIMES, *RATES, *ENDS)}
    found: dict[str, Interval] = {}
    for name in names:
        interval = unknown(len(rows))
        if name in NOT_NEGATIVE:
            interval.low[:] = 0.0
        if name in TIMES:
            ends = known[name], known["upper_ns"]
        elif name in RATES:
            upper = known["upper_ns"]
            ends = known[name] * (known["pe_exec_ns"] / np.where(upper > 0, upper, np.nan)) * (1 - _SLACK), known[name]
        elif name in ENDS:
            ends = known[name], known[name]
        else:
            ends = interval
        there = ~(np.isnan(ends[0]) | np.isnan(ends[1]))
        interval.low[there], interval.high[there] = ends[0][there], ends[1][there]
        found[name] = interval
    return found


class BoundedColumns:
    """The columns of the rows of a table that are bounds, as intervals; derived ones are added one by one.

    which: bool[row], which rows these are; `fields`: values of the topology that no axis sets.
    """

    def __init__(self, table: polars.DataFrame, fields: Mapping[str, Any]) -> None:
        self.which = (is_bounded(table) & (table["status"] == OK)).to_numpy()
        self._rows = table.filter(self.which)
        self._fields = fields
        results = [name for name in (*TIMES, *ENDS, *NOT_NEGATIVE) if name in table.columns]
        self._columns = bound_results(self._rows, results)

    def find(self, expression: Expression) -> Interval:
        """The interval of an expression at each of the rows."""
        for name in expression.names - self._columns.keys():
            self._columns[name] = self._exact(name)
        return find_interval(expression, self._columns, len(self._rows))

    def keep(self, values: polars.Series) -> None:
        """Take in a derived column that no run changes."""
        self._rows = self._rows.with_columns(values.filter(self.which))

    def settle(self, expression: Expression, values: polars.Series) -> tuple[polars.Series, polars.Series]:
        """A derived column with null where a bounded row's value bounds nothing, and the senses of those that do."""
        import polars

        interval = self._columns[values.name] = self.find(expression)
        figures = values.cast(float).to_numpy()[self.which]
        with np.errstate(invalid="ignore"):
            slack = _ROUNDING * np.abs(figures)
            lower, upper = figures <= interval.low + slack, figures >= interval.high - slack
        said = lower & upper if values.dtype == polars.Boolean else lower | upper
        known = ~self.which
        known[self.which] = said
        senses = np.full(len(values), None, object)
        senses[np.flatnonzero(self.which)[said & lower & ~upper]] = LOWER
        senses[np.flatnonzero(self.which)[said & upper & ~lower]] = UPPER
        kept = values.to_frame().select(polars.when(polars.Series(known)).then(values.name)).to_series()
        return kept, polars.Series(values.name + BOUND, senses.tolist(), dtype=polars.String)

    def judge(self, rules: Sequence[Rule]) -> list[bool | None]:
        """Whether the rows keep all rules; None where their bounds leave it open."""
        sure, open_ = np.ones(len(self._rows), bool), np.ones(len(self._rows), bool)
        for rule in rules:
            low, high = self.find(rule.condition)
            sure &= (low == 1) if rule.keeps else (high == 0)
            open_ &= (high == 1) if rule.keeps else (low == 0)
        return [True if kept else None if left else False for kept, left in zip(sure, open_, strict=True)]

    def _exact(self, name: str) -> Interval:
        """A column that no run changes; anything at all if it is no number."""
        count = len(self._rows)
        if name in self._rows.columns:
            if not (self._rows[name].dtype.is_numeric() or str(self._rows[name].dtype) == "Boolean"):
                return unknown(count)
            values = self._rows[name].cast(float).to_numpy()
            return Interval(np.where(np.isnan(values), -np.inf, values), np.where(np.isnan(values), np.inf, values))
        value = self._fields.get(name)
        if not isinstance(value, int | float):
            return unknown(count)
        return Interval(np.full(count, float(value)), np.full(count, float(value)))
