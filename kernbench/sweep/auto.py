"""Mode auto: bounds for every point, events only where bounds cannot decide.

A point is settled when it was run, when its bounds break a condition on results, or when another point that keeps the
conditions is surely better: no worse at its worst in any objective, and better in one, than this one at its best. Of what is
not settled, those run first that none betters at its best, until nothing is left. So the front of the table is the front of
running every point, and whatever was not run stands in it with bounds that do not change that.

Where a structure has many points, and one that is not settled would run, those of them are bounded once more, with the queues
that bounds leave out otherwise: that takes as long as a few runs. Their rows are kept under keys of their own.

A few points are drawn and run too, to say how tight the bounds were. So are the baselines of all points that ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.modes import Mode
from kernbench.sweep.design.parameter_space import late_names
from kernbench.sweep.design.points import Points
from kernbench.sweep.execution.batches import group_places
from kernbench.sweep.execution.executor import ExecutorConfig, OnPoint, execute
from kernbench.sweep.execution.point_progress import listen
from kernbench.sweep.execution.worker import bound_group, run_point
from kernbench.sweep.grid.interval import Interval, find_interval, unknown
from kernbench.sweep.plan import Plan, find_missing
from kernbench.sweep.point import Point
from kernbench.sweep.results.bounds import ENDS, NOT_NEGATIVE, bound_results
from kernbench.sweep.results.derived_columns import objectives_of
from kernbench.sweep.results.pareto import undominated
from kernbench.sweep.results.store import RANK, Store
from kernbench.sweep.results.stored_rows import StoredRows, slices
from kernbench.sweep.results.table import parameter_names
from kernbench.sweep.row import COLUMNS, OK, Row

if TYPE_CHECKING:
    import polars

EVENTS = Mode.HYBRID  # the mode in which points run
CONTROL_SHARE = 0.01  # of the points, run to see how tight the bounds are
LEAST_CONTROLS = 2
MANY_POINTS = 16  # of a structure, for which queues are looked at
MOST_KEPT = 8  # structures, to come back to


@dataclass(frozen=True, slots=True)
class AutoSummary:
    """Summary of a sweep in mode auto. `tightness`: lower bound over simulated latency of the control sample, sorted."""

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


class RefinedPoints(NamedTuple):
    """The points of a plan under the keys of their refined rows: bounds with queues, runs with events."""

    queues: Points  # bounded with queues
    runs: Points  # run with events


class AutoRows:
    """The rows of a plan in mode auto: of the run, with bounds beside its results, where there is one, else of the bounds."""

    def __init__(self, store: Store, bounded: Points, refined: RefinedPoints) -> None:
        self._bounds, self._queues, self._runs = (StoredRows(store, points) for points in (bounded, *refined))

    @property
    def found(self) -> np.ndarray:
        """bool[point], whether it has a row."""
        return self._bounds.found

    @property
    def failed(self) -> int:
        """The number of rows without a result."""
        rank = np.where(self._runs.found, self._runs.rank, self._bounds.rank)
        return int((self.found & (rank != RANK[OK])).sum())

    def take(self, which: np.ndarray) -> polars.DataFrame:
        """The rows of some points that have one, in the order given."""
        bounds = _overlay(self._bounds.take(which), self._queues, which, ["key"])
        return _overlay(bounds, self._runs, which, ["key", *ENDS])


def _overlay(rows: polars.DataFrame, finer: StoredRows, which: np.ndarray, but: list[str]) -> polars.DataFrame:
    """The rows of some points, replaced by refined rows where there are any, but for the columns `but`."""
    import polars

    there = finer.found[which]
    over = finer.take(which[there]).drop(but).hstack(rows.filter(there).select(but)).select(rows.columns)
    order = np.argsort(np.concatenate([np.flatnonzero(~there), np.flatnonzero(there)]))
    return polars.concat([rows.filter(~there), over])[order]


def plan_events(plan: Plan) -> Plan:
    """The points of a plan in mode auto as if all ran with events: no more than these do."""
    runs = plan.points_in(EVENTS)
    return replace(plan, points=runs, missing=find_missing(runs, plan.directory, retry=plan.retry))


def run_auto(plan: Plan, store: Store, config: ExecutorConfig, on_point: OnPoint) -> tuple[RefinedPoints, AutoSummary]:
    """Bound the missing points of a plan and run what has to be run; returns where that is kept, and how it went.

    Errors: as `execute`.
    """
    from kernbench.sweep.execution.shared_structure import keep_structures

    with keep_structures(MOST_KEPT), listen(config.on_progress):
        return _run_auto(plan, store, config, on_point)


def _run_auto(plan: Plan, store: Store, config: ExecutorConfig, on_point: OnPoint) -> tuple[RefinedPoints, AutoSummary]:
    execute(plan.missing, store, config, on_point)
    queues, runs = plan.points_in(Mode.AUTO), plan.points_in(EVENTS)
    state = _AutoState(plan, *(StoredRows(store, points) for points in (plan.points, queues, runs)))
    refiner = _QueueBoundRefiner(queues, store) if config.run is run_point else None

    def run(chosen: np.ndarray) -> None:
        some = runs.take(chosen)
        places = dict(zip(some.keys.astype(str).tolist(), chosen.tolist(), strict=True))

        def on_row(point: Point, row: Row) -> None:
            state.take(places[point.key], row)
            on_point(point, row)

        execute(some, store, config, on_row)

    control = state.draw(max(LEAST_CONTROLS, round(CONTROL_SHARE * len(runs))), plan.grid.seed)
    drawn = control[~state.ran[control]]
    while len(chosen := np.union1d(state.choose(), drawn)):
        if refiner and refiner.refine(state, chosen):
            continue
        run(chosen)
        drawn = drawn[:0]
    run(_find_baselines(plan, state.ran))
    return RefinedPoints(queues, runs), AutoSummary(len(runs), int(state.ran.sum()), state.find_tightness(control))


def _find_baselines(plan: Plan, ran: np.ndarray) -> np.ndarray:
    """The points that points that ran are compared with and that have not run: a bound is no baseline."""
    baseline = plan.points.baseline
    if baseline is None:
        return np.empty(0, np.int64)
    places = np.unique(plan.points.finder()(baseline[ran]))
    return places[~ran[places]]


class _QueueBoundRefiner:
    """Bounds the points of each structure with queues, once."""

    def __init__(self, points: Points, store: Store) -> None:
        self._points, self._store = points, store
        self._groups = group_places(points)
        self._of = np.empty(len(points), np.int64)  # int64[point]
        for group, places in enumerate(self._groups):
            self._of[places] = group
        self._done = np.array([len(places) < MANY_POINTS for places in self._groups])

    def refine(self, state: _AutoState, chosen: np.ndarray) -> bool:
        """Bound what is left of the structures of some points, if they have many; whether any bounds were found."""
        if self._done.all():
            return False
        left = state.find_left() & ~state.closely
        found = False
        wanted: list[int] = np.unique(self._of[chosen[left[chosen]]]).tolist()
        for group in wanted:
            places = self._groups[group]
            if self._done[group]:
                continue
            self._done[group] = True
            for some in slices(places[left[places]]):
                rows = bound_group(self._points.take(some), queues=True)
                if rows is not None:
                    self._store.append_frame(rows)
                    state.take_bounds(some, rows)
                    state.closely[some] = found = True
        return found


class _AutoState:
    """The known bounds and results of all points. bool[point]: `ran`, with events; `closely`, bounded with queues."""

    def __init__(self, plan: Plan, bounds: StoredRows, queues: StoredRows, runs: StoredRows) -> None:
        self._grid, self._count = plan.grid, len(plan.points)
        self.ran = np.zeros(self._count, bool)
        self.closely = queues.found.copy()
        self._failed = np.zeros(self._count, bool)
        self._bounded = bounds.rank == RANK[OK]
        wanted = {"latency_ns", *ENDS, *(objective.column for objective in objectives_of(self._grid))}
        wanted = wanted.union(
            *(derived.expression.names for derived in self._grid.derived),
            *(rule.condition.names for rule in self._grid.rules),
        )
        self._fixed = _read_parameters(plan, wanted)
        self._results = {name: unknown(self._count) for name in sorted(wanted) if COLUMNS.get(name) in (int, float)}
        for known in (bounds, queues):
            for some in slices(np.flatnonzero(known.found)):
                self.take_bounds(some, known.take(some))
        for some in slices(np.flatnonzero(bounds.found & runs.found)):
            for place, row in zip(some.tolist(), runs.take(some).iter_rows(named=True), strict=True):
                self.take(place, row)

    def take_bounds(self, which: np.ndarray, rows: polars.DataFrame) -> None:
        """Take in bounds of points that have not run."""
        for name, (low, high) in bound_results(rows, list(self._results)).items():
            ours = self._results[name]
            ours.low[which] = np.maximum(ours.low[which], low)
            ours.high[which] = np.minimum(ours.high[which], high)

    def take(self, place: int, row: Row) -> None:
        """Take in the row of a point that has run."""
        self.ran[place] = True
        self._failed[place] = row["status"] != OK
        for name, (low, high) in self._results.items():
            if name not in ENDS:
                value = row[name]
                unknown_low = 0.0 if name in NOT_NEGATIVE else -np.inf
                low[place], high[place] = (unknown_low, np.inf) if value is None else (value, value)

    def choose(self) -> np.ndarray:
        """The points to run next: those that no other unsettled point dominates at its best; none when all are settled.

        All of them have to run. What could settle one would be better at its worst, so all the more at its best.
        """
        left, best = self._find_left()
        return left[undominated(best[left])]

    def find_left(self) -> np.ndarray:
        """bool[point] which are not settled."""
        left = np.zeros(self._count, bool)
        left[self._find_left()[0]] = True
        return left

    def _find_left(self) -> tuple[np.ndarray, np.ndarray]:
        """And float64[point, objective] the costs of all points at their best."""
        best, worst, kept, may_keep = self._judge()
        better = worst[kept & np.isfinite(worst).all(axis=1)]
        better = better[undominated(better)] if len(better) else better
        left = np.flatnonzero(~self.ran & may_keep)
        for cost in better:
            left = left[~((cost <= best[left]).all(axis=1) & (cost < best[left]).any(axis=1))]
        return left, best

    def draw(self, count: int, seed: int) -> np.ndarray:
        """Some of all points that have bounds, the same whichever of them have run."""
        return np.sort(np.random.default_rng(seed).permutation(np.flatnonzero(self._bounded))[:count])

    def find_tightness(self, sample: np.ndarray) -> tuple[float, ...]:
        """Lower bound over simulated latency of each that ran well."""
        latency = self._results["latency_ns"].low
        sample = sample[self.ran[sample] & ~self._failed[sample] & (latency[sample] > 0)]
        return tuple(np.sort(self._results["lower_ns"].low[sample] / latency[sample]).tolist())

    def _judge(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """float64[point, objective] costs at best and at worst, and bool[point]: surely an answer, possibly one."""
        columns, count = {**self._fixed, **self._results}, self._count
        for derived in self._grid.derived:
            columns[derived.name] = find_interval(derived.expression, columns, count)
        sure, possible = ~self._failed, ~self._failed
        late = late_names(self._grid)
        for rule in self._grid.rules:
            if rule.condition.names & late:
                low, high = find_interval(rule.condition, columns, count)
                sure &= (low == 1) if rule.keeps else (high == 0)
                possible &= (high == 1) if rule.keeps else (low == 0)
        costs = [_cost(columns.get(o.column, unknown(count)), o.least) for o in objectives_of(self._grid)]
        best, worst = (np.column_stack([getattr(cost, end) for cost in costs]) for end in ("low", "high"))
        return best, worst, sure, possible


def _read_parameters(plan: Plan, wanted: set[str]) -> Mapping[str, Interval]:
    """The columns of parameters, and the topology's fields that no axis sets; anything at all where one is no number."""
    import polars

    names = [name for name in parameter_names(plan.grid, plan.points) if name in wanted]
    frame = plan.points.frame(names, np.arange(len(plan.points)))
    columns = {name: frame[name].cast(float).to_numpy() for name, kind in frame.schema.items() if kind != polars.String}
    for name, value in plan.points.context.fields.items():
        if name in wanted and name not in names and isinstance(value, int | float):
            columns[name] = np.full(len(plan.points), float(value))
    return {name: Interval(values, values) for name, values in columns.items()}


def _cost(column: Interval, least: bool) -> Interval:
    return column if least else Interval(-column.high, -column.low)
