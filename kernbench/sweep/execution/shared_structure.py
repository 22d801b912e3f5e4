"""Points that share a structure: machine compiled once, bench recorded once, then only figures change.

Points that differ in figures of the topology alone share a structure. It returns bit for bit the results that each point has
when it runs alone, or None: then the point has to run alone (a bench that reads its own results, a part whose figures decide
more than times). One structure is kept at a time, since points come in groups; mode auto returns to structures and keeps
several.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import repeat
from math import isnan
from types import SimpleNamespace

import numpy as np

from kernbench.energy.figures import EnergyFigures
from kernbench.engine.jit_status import running_s
from kernbench.errors import KernBenchError
from kernbench.limits.time_limit import limit_time
from kernbench.machine.families.registry import may_vary
from kernbench.machine.variants import Variants
from kernbench.modes import Mode
from kernbench.program.digest import digest
from kernbench.runs.bench import find_bench, typed_parameters
from kernbench.runs.bounds import LaunchBoundModel
from kernbench.runs.recording import RecordedGroup, record
from kernbench.runs.run import choose_sips
from kernbench.sweep.execution.point_progress import report_run, report_stage
from kernbench.sweep.point import Point

MOST_VALUES = 1 << 12  # that are kept as read, of all figures


class _Kept(threading.local):
    """The latest structures, oldest first; of each thread, as workers of a cluster may be threads."""

    def __init__(self) -> None:
        self.most = 1
        self.structures: list[SharedStructure] = []


_kept = _Kept()


class SharedStructure:
    """The machine and the recorded bench of some points. Errors: KernBenchError if there is no such machine or bench."""

    def __init__(self, point: Point) -> None:
        assert point.bench is not None  # traffic shares nothing
        bench = find_bench(point.bench)
        parameters = typed_parameters(bench, point.parameters)
        fixed = {path: value for path, value in point.overrides.items() if not may_vary(path)}
        self.identity = identify(point)
        self.variants = Variants(point.topology, bench.shape(parameters, fixed))
        base = self.variants.base
        self.recording = record(bench, base, parameters, choose_sips(base, "all"), point.limits)
        self.same = {
            "program_digest": digest(self.recording.program) if self.recording else "",
            "collective_algorithm": self.recording.collective_algorithm if self.recording else None,
        }  # in the rows of all points
        self._bound_model: LaunchBoundModel | None = None
        self._groups: dict[str, list[RecordedGroup]] = {}  # by mode, the idle ones
        self._lock = threading.Lock()
        self._read = lru_cache(MOST_VALUES, typed=True)(partial(_read_value, self.variants))

    @property
    def groups(self) -> bool:
        """Whether `run_all` runs any points together: not on a machine with credits, which no batch can run."""
        return self._has_launches and not self.variants.base.flow_control

    @property
    def _has_launches(self) -> bool:
        return self.recording is not None and len(self.recording.launches) > 0

    @staticmethod
    def figures(point: Point) -> dict[str, object]:
        """The figures that may vary and that the point sets, by field."""
        return {path: value for path, value in point.overrides.items() if may_vary(path)}

    def run(self, point: Point) -> object | None:
        """An object with the figures of a RunResult; None if the point has to run alone. Errors: KernBenchError."""
        started = running_s()
        with limit_time(point.limits.time_s, lambda: f"{point.described}, simulating"):
            machine = self.variants.machine(self.figures(point)) if self.recording else None
            if self.recording is None or machine is None:
                return None
            base = self.variants.base.figures
            if any(machine.figures[field] != base[field] for field in self.recording.looked_at):
                return None
            found = self.recording.list_metrics(machine, point.mode, partial(report_run, point.index))
        return SimpleNamespace(**found, **self.same, wall_s=running_s() - started)

    def run_all(self, points: Sequence[Point]) -> Iterator[object | None]:
        """The results of `run` for points of one mode, in order, as they finish; many run in one call.

        None stands also for a point that fails: when it runs alone, it reports the error. Several threads may do this at
        once, since the call is without the GIL. Errors: KernBenchError.
        """
        bounded = points[0].mode == Mode.ANALYTIC
        if not (bounded or self.groups):
            return repeat(None, len(points))
        with self._lock:
            columns, alone = self._read_all(points)
        together = np.flatnonzero(~alone)
        if not len(together):
            return repeat(None, len(points))
        columns = {field: values[together] for field, values in columns.items()}
        indices = [points[at].index for at in together.tolist()]
        if bounded:
            return _in_order(alone, self._bound_together(columns))
        results = self._run_together(points[0], columns, indices)
        return _in_order(alone, results)

    def _run_together(
        self, first: Point, columns: Mapping[str, np.ndarray], indices: Sequence[int]
    ) -> Iterator[object | None]:
        assert self.recording is not None
        mode, limit_s = first.mode, first.limits.time_s

        def on_run(run: int, served: int, known: int, now_fs: int) -> None:
            report_run(indices[run], served, known, now_fs)

        with self._lock:
            idle = self._groups.setdefault(mode, [])
            group = idle.pop() if idle else RecordedGroup(self.recording, mode)
        try:
            started = running_s()
            for found in group.list_metrics(columns, on_run, limit_s):
                wall_s = (running_s() - started) / max(len(found), 1)
                for figures in found:
                    yield figures and SimpleNamespace(**figures, **self.same, wall_s=wall_s)
                started = running_s()
        except OverflowError:  # at a point that reports it when it runs alone
            pass
        idle.append(group)  # after anything else it may be in any state, and another is made

    def _bound_together(self, columns: Mapping[str, np.ndarray]) -> Iterator[object]:
        started = time.perf_counter()
        count = len(next(iter(columns.values()), ()))
        found = self.bound(columns, count) or {}
        same = {"events": 0, "flit_hops": 0, **self.same}
        wall_s = (time.perf_counter() - started) / max(count, 1)
        assert self.recording is not None
        energy = EnergyFigures(self.recording.program)
        rates = [field for field in energy.rates if field in columns]  # that areas go with
        for at, values in enumerate(zip(*(column.tolist() for column in found.values()), strict=True)):
            figures = {name: None if isnan(value) else value for name, value in zip(found, values, strict=True)}
            machine = energy.of_machine({field: float(columns[field][at]) for field in rates})
            yield SimpleNamespace(**figures, **machine, **same, wall_s=wall_s)

    def _read_all(self, points: Sequence[Point]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """float64[point] of each figure that any point sets, and bool[point] which have to run alone."""
        base, fields = self.variants.base.figures, self.variants.fields
        columns: dict[str, np.ndarray] = {}
        alone = np.full(len(points), not self._has_launches)
        for at, point in enumerate(points):
            for field, value in self.figures(point).items():
                if field not in fields:
                    alone[at] = True
                    continue
                if field not in columns:
                    columns[field] = np.full(len(points), base[field])
                columns[field][at] = self._read(field, value)
        alone |= not columns
        for values in columns.values():
            alone |= np.isnan(values)
        if self.recording is not None:
            for field in self.recording.looked_at & columns.keys():
                alone |= columns[field] != base[field]
        return columns, alone

    def bound(
        self, columns: Mapping[str, np.ndarray], count: int, *, queues: bool = False
    ) -> dict[str, np.ndarray] | None:
        """The bounds of many points, float64[point] of each time; None if each has to be bounded alone.

        `columns`: float64[point] of each field that may differ, in its own unit; `queues`: as of `LaunchBoundModel.evaluate`.
        Errors: KernBenchError.
        """
        if not self._has_launches or not self._follows(columns):
            return None
        assert self.recording is not None
        if self._bound_model is None:
            self._bound_model = LaunchBoundModel(self.recording.program, self.recording.launches)
        return self._bound_model.evaluate(columns, count, queues=queues)

    def _follows(self, columns: Mapping[str, np.ndarray]) -> bool:
        """Whether only times follow from the fields that differ: none of them decided what the bench issued."""
        assert self.recording is not None
        base, looked_at = self.variants.base.figures, self.recording.looked_at
        return columns.keys() <= self.variants.fields and all(
            (columns[field] == base[field]).all() for field in looked_at & columns.keys()
        )


def _in_order(alone: np.ndarray, results: Iterator[object | None]) -> Iterator[object | None]:
    """The results of points, None for each that runs alone, bool[point]."""
    for by_itself in alone.tolist():
        yield None if by_itself else next(results, None)
    for _ in results:  # none is left, but what made them comes to its end and may be used again
        pass


def _read_value(variants: Variants, field: str, value: object) -> float:
    """A figure in its unit, or NaN for what it cannot be."""
    try:
        return variants.value(field, value)
    except KernBenchError:
        return np.nan


def find_structure(point: Point) -> SharedStructure:
    """The structure of a point: one of those kept, if it is the same. Errors: as `SharedStructure`."""
    kept = _kept.structures
    identity = identify(point)
    found = next((structure for structure in kept if structure.identity == identity), None)
    if found is None:
        report_stage(point.index, "recording the bench")
        del kept[: max(0, len(kept) - _kept.most + 1)]  # before it is made: it may need the memory
        with limit_time(point.limits.time_s, lambda: f"{point.described}, recording the bench"):
            found = SharedStructure(point)
    else:
        kept.remove(found)
    kept.append(found)
    return found


def is_kept(point: Point) -> bool:
    """Whether its structure need not be made."""
    identity = identify(point)
    return any(structure.identity == identity for structure in _kept.structures)


@contextmanager
def keep_structures(most: int) -> Generator[None]:
    """Keep up to `most` structures in this thread; after the block the latest is left."""
    _kept.most = most
    try:
        yield
    finally:
        _kept.most = 1
        del _kept.structures[:-1]


def identify(point: Point) -> tuple[str | None, ...]:
    """The identity of a structure: equal for points that share it."""
    fixed = sorted((path, repr(value)) for path, value in point.overrides.items() if not may_vary(path))
    return point.bench, point.topology, repr(sorted(point.parameters.items())), repr(fixed)
