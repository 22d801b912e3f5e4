"""The figures of many runs of one recorded bench, read off their rows all at once.

Each is to the last bit what `measure` reads off a run by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.oplog.utilisation import count_services, held_servers, list_parts
from kernbench.program.ops import NONE, Op
from kernbench.runs.measure import dma_bytes, gemm_flops, own_rows, per_s
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.engine.batch import Runs
    from kernbench.engine.batch_times import BatchTimes
    from kernbench.host.device.launch import Launch
    from kernbench.program.program import Program, Thread


class Tally:
    """What to read off the runs of a program with launches."""

    def __init__(self, program: Program, launches: Sequence[Launch]) -> None:
        machine = self._machine = program.machine
        self._flops, self._bytes = gemm_flops(program), dma_bytes(program)
        self._left = [_row(launch.issued) for launch in launches]
        self._back = [_row(launch.completed) for launch in launches]
        self._execs = [
            (launch.message.sip, *([_row(place) for place in places] for places in (launch.started, launch.finished)))
            for launch in launches
        ]
        self._parts = list_parts(machine)
        own = np.flatnonzero(own_rows(program, launches))
        server = held_servers(program.op[own])
        order = np.argsort(server, kind="stable")[np.count_nonzero(server == NONE) :]
        servers, self._servers_start = np.unique(server[order], return_index=True)
        self._holding = own[order]
        moves = own[program.op[own, 0] == Op.MOVE]
        self._timed = np.union1d(self._holding, moves)
        self._services = count_services(machine, program.op[moves])
        stations, self._stations_start = np.unique(self._services.station, return_index=True)
        self._busy = np.concatenate([servers, len(machine.server_name) + stations])  # parts, in order

    def list_figures(self, runs: Runs, times: BatchTimes) -> list[dict[str, Any] | None]:
        """The figures of each run as `measure.list_figures` has them; None for a run that has to be looked at by itself.

        That is one which has not come to its end, or without some of its rows. `times` are those of these runs.
        """
        issue, end = runs.op_issue_fs, runs.op_end_fs
        latency = end[:, self._back].max(axis=1) - issue[:, self._left].min(axis=1)
        pe_exec, busy = self._pe_exec_fs(issue, end), self._busy_fs(runs, times)
        with np.errstate(divide="ignore", invalid="ignore"):  # of runs in which kernels took no time
            utilisation = busy / (self._parts.slots[self._busy] * pe_exec[:, None])
        works = (pe_exec > 0) & busy.any(axis=1)
        complete = (runs.left == 0) & (end[:, self._timed] >= 0).all(axis=1)
        found: list[dict[str, Any] | None] = []
        for run, exec_fs in enumerate(pe_exec.tolist()):
            at = int(np.argmax(utilisation[run])) if works[run] else NONE
            part = int(self._busy[at]) if works[run] else NONE
            figures = {
                "latency_ns": int(latency[run]) / FS_PER_NS,
                "pe_exec_ns": exec_fs / FS_PER_NS,
                "makespan_ns": int(runs.now_fs[run]) / FS_PER_NS,
                "events": int(runs.events[run]),
                "flit_hops": int(runs.flit_hops[run]),
                "achieved_tflops": per_s(self._flops, exec_fs) / 1e12,
                "achieved_gbs": per_s(self._bytes, exec_fs) / 1e9,
                "bottleneck": self._parts.kind[part] if works[run] else None,
                "bottleneck_part": self._parts.name[part] if works[run] else None,
                "bottleneck_utilisation": float(utilisation[run, at]) if works[run] else 0.0,
            }
            found.append(figures if complete[run] else None)
        return found

    def _pe_exec_fs(self, issue_fs: np.ndarray, end_fs: np.ndarray) -> np.ndarray:
        """int64[run]"""
        by_sip: dict[int, np.ndarray] = {}
        for sip, started, finished in self._execs:
            took = issue_fs[:, finished].max(axis=1) - end_fs[:, started].min(axis=1)
            by_sip[sip] = by_sip.get(sip, 0) + took
        return np.max(list(by_sip.values()), axis=0)

    def _busy_fs(self, runs: Runs, times: BatchTimes) -> np.ndarray:
        """int64[run, busy part] how long what kernels did kept each part busy."""
        took = runs.op_end_fs[:, self._holding] - runs.op_start_fs[:, self._holding]
        full = times.fs_per_flit(self._machine.stations.fs_per_flit, self._services.station)
        served = self._services.fs(full, self._machine.flit_bytes)
        return np.append(_sums(took, self._servers_start), _sums(served, self._stations_start), axis=1)


def _sums(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """int64[run, part] sums of int64[run, job] from each start, int64[part], to the next."""
    return np.add.reduceat(values, start, axis=1) if len(start) else values[:, :0]


def _row(place: tuple[Thread, int]) -> int:
    thread, row = place
    return thread.find_row(row)
