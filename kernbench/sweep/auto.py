"""Mode auto: bounds for every point, events only where bounds cannot decide.

A point is settled when it was run, when its bounds break a condition on results, or when another point that keeps the
conditions is surely better: no worse at its worst in any objective, and better in one, than this one at its best. What is
not settled is run, the most promising first, until nothing is left. So the front of the table is the front of running every
point, and whatever was not run stands in it with bounds that do not change that.

At the end a few points are drawn and run too, unless they have been, to say how tight the bounds were.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.sweep.asked import objectives_of
from kernbench.sweep.execute import Crew, OnPoint, execute
from kernbench.sweep.front import undominated
from kernbench.sweep.interval import Interval, find_interval, unknown
from kernbench.sweep.plan import Plan
from kernbench.sweep.points import Points
from kernbench.sweep.row import COLUMNS, OK
from kernbench.sweep.space import late_names
from kernbench.sweep.store import Store
from kernbench.sweep.table import join_rows

if TYPE_CHECKING:
    import polars

EVENTS = "hybrid"  # the mode in which points run
CONTROL_SHARE = 0.01  # of the points, run to see how tight the bounds are
LEAST_CONTROLS = 2
ROUND_SHARE = 0.01  # of the points are run before looking again, or as many as there are workers

_BOUNDED = ("latency_ns", "pe_exec_ns")  # results that lie between their own column and upper_ns
_NOT_NEGATIVE = ("achieved_tflops", "achieved_gbs", "events", "flit_hops", "wall_s", "bottleneck_utilisation")


@dataclass(frozen=True, slots=True)
class Decided:
    """How a sweep in mode auto went. `tightness`: lower bound over simulated latency of the control sample, sorted."""

    points: int
    ran: int  # with events, the control sample included
    tightness: tuple[float, ...]

    def __str__(self) -> str:
        said = f"{self.ran} of {self.points} points ran with events"
        if not self.tightness:
            return said
        low, high = self.tightness[0], self.tightness[-1]
        sample = f"a control sample of {len(self.tightness)}"
        return f"{said}; lower bounds of {sample} are {low:.1%} to {high:.1%} of the simulated time"


def run_auto(plan: Plan, store: Store, crew: Crew, on_point: OnPoint) -> tuple[polars.DataFrame, Decided]:
    """Bound the missing points of a plan and run what has to be run; returns a row for each point, and how it went.

    Rows of points that ran have their bounds beside their results. Errors: as `execute`.
    """
    execute(plan.missing, store, crew, on_point)
    runs = plan.inputs.points(replace(plan.grid, mode=EVENTS), plan.points.design)
    state = _State(plan, runs, store.read())

    def run(chosen: np.ndarray) -> None:
        execute(runs.take(chosen), store, crew, on_point)
        state.take(store.read())

    state.take(store.read())
    some = max(crew.count(len(runs)), round(ROUND_SHARE * len(runs)))
    while len(chosen := state.choose(some)):
        run(chosen)
    control = state.draw(max(LEAST_CONTROLS, round(CONTROL_SHARE * len(runs))), plan.grid.seed)
    if not state.ran[control].all():
        run(control[~state.ran[control]])
    return state.rows.select(list(COLUMNS)), Decided(len(runs), int(state.ran.sum()), state.find_tightness(control))


class _State:
    """What is known of every point. `ran`: bool[point]; `rows`: its row, of the run if there was one, else of bounds."""

    def __init__(self, plan: Plan, runs: Points, kept: polars.DataFrame) -> None:
        self._grid, self._points = plan.grid, plan.points
        self._keys = runs.keys.astype(str).tolist()
        self._bounds = self.rows = join_rows(plan.grid, plan.points, kept)
        self._fixed = {name: _exact(values) for name, values in self._list_figures().items()}
        self.ran = np.zeros(len(runs), bool)

    def take(self, kept: polars.DataFrame) -> None:
        """Take in the rows of runs that are among those kept."""
        import polars

        pairs = polars.DataFrame({"key": self._bounds["key"], "run": self._keys})
        bounds = self._bounds.select("key", "lower_ns", "upper_ns")
        found = pairs.join(kept.rename({"key": "run"}).drop("lower_ns", "upper_ns"), on="run", how="inner")
        found = found.join(bounds, on="key").select(list(COLUMNS))
        self.ran = self._bounds["key"].is_in(found["key"].to_list()).to_numpy()
        parts = [self._bounds.filter(~self.ran).select(list(COLUMNS)), found]
        names = [name for name in self._bounds.columns if name not in COLUMNS]
        rows = polars.concat(parts)
        self.rows = self._bounds.select(*names, "key").join(rows, on="key", maintain_order="left")

    def choose(self, most: int) -> np.ndarray:
        """Which points to run next, at most so many; none when all are settled."""
        best, worst, kept, may_keep = self._judge()
        better = worst[kept & np.isfinite(worst).all(axis=1)]
        better = better[undominated(better)] if len(better) else better
        left = np.flatnonzero(~self.ran & may_keep)
        for cost in better:
            left = left[~((cost <= best[left]).all(axis=1) & (cost < best[left]).any(axis=1))]
        first = left[undominated(best[left])]
        order = np.argsort(_rank(best[first]), kind="stable")
        return np.sort(first[order[:most]])

    def draw(self, count: int, seed: int) -> np.ndarray:
        """Some of all points that have bounds, the same whichever of them have run."""
        bounded = np.flatnonzero((self._bounds["status"] == OK).to_numpy())
        return np.sort(np.random.default_rng(seed).permutation(bounded)[:count])

    def find_tightness(self, sample: np.ndarray) -> tuple[float, ...]:
        """Lower bound over simulated latency of each that ran well."""
        rows = self.rows[sample.tolist()]
        rows = rows.filter((rows["status"] == OK) & (rows["latency_ns"] > 0))
        return tuple((rows["lower_ns"] / rows["latency_ns"]).sort().to_list())

    def _judge(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """float64[point, objective] costs at best and at worst, and bool[point]: surely an answer, possibly one."""
        columns, count = self._list_columns(), len(self.rows)
        for derived in self._grid.derived:
            columns[derived.name] = find_interval(derived.expression, columns, count)
        failed = self.ran & (self.rows["status"] != OK).to_numpy()
        sure, possible = ~failed, ~failed
        late = late_names(self._grid)
        for rule in self._grid.rules:
            if rule.condition.names & late:
                low, high = find_interval(rule.condition, columns, count)
                sure &= (low == 1) if rule.keeps else (high == 0)
                possible &= (high == 1) if rule.keeps else (low == 0)
        costs = [_cost(columns.get(o.column, unknown(count)), o.least) for o in objectives_of(self._grid)]
        best, worst = (np.column_stack([getattr(cost, end) for cost in costs]) for end in ("low", "high"))
        return best, worst, sure, possible

    def _list_columns(self) -> dict[str, Interval]:
        """Between what the columns lie: parameters as they are, results of runs too, of the others what bounds say."""
        found, count = dict(self._fixed), len(self.rows)
        bounded = (self.rows["status"] == OK).to_numpy() & ~self.ran
        for name, kind in COLUMNS.items():
            if kind is str:
                continue
            exact = self.rows[name].cast(float).fill_null(np.nan).to_numpy()
            low, high = unknown(count)
            if name in _BOUNDED:
                upper = self.rows["upper_ns"].cast(float).fill_null(np.inf).to_numpy()
                low, high = np.where(bounded, exact, low), np.where(bounded, upper, high)
            elif name in _NOT_NEGATIVE:
                low = np.zeros(count)
            known = self.ran & ~np.isnan(exact)
            found[name] = Interval(np.where(known, exact, low), np.where(known, exact, high))
        return found

    def _list_figures(self) -> dict[str, list[Any]]:
        """The columns of parameters, and the topology's fields that no axis sets."""
        names = [name for name in self._bounds.columns if name not in COLUMNS]
        fields = {name: [value] * len(self._bounds) for name, value in self._points.setting.fields.items()}
        return {**fields, **{name: self._bounds[name].to_list() for name in names}}


def _exact(values: list[Any]) -> Interval:
    """A column that is known; anything at all where it is no number."""
    known = np.array([float(v) if isinstance(v, int | float) else np.nan for v in values])
    return Interval(np.where(np.isnan(known), -np.inf, known), np.where(np.isnan(known), np.inf, known))


def _cost(column: Interval, least: bool) -> Interval:
    return column if least else Interval(-column.high, -column.low)


def _rank(costs: np.ndarray) -> np.ndarray:
    """How promising: the sum of places among the others, objective by objective."""
    return costs.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable").sum(axis=1)
