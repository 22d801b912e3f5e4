"""The simulated times of measured rows, on a machine with any values of the figures that are fitted.

Rows with the same work are one case. What can be prepared once is: the machine is compiled, the bench recorded, the flow
routed. Then one call of the compiled code runs a case on many machines that differ in times alone, and cases run beside each
other on threads. A figure that decides more than times, such as a length, costs a compilation for each of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kernbench.engine.batch import Batch
from kernbench.engine.batch_times import batch_times
from kernbench.engine.session import Session
from kernbench.errors import InputError, KernBenchError
from kernbench.fitting.measurements import LATENCY, PE_EXEC, BenchWork, FlowWork, Measurements
from kernbench.frontends.run import run_bench
from kernbench.machine import load_machine
from kernbench.machine.families.registry import may_vary
from kernbench.machine.load import compile_machine
from kernbench.machine.machine import Machine
from kernbench.machine.variant import make_variant
from kernbench.runs.bench import find_bench
from kernbench.runs.recording import record
from kernbench.runs.repetitions import Repetitions
from kernbench.runs.run import choose_sips
from kernbench.sweep.execution.shared_structure import SharedStructure
from kernbench.sweep.point import Point
from kernbench.traffic.flows import Flows
from kernbench.traffic.lower import Traffic
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.program.program import Program
    from kernbench.runs.result import RunResult

Values = Mapping[str, np.ndarray]  # float64[setting] of each figure, in the unit of its field
OnStage = Callable[[str], object]


class _Case(Protocol):
    rows: Sequence[int]
    compiled: bool  # whether its runs are compiled code alone, so that threads gain

    def simulate(self, values: Values) -> np.ndarray:
        """float64[setting, row of the case] times in ns. Errors: KernBenchError."""
        ...


class Cases:
    """All cases of some measurements on a machine. `base` are the values of the figures that move, by their fields.

    Errors: InputError with file and line for a row that does not run, or whose own fields are among those that are fitted.
    """

    def __init__(
        self,
        measured: Measurements,
        topology: str,
        overrides: Mapping[str, object],
        base: Mapping[str, float],
        workers: int,
        on_stage: OnStage,
    ) -> None:
        self._measured, self._base, self._workers = measured, base, workers
        self._cases: list[_Case] = []
        by_work: dict[object, list[int]] = {}
        for row, one in enumerate(measured.rows):
            for field, _ in one.work.overrides:
                if field in base:
                    raise InputError(
                        f"{measured.where(row)}: {field!r} is set for this row and is to be fitted; name the figures to fit "
                        "without it, or remove the column"
                    )
            key = one.work if isinstance(one.work, BenchWork) else (one.work.run, one.work.overrides)
            by_work.setdefault(key, []).append(row)
        for done, rows in enumerate(by_work.values()):
            on_stage(f"reading the measured work, {done + 1} of {len(by_work)}")
            try:
                self._cases.append(self._make(rows, topology, overrides))
            except KernBenchError as error:
                raise self._at_row(rows[0], error) from None
        self.group = np.zeros(len(measured.rows), np.int64)  # int64[row] the case of each
        for at, case in enumerate(self._cases):
            self.group[list(case.rows)] = at

    @property
    def count(self) -> int:
        """How many runs a setting takes."""
        return len(self._cases)

    def simulate(self, values: Values, count: int) -> np.ndarray:
        """float64[setting, row] times in ns, at `count` settings; a figure without values is as the machine has it.

        Errors: KernBenchError for a row that does not run there.
        """
        columns = {field: values.get(field, np.full(count, value)) for field, value in self._base.items()}
        found = np.zeros((count, len(self._measured.rows)))
        beside = [case for case in self._cases if case.compiled]
        with ThreadPoolExecutor(self._workers) as pool:
            waiting = [(case, pool.submit(case.simulate, columns)) for case in beside]
            try:
                for case in self._cases:
                    if not case.compiled:
                        found[:, list(case.rows)] = self._run(case, lambda case=case: case.simulate(columns))
                for case, future in waiting:
                    found[:, list(case.rows)] = self._run(case, future.result)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return found

    def _run(self, case: _Case, run: Callable[[], np.ndarray]) -> np.ndarray:
        try:
            return run()
        except KernBenchError as error:
            raise self._at_row(case.rows[0], error) from None

    def _at_row(self, row: int, error: KernBenchError) -> KernBenchError:
        """The same error with the place of the row before it, if it is not there yet."""
        text, where = str(error).partition("\n")[0], self._measured.where(row)
        return type(error)(text if text.startswith(where.rpartition(":")[0]) else f"{where}: {text}")

    def _make(self, rows: Sequence[int], topology: str, overrides: Mapping[str, object]) -> _Case:
        work, fields = self._measured.rows[rows[0]].work, list(self._base)
        own = {**overrides, **dict(work.overrides)}
        if isinstance(work, FlowWork):
            return _FlowCase(self._measured, rows, load_machine(topology, own), fields)
        if find_bench(work.bench).is_tanto:
            return _TantoCase(work, rows, self._measured.metric, topology, own, fields)
        return _BenchCase(work, rows, self._measured.metric, topology, own, fields)


def _list_settings(values: Values) -> list[dict[str, float]]:
    """The values of each setting by field."""
    return [dict(zip(values, own, strict=True)) for own in zip(*(one.tolist() for one in values.values()), strict=True)]


class _BenchCase:
    """A bench of kernels, recorded once for each choice of the figures that decide more than times."""

    def __init__(
        self,
        work: BenchWork,
        rows: Sequence[int],
        metric: str,
        topology: str,
        overrides: Mapping[str, object],
        fields: Sequence[str],
    ) -> None:
        self.rows, self._metric = rows, metric
        self._bench = bench = find_bench(work.bench)
        named, parameters = f"{bench.file}:{bench.name}", dict(work.parameters)

        def point(own: Mapping[str, float]) -> Point:
            settings: dict[str, object] = {**overrides, **own}
            return Point(0, "", named, topology, "hybrid", parameters, settings)  # pyright: ignore[reportArgumentType]

        self._point = point
        self._shaping = [field for field in fields if not may_vary(field)]
        self._structure = SharedStructure(point({}))
        self.compiled = self._structure.groups and not self._shaping

    def simulate(self, values: Values) -> np.ndarray:
        """As of `_Case`."""
        settings = _list_settings(values)
        times = np.zeros((len(settings), len(self.rows)))
        by_shape: dict[tuple[float, ...], list[int]] = {}
        for at, own in enumerate(settings):
            by_shape.setdefault(tuple(own[field] for field in self._shaping), []).append(at)
        for chosen in by_shape.values():
            points = [self._point(settings[at]) for at in chosen]
            structure = SharedStructure(points[0]) if self._shaping else self._structure
            for at, point, result in zip(chosen, points, structure.run_all(points), strict=True):
                found = result or structure.run(point)
                times[at] = getattr(found, self._metric) if found else self._run_alone(structure, point)[self._metric]
        return times

    def _run_alone(self, structure: SharedStructure, point: Point) -> dict[str, Any]:
        """The figures of a run whose program follows from figures of the machine: it is recorded again."""
        machine = structure.variants.machine(structure.figures(point))
        if machine is not None:
            recording = record(self._bench, machine, point.parameters, choose_sips(machine, "all"))
            if recording is not None:
                return recording.list_metrics(machine)
        result = run_bench(self._bench.run, point.topology, parameters=point.parameters, overrides=point.overrides)
        return {name: getattr(result, name) for name in (LATENCY, PE_EXEC)}


class _TantoCase:
    """A bench of Tanto programs: its program is kept, and run again where times alone differ."""

    def __init__(
        self,
        work: BenchWork,
        rows: Sequence[int],
        metric: str,
        topology: str,
        overrides: Mapping[str, object],
        fields: Sequence[str],
    ) -> None:
        self.rows, self._work, self._metric = rows, work, metric
        self._topology, self._overrides = topology, overrides
        result = self._run({})
        program = result.device.session.program.settled()
        self._repetitions = self._repeat(program, fields, result.latency_ns)
        self.compiled = self._repetitions is not None and not program.machine.flow_control

    def _repeat(self, program: Program, fields: Sequence[str], latency_ns: float) -> Repetitions | None:
        """Repetitions of the program, if it alone repeats its run and the fields decide times alone."""
        if not set(fields) <= program.machine.origins().fields:
            return None
        made, figures = Repetitions(program, ()), program.machine.figures
        ((fs, left),) = made.run({field: np.array([figures[field]]) for field in fields})
        return made if left == 0 and fs == round(latency_ns * FS_PER_NS) else None

    def simulate(self, values: Values) -> np.ndarray:
        """As of `_Case`."""
        if self._repetitions is not None:
            found = np.array([fs / FS_PER_NS for fs, _ in self._repetitions.run(values)])
        else:
            found = np.array([getattr(self._run(own), self._metric) for own in _list_settings(values)])
        return np.repeat(found[:, None], len(self.rows), axis=1)

    def _run(self, own: Mapping[str, float]) -> RunResult:
        overrides = {**self._overrides, **own}
        return run_bench(self._work.bench, self._topology, parameters=dict(self._work.parameters), overrides=overrides)


class _FlowCase:
    """Flows that run together, or one that runs alone."""

    def __init__(self, measured: Measurements, rows: Sequence[int], machine: Machine, fields: Sequence[str]) -> None:
        works = [work for row in rows if isinstance(work := measured.rows[row].work, FlowWork)]
        self.rows, self._machine = rows, machine
        names = tuple(dict.fromkeys(name for work in works for name in (work.src, work.dst)))
        self._flows = Flows(
            names,
            np.array([names.index(work.src) for work in works]),
            np.array([names.index(work.dst) for work in works]),
            np.array([work.nbytes for work in works]),
            np.array([work.start_fs for work in works]),
            np.array([work.read for work in works]),
            lambda at: measured.where(rows[at]),
        )
        traffic = Traffic(machine, self._flows)
        self.compiled = set(fields) <= machine.origins().fields and not machine.flow_control
        self._batch = Batch(traffic.program) if self.compiled else None
        self._traffic = traffic

    def simulate(self, values: Values) -> np.ndarray:
        """As of `_Case`."""
        if self._batch is not None:
            rows = self._traffic.rows()
            times = batch_times(self._traffic.program, self._machine.origins(), values)
            ends_fs = np.concatenate([runs.op_end_fs[:, rows].copy() for runs in self._batch.run(times)])
        else:
            ends_fs = np.array([self._run_alone(own) for own in _list_settings(values)])
        return (ends_fs - self._flows.start_fs) / FS_PER_NS

    def _run_alone(self, own: Mapping[str, float]) -> np.ndarray:
        machine = self._machine
        if own.keys() <= machine.origins().fields:
            machine = make_variant(machine, own)
        else:
            assert machine.file is not None
            machine = compile_machine(machine.file, {**machine.overrides, **own})
        traffic = Traffic(machine, self._flows)
        session = Session(traffic.program)
        session.run()
        session.check_finished()
        return session.op_end_fs[traffic.rows()].copy()
