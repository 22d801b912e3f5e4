"""A bench that is bounded instead of run: its program is recorded, then only looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from kernbench.analytic import Sheet
from kernbench.analytic.frame import Frame, build_frame
from kernbench.analytic.reach import Reach, Works, list_works
from kernbench.analytic.sheet import check_clock
from kernbench.analytic.work import sum_up
from kernbench.errors import InputError
from kernbench.host.device import Device
from kernbench.host.launch import Launch
from kernbench.host.measure import dma_bytes, gemm_flops, rate
from kernbench.machine.origins import find_origins
from kernbench.program.ops import NONE
from kernbench.units import FS_PER_NS

_CELLS = 1 << 21  # times that are worked on at once: what a cache holds
_MOST_POINTS = 1 << 13

if TYPE_CHECKING:
    from kernbench.host.layout import Layout
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program, Thread


class RecordedDevice(Device):
    """A device on which nothing runs; what is issued is kept."""

    def __init__(self, machine: Machine, mode: str, live: bool = False) -> None:  # noqa: ARG002
        super().__init__(machine, live=live)

    def look(self, layout: Layout, copy: int = 0) -> NoReturn:  # noqa: ARG002
        """Errors: InputError; there are no numbers."""
        raise InputError(
            f"analytic mode computes no numbers, but the bench reads those of a tensor of shape {layout.shape}; "
            "use mode hybrid"
        )

    def run(self) -> None:
        """Nothing: what waits for it may follow at once, because streams keep their order."""


@dataclass(frozen=True, slots=True)
class BenchBounds:
    """Bounds of what a run reports, in femtoseconds; all times but `upper` are from below."""

    latency_fs: int
    pe_exec_fs: int
    makespan_fs: int
    upper_fs: int  # of all three
    binding: str  # what sets that of the makespan
    gemm_flops: int  # given to GEMM engines
    dma_bytes: int  # moved by PEs

    def list_figures(self) -> dict[str, Any]:
        """What can be said without events, by the names that `RunResult` has for it; rates are bounds from above."""
        return {
            "latency_ns": self.latency_fs / FS_PER_NS,
            "pe_exec_ns": self.pe_exec_fs / FS_PER_NS,
            "makespan_ns": self.makespan_fs / FS_PER_NS,
            "events": 0,
            "flit_hops": 0,
            "achieved_tflops": _most(self.gemm_flops, self.pe_exec_fs, 1e12),
            "achieved_gbs": _most(self.dma_bytes, self.pe_exec_fs, 1e9),
            "bottleneck": None,
            "bottleneck_part": None,
            "bottleneck_utilisation": None,
            "lower_ns": self.latency_fs / FS_PER_NS,
            "upper_ns": self.upper_fs / FS_PER_NS,
            "binding": self.binding,
        }


def find_bounds(program: Program, launches: Sequence[Launch]) -> BenchBounds:
    """The bounds of a recorded program. Errors: InputError for live kernels; DeadlockError."""
    sheet = Sheet(program, vary=False)
    whole = sheet.bounds()
    latencies, by_sip = [0] if launches else [whole.lower_fs], {}
    if launches:
        _, end_fs = sheet.after([_row(launch.issued) for launch in launches])
        latencies += [launch.back_fs(end_fs) for launch in launches]
    for launch in launches:
        took = launch.pe_exec_fs(*sheet.after([_row(place) for place in launch.started]))
        by_sip[launch.message.sip] = by_sip.get(launch.message.sip, 0) + max(0, took)
    return BenchBounds(
        latency_fs=max(latencies),
        pe_exec_fs=max(by_sip.values(), default=0),
        makespan_fs=whole.lower_fs,
        upper_fs=whole.upper_fs,
        binding=whole.binding,
        gemm_flops=gemm_flops(program),
        dma_bytes=dma_bytes(program),
    )


def _most(amount: int, least_fs: int, unit: float) -> float | None:
    """A rate that nothing can exceed which takes at least so long; None if that says nothing."""
    return rate(amount, least_fs) / unit if least_fs else None


class BenchSheet:
    """The bounds of a recorded program with launches, for many points: those of `find_bounds` at each, to the femtosecond.

    `figures`: the fields of the topology that they depend on, as the machine has them. Errors: as `find_bounds`; also
    InputError without a launch.
    """

    def __init__(self, program: Program, launches: Sequence[Launch]) -> None:
        if not launches:
            raise InputError("a program without a launch has no latency to bound for many points; bound it by itself")
        frame = self._frame = build_frame(program, find_origins(program.machine))
        self.figures = {field: float(program.machine.figures[field]) for field in frame.basis.fields}
        self._works = list_works(frame)
        self._upper = sum_up(frame)
        issued, self._completed = (
            [_row(getattr(launch, end)) for launch in launches] for end in ("issued", "completed")
        )
        self._latency = Reach(frame, self._works, issued, self._completed)
        self._amounts = {"achieved_tflops": (gemm_flops(program), 1e12), "achieved_gbs": (dma_bytes(program), 1e9)}
        self._execs = [_Exec(frame, self._works, launch) for launch in launches]
        nodes = max(len(reach) for reach in (self._latency, *(one.reach for one in self._execs)))
        self._chunk = max(1, min(_MOST_POINTS, _CELLS // max(nodes, len(self._works.atom), 1)))

    def evaluate(self, values: Mapping[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
        """float64[point] times in ns and rates as of `BenchBounds` where fields have these values, `count` of each.

        Fields that `values` leaves out are as the machine has them.
        """
        names = ("latency_ns", "pe_exec_ns", "lower_ns", "upper_ns")
        found = {name: np.empty(count) for name in (*names, *self._amounts)}
        for first in range(0, count, self._chunk):
            here = slice(first, min(first + self._chunk, count))
            size = here.stop - first
            given = {
                field: values[field][here] if field in values else np.full(size, base)
                for field, base in self.figures.items()
            }
            times = dict(zip(names, self._evaluate(given, size), strict=True))
            for name, times_fs in times.items():
                found[name][here] = times_fs / FS_PER_NS
            for name, (amount, unit) in self._amounts.items():
                least_fs = np.where(times["pe_exec_ns"] > 0, times["pe_exec_ns"], np.nan)
                found[name][here] = rate(amount, least_fs) / unit
        return found

    def _evaluate(self, values: Mapping[str, np.ndarray], count: int) -> tuple[np.ndarray, ...]:
        atoms_fs = self._frame.basis.fs(values, count)
        work_fs = self._works.fs(self._frame.moves, atoms_fs)
        latency = self._latency.times(work_fs)[self._latency.find(self._completed)].max(axis=0, initial=0)
        check_clock(latency.max(initial=0))
        by_sip: dict[int, np.ndarray] = {}
        for one in self._execs:
            by_sip[one.sip] = by_sip.get(one.sip, 0) + one.took_fs(work_fs)
        pe_exec = np.max([np.zeros(count, np.int64), *by_sip.values()], axis=0)
        return latency, pe_exec, latency, np.trunc(atoms_fs @ self._upper)


class _Exec:
    """What the PEs of a launch take, from the opening of its barrier to the end of the last."""

    def __init__(self, frame: Frame, works: Works, launch: Launch) -> None:
        self.sip = launch.message.sip
        self._started = [_row(place) for place in launch.started]
        self._finished = _blockers(frame, [_row(place) for place in launch.finished])
        self.reach = Reach(frame, works, self._started, [*self._started, *self._finished])

    def took_fs(self, work_fs: np.ndarray) -> np.ndarray:
        """int64[point]"""
        end = self.reach.times(work_fs)
        finished, started = self.reach.find(self._finished), self.reach.find(self._started)
        if not len(finished):
            return np.zeros(work_fs.shape[1], np.int64)
        return np.maximum(0, end[finished].max(axis=0) - end[started].min(axis=0))


def _blockers(frame: Frame, rows: Sequence[int]) -> list[int]:
    """The rows for which the threads of some rows waited before they issued them."""
    place = np.empty(len(frame.rows.op), np.int64)
    place[frame.rows.row] = np.arange(len(frame.rows.row))
    blocker = frame.rows.blocker[place[list(rows)]]
    return blocker[blocker != NONE].tolist()


def _row(place: tuple[Thread, int]) -> int:
    thread, row = place
    return thread.find_row(row)
