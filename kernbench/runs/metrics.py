"""Metrics of finished runs of one program, from the times of their rows; one run is a batch of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.energy.figures import EnergyFigures
from kernbench.engine.batch import Runs
from kernbench.oplog.utilisation import BusyParts, find_bottlenecks, list_parts
from kernbench.program.ops import NONE
from kernbench.runs.demand import Demand, dma_bytes
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.engine import Session
    from kernbench.engine.batch_times import BatchTimes
    from kernbench.host.device.launch import Launch
    from kernbench.program.program import Program
    from kernbench.program.thread import Thread


class BatchMetrics:
    """The metrics of runs of a program, whose launches say which rows to read.

    `ended`: bool[row], to count only these rows; without it all rows of kernels must have ended in each run.
    """

    def __init__(self, program: Program, launches: Sequence[Launch], ended: np.ndarray | None = None) -> None:
        self._program, self._machine = program, program.machine
        self._demand, self._bytes = Demand(program, launches), dma_bytes(program)
        self._launches = launches
        self._execs = [
            (launch.message.sip, *([_row(place) for place in places] for places in (launch.started, launch.finished)))
            for launch in launches
        ]
        own = _own_rows(program, launches)
        self._busy = BusyParts(program, own if ended is None else own & ended)
        self._parts = list_parts(self._machine)

    @cached_property
    def _energy(self) -> EnergyFigures:
        return EnergyFigures(self._program)

    def list_metrics(
        self, runs: Runs, times: BatchTimes | None = None, values: Mapping[str, np.ndarray] | None = None
    ) -> list[dict[str, Any] | None]:
        """The metrics of each run, by the names of `RunResult`; None for a run that has not come to its end.

        `times`: the times of these runs' machines, and `values`: float64[run] of each field of the topology that differs;
        without them it is one run, on the machine of the program.
        """
        part, busy_fs, span_fs, ended = self.find_busy(runs, times)
        bottlenecks = find_bottlenecks(self._parts, part, busy_fs, span_fs)
        latency, pe_exec = latency_fs(runs, self._launches), span_fs if self._execs else np.zeros_like(span_fs)
        complete = (runs.left == 0) & ended
        compute_fs, memory_fs = (np.broadcast_to(fs, len(complete)) for fs in self._demand.least_fs(values or {}))
        given = values or {}
        rates = [field for field in self._energy.rates if field in given]  # that areas go with
        found: list[dict[str, Any] | None] = []
        for run, (exec_fs, bottleneck) in enumerate(zip(pe_exec.tolist(), bottlenecks, strict=True)):
            metrics = {
                "latency_ns": int(latency[run]) / FS_PER_NS,
                "pe_exec_ns": exec_fs / FS_PER_NS,
                "makespan_ns": int(runs.now_fs[run]) / FS_PER_NS,
                "events": int(runs.events[run]),
                "flit_hops": int(runs.flit_hops[run]),
                "achieved_tflops": per_s(self._demand.flops, exec_fs) / 1e12,
                "achieved_gbs": per_s(self._bytes, exec_fs) / 1e9,
                "tflops_of_peak": float(compute_fs[run]) / exec_fs if exec_fs else 0.0,
                "gbs_of_peak": float(memory_fs[run]) / exec_fs if exec_fs else 0.0,
                "bottleneck": bottleneck.kind if bottleneck else None,
                "bottleneck_part": bottleneck.part if bottleneck else None,
                "bottleneck_utilisation": bottleneck.utilisation if bottleneck else 0.0,
                **self._energy.of_run(
                    int(runs.now_fs[run]), values={field: float(given[field][run]) for field in rates}
                ),
            }
            found.append(metrics if complete[run] else None)
        return found

    def find_busy(
        self, runs: Runs, times: BatchTimes | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Busy times of parts in each run: of the work of kernels over their time; without a launch of all over the makespan.

        int64[busy part], float64[run, busy part] how long each was busy, int64[run] the window that this is of, and bool[run]
        whether all rows of kernels have ended.
        """
        if not self._execs:
            assert runs.busy_fs is not None
            count = int(runs.busy_fs.shape[1])
            return np.arange(count), runs.busy_fs, runs.now_fs, np.ones(len(runs.times), bool)
        fixed, station = self._machine.stations.fs_per_flit, self._busy.station
        fs_per_flit = fixed[station][None] if times is None else times.fs_per_flit(fixed, station)
        busy_fs, ended = self._busy.fs(runs.times, fs_per_flit)
        return self._busy.part, busy_fs, self._pe_exec_fs(runs), ended

    def _pe_exec_fs(self, runs: Runs) -> np.ndarray:
        """int64[run] from barrier to last PE, summed over the launches of a SIP; the largest of all SIPs."""
        by_sip: dict[int, np.ndarray] = {}
        for sip, started, finished in self._execs:
            took = runs.op_issue_fs[:, finished].max(axis=1) - runs.op_end_fs[:, started].min(axis=1)
            by_sip[sip] = by_sip.get(sip, 0) + took
        return np.max(list(by_sip.values()), axis=0)


def latency_fs(runs: Runs, launches: Sequence[Launch]) -> np.ndarray:
    """int64[run] from the first launch leaving the host to the last completion back at it; else the makespan."""
    if not launches:
        return runs.now_fs
    issued = [_row(launch.issued) for launch in launches]
    completed = [_row(launch.completed) for launch in launches]
    return runs.op_end_fs[:, completed].max(axis=1) - runs.op_issue_fs[:, issued].min(axis=1)


def run_metrics(session: Session, launches: Sequence[Launch]) -> dict[str, Any]:
    """The metrics of one finished run, by the names of `RunResult`."""
    (metrics,) = _metrics_of(session, launches).list_metrics(Runs.of(session))
    assert metrics is not None
    return metrics


def busy_of_run(session: Session, launches: Sequence[Launch]) -> tuple[np.ndarray, int]:
    """float64[part] how long each part of the machine was busy in one run, and of which window (fs)."""
    part, busy_fs, span_fs, _ = _metrics_of(session, launches).find_busy(Runs.of(session))
    by_part = np.zeros(len(session.server_busy_fs) + len(session.station_busy_fs))
    by_part[part] = busy_fs[0]
    return by_part, int(span_fs[0])


def _metrics_of(session: Session, launches: Sequence[Launch]) -> BatchMetrics:
    """Those of one run, in which rows of tile plans may have no end: kernels can be done without them."""
    return BatchMetrics(session.program, launches, session.op_end_fs >= 0)


def _own_rows(program: Program, launches: Sequence[Launch]) -> np.ndarray:
    """bool[row] the work of kernels, without that of launching them."""
    own = np.zeros(len(program.threads) + 1, bool)  # by thread; the last, which NONE reads, is for stages of tile plans
    own[[NONE, *(thread.id for launch in launches for thread, _ in launch.started)]] = True
    entries = own[program.op_thread.values] & (program.op_tag.values != program.tag("launch"))
    return entries[program.op.entry]


def per_s(amount: int, fs: int) -> float:
    """A rate; 0 for no time."""
    return rate(amount, fs) if fs else 0.0


def rate(amount: int, fs: Any) -> Any:
    """An amount over a time, or over an array of times, in s⁻¹."""
    return amount / (fs * 1e-15)


def _row(place: tuple[Thread, int]) -> int:
    thread, row = place
    return thread.find_row(row)
