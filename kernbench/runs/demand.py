"""The demand of kernels on the PEs that they ran on: GEMM work and bytes of memory, and the least time of each at its peak.

The GEMM work of a run, spread evenly over the engines of these PEs, needs some time; so do the bytes that they read
and wrote, over the bandwidth of their slices of HBM. The least time over the time of the kernels is the share of the peak
that they reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.machine.costs import FLOP
from kernbench.program.ops import Op

if TYPE_CHECKING:
    from kernbench.host.device.launch import Launch
    from kernbench.program.program import Program

GEMM = "pe_gemm."  # the figures of GEMM work, on whatever engine
MOVED = ("dma_read", "dma_write", "message")  # what counts as moved by PEs
OF_MEMORY = ("dma_read", "dma_write")


class Demand:
    """The demand of launches of a program: of all of them, or of those that own the rows of bool[row]."""

    def __init__(self, program: Program, launches: Sequence[Launch], own: np.ndarray | None = None) -> None:
        pes = {
            (launch.message.sip, thread.name.partition("/")[0]) for launch in launches for thread, _ in launch.started
        }
        jobs = _jobs(program, own)
        self._program = program
        self.pes = len(pes)
        self.flops = int(
            jobs @ np.array([_flops_of(dict(terms)) for terms in program.durations])
        )  # given to GEMM engines
        self.memory_bytes = dma_bytes(program, OF_MEMORY, own)
        self._gemm: dict[str, float] = {}  # amounts by figure
        for duration in np.flatnonzero(jobs).tolist():
            for figure, amount in program.durations[duration]:
                if figure.startswith(GEMM):
                    self._gemm[figure] = self._gemm.get(figure, 0) + amount * int(jobs[duration])

    def least_fs(self, values: Mapping[str, np.ndarray]) -> tuple[Any, Any]:
        """The least time of GEMM work and of memory, 0 if there is none: float64[point] where fields vary, else a float.

        `values`: float64[point] of each field of the topology that is not as the program's machine has it.
        """
        if not self.pes:
            return 0.0, 0.0
        machine = self._program.machine
        engines = int(machine.server_slots[machine.places.pe(0, 0, 0).gemm_server])
        compute = 0.0
        for figure, amount in self._gemm.items():
            compute = compute + amount * self._figure(figure, values)
        memory = machine.terminals[machine.places.hbm(0, 0, 0)]
        flits = self.memory_bytes / (memory.stripes * machine.flit_bytes)
        return compute / (self.pes * engines), flits * self._fs_per_flit(memory.first_station, values) / self.pes

    def _figure(self, figure: str, values: Mapping[str, np.ndarray]) -> Any:
        machine = self._program.machine
        origin = machine.origins().figures.get(figure) if values else None
        if origin is None or origin.field not in values:
            return machine.figures[figure]
        return origin.fs(values[origin.field])

    def _fs_per_flit(self, station: int, values: Mapping[str, np.ndarray]) -> Any:
        machine = self._program.machine
        if values:
            origins = machine.origins()
            number = int(origins.service[station])
            if number >= 0 and (origin := origins.known[number]).field in values:
                return np.rint(origin.fs(values[origin.field], machine.flit_bytes))
        return int(machine.stations.fs_per_flit[station])


def dma_bytes(program: Program, names: Sequence[str] = MOVED, own: np.ndarray | None = None) -> int:
    """The bytes that PEs moved by operations of these names, in all rows or in those of bool[row]."""
    moved = np.zeros(len(program.tags) + len(names), bool)  # by tag, with those that are new
    moved[[program.tag(name, "memory") for name in names]] = True
    counted = moved[program.op_tag] & (program.op[:, 0] == Op.MOVE)
    return int(program.op[counted if own is None else counted & own, 2].sum())


def _jobs(program: Program, own: np.ndarray | None) -> np.ndarray:
    """int64[duration] the number of jobs of each duration."""
    jobs = program.op[:, 0] == Op.EXEC
    return np.bincount(program.op[jobs if own is None else jobs & own, 2], minlength=len(program.durations))


def _flops_of(amounts: Mapping[str, float]) -> float:
    """The floating-point (or integer) operations of a duration: two for each multiply-add."""
    rated = sum(amount for figure, amount in amounts.items() if figure.startswith("pe_gemm.flop_"))
    return amounts.get(FLOP, rated)
