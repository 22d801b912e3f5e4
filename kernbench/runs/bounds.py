"""Bounds of the times of a recorded program: for one run, and for many points at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.analytic import BoundModel
from kernbench.analytic.bound_model import check_clock
from kernbench.analytic.model import ProgramModel, build_model
from kernbench.analytic.node_times import list_node_times
from kernbench.analytic.queueing_bounds import QueueingBounds
from kernbench.analytic.resource_load import serial_time
from kernbench.analytic.stage_times import list_stage_times
from kernbench.analytic.start_to_end_paths import StartToEndPaths
from kernbench.errors import InputError
from kernbench.program.ops import NONE
from kernbench.runs.demand import Demand, dma_bytes
from kernbench.runs.metrics import rate
from kernbench.units import FS_PER_NS

_CELLS = 1 << 21  # times that are worked on at once: what a cache holds
_MOST_POINTS = 1 << 13

if TYPE_CHECKING:
    from kernbench.analytic.node_times import NodeTimes
    from kernbench.host.device.launch import Launch
    from kernbench.program.program import Program
    from kernbench.program.thread import Thread


@dataclass(frozen=True, slots=True)
class RunBounds:
    """Bounds of what a run reports, in femtoseconds; all times but `upper` are from below."""

    latency_fs: int
    pe_exec_fs: int
    makespan_fs: int
    upper_fs: int  # of all three
    binding: str  # what sets that of the makespan
    demand: Demand
    dma_bytes: int  # moved by PEs

    def list_metrics(self) -> dict[str, Any]:
        """The metrics without events, by the names of `RunResult`; rates are bounds from above."""
        compute_fs, memory_fs = self.demand.least_fs({})
        return {
            "latency_ns": self.latency_fs / FS_PER_NS,
            "pe_exec_ns": self.pe_exec_fs / FS_PER_NS,
            "makespan_ns": self.makespan_fs / FS_PER_NS,
            "events": 0,
            "flit_hops": 0,
            "achieved_tflops": _most(self.demand.flops, self.pe_exec_fs, 1e12),
            "achieved_gbs": _most(self.dma_bytes, self.pe_exec_fs, 1e9),
            "tflops_of_peak": compute_fs / self.pe_exec_fs if self.pe_exec_fs else None,
            "gbs_of_peak": memory_fs / self.pe_exec_fs if self.pe_exec_fs else None,
            "bottleneck": None,
            "bottleneck_part": None,
            "bottleneck_utilisation": None,
            "lower_ns": self.latency_fs / FS_PER_NS,
            "upper_ns": self.upper_fs / FS_PER_NS,
            "binding": self.binding,
        }


def find_bounds(program: Program, launches: Sequence[Launch]) -> RunBounds:
    """The bounds of a recorded program. Errors: InputError for live kernels; DeadlockError."""
    bounded = BoundModel(program, vary=False)
    whole = bounded.bounds()
    latencies = [0] if launches else [whole.lower_fs]
    by_sip: dict[int, int] = {}
    if launches:
        _, end_fs = bounded.after([_row(launch.issued) for launch in launches])
        latencies += [launch.back_fs(end_fs) for launch in launches]
    for launch in launches:
        took = launch.pe_exec_fs(*bounded.after([_row(place) for place in launch.started]))
        by_sip[launch.message.sip] = by_sip.get(launch.message.sip, 0) + max(0, took)
    return RunBounds(
        latency_fs=max(latencies),
        pe_exec_fs=max(by_sip.values(), default=0),
        makespan_fs=whole.lower_fs,
        upper_fs=whole.upper_fs,
        binding=whole.binding,
        demand=Demand(program, launches),
        dma_bytes=dma_bytes(program),
    )


def _most(amount: int, least_fs: int, unit: float) -> float | None:
    """The upper bound of a rate, given the least time; None for no time."""
    return rate(amount, least_fs) / unit if least_fs else None


class LaunchBoundModel:
    """The bounds of a recorded program with launches, for many points: those of `find_bounds` at each, to the femtosecond.

    `figures`: the fields of the topology that they depend on, as the machine has them. Errors: as `find_bounds`; also
    InputError without a launch.
    """

    def __init__(self, program: Program, launches: Sequence[Launch]) -> None:
        if not launches:
            raise InputError("a program without a launch has no latency to bound for many points; bound it by itself")
        model = self._model = build_model(program, program.machine.origins())
        self.figures = {field: float(program.machine.figures[field]) for field in model.basis.fields}
        works = self._works = list_node_times(model)
        self._upper = serial_time(model)
        self._demand = Demand(program, launches)
        self._amounts = {"achieved_tflops": (self._demand.flops, 1e12), "achieved_gbs": (dma_bytes(program), 1e9)}
        issued, completed = ([_row(getattr(launch, end)) for launch in launches] for end in ("issued", "completed"))
        self._sips = [launch.message.sip for launch in launches]
        latency = StartToEndPaths(model, works, issued, [[row] for row in completed])
        self._spans = [latency, *(_span_pes(model, works, launch) for launch in launches)]
        self._queued: _Queued | None = None

    def evaluate(self, values: Mapping[str, np.ndarray], count: int, *, queues: bool = False) -> dict[str, np.ndarray]:
        """float64[point] times in ns and rates as of `RunBounds` where fields have these values, `count` of each.

        Fields that `values` leaves out are as the machine has them. With `queues` transfers and jobs queue at each part: then
        no time is less than without and no rate more, and a point takes some ten times as long.
        """
        names, shares = ("latency_ns", "pe_exec_ns", "lower_ns", "upper_ns"), ("tflops_of_peak", "gbs_of_peak")
        found = {name: np.empty(count) for name in (*names, *self._amounts, *shares)}
        find_times = self._find_queues().times if queues else self._find_paths
        for here, given in self._cut(values, count):
            atoms_fs = self._model.basis.fs(given, here.stop - here.start)
            latency, pe_exec = self._join(find_times(atoms_fs))
            check_clock(latency.max(initial=0))
            for name, times_fs in zip(
                names, (latency, pe_exec, latency, np.trunc(atoms_fs @ self._upper)), strict=True
            ):
                found[name][here] = times_fs / FS_PER_NS
            exec_fs = np.where(pe_exec > 0, pe_exec, np.nan)
            for name, (amount, unit) in self._amounts.items():
                found[name][here] = rate(amount, exec_fs) / unit
            for name, least_fs in zip(shares, self._demand.least_fs(given), strict=True):
                found[name][here] = least_fs / exec_fs
        return found

    def _find_paths(self, atoms_fs: np.ndarray) -> list[np.ndarray]:
        """int64[point, gate] of each span."""
        work_fs = self._works.fs(atoms_fs, self._works.transfers_fs(atoms_fs))
        return [span.times(work_fs) for span in self._spans]

    def _find_queues(self) -> _Queued:
        if self._queued is None:
            self._queued = _Queued(self._model, self._works, self._spans)
        return self._queued

    def _cut(self, values: Mapping[str, np.ndarray], count: int) -> Iterator[tuple[slice, dict[str, np.ndarray]]]:
        """Slices of the points, each with the values of all fields."""
        most = max(len(self._works.atom), len(self._model.moves.choices), 1)
        size = max(1, min(_MOST_POINTS, _CELLS // most))
        for first in range(0, count, size):
            here = slice(first, min(first + size, count))
            given = {
                field: values[field][here] if field in values else np.full(here.stop - first, base)
                for field, base in self.figures.items()
            }
            yield here, given

    def _join(self, times: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """int64[point] of latency and of PEs: those of the SIP that is busy longest. `times`: as of all spans."""
        latency, *execs = (found.max(axis=1, initial=0) for found in times)
        sips, of = np.unique(self._sips, return_inverse=True)
        by_sip = np.zeros((len(sips), len(latency)), np.int64)
        np.add.at(by_sip, of, execs)
        return latency, by_sip.max(axis=0)


class _Queued:
    """The queues on the paths of some spans."""

    def __init__(self, model: ProgramModel, works: NodeTimes, spans: Sequence[StartToEndPaths]) -> None:
        self._legs = list_stage_times(model, works)
        self._queues = [QueueingBounds(model, self._legs, span) for span in spans]

    def times(self, atoms_fs: np.ndarray) -> list[np.ndarray]:
        """int64[point, gate] of each span."""
        legs_fs, work_fs = self._legs.times(atoms_fs)
        return [queues.times(legs_fs, work_fs) for queues in self._queues]


def _span_pes(model: ProgramModel, works: NodeTimes, launch: Launch) -> StartToEndPaths:
    """The time of the PEs of a launch, from the opening of its barrier to the end of the last."""
    finished = _blockers(model, [_row(place) for place in launch.finished])
    return StartToEndPaths(model, works, [_row(place) for place in launch.started], [finished] if finished else [])


def _blockers(model: ProgramModel, rows: Sequence[int]) -> list[int]:
    """The rows for which the threads of some rows waited before they issued them."""
    place = np.empty(len(model.rows.op), np.int64)
    place[model.rows.row] = np.arange(len(model.rows.row))
    blocker = model.rows.blocker[place[list(rows)]]
    return blocker[blocker != NONE].tolist()


def _row(place: tuple[Thread, int]) -> int:
    thread, row = place
    return thread.find_row(row)
