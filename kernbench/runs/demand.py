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

if TYPE_CHECKING:
    from kernbench.host.device.launch import Launch
    from kernbench.program.program import Program, Totals

GEMM = "pe_gemm."  # the figures of GEMM work, on whatever engine
MOVED = ("dma_read", "dma_write", "message")  # what counts as moved by PEs
OF_MEMORY = ("dma_read", "dma_write")


class Demand:
    """The demand of launches of a program: of all of them, or of those that own the rows of bool[row]."""

    def __init__(self, program: Program, launches: Sequence[Launch], own: np.ndarray | None = None) -> None:
        pes = {
            (launch.message.sip, thread.name.partition("/")[0]) for launch in launches for thread, _ in launch.started
        }
        totals = program.totals(own)
        jobs = totals.jobs
        self._program = program
        self.pes = len(pes)
        self.flops = int(
            jobs @ np.array([_flops_of(dict(terms)) for terms in program.durations])
        )  # given to GEMM engines
        self.memory_bytes = _bytes_of(totals, program, OF_MEMORY)
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


def dma_bytes(program: Program) -> int:
    """The bytes that PEs moved: to and from memory, and to each other."""
    return _bytes_of(program.totals(), program, MOVED)


def _bytes_of(totals: Totals, program: Program, names: Sequence[str]) -> int:
    """The bytes moved by operations of these names."""
    tags = [program.tag(name, "memory") for name in names]  # one that is new has moved nothing
    return sum(int(totals.moved_bytes[tag]) for tag in tags if tag < len(totals.moved_bytes))


def _flops_of(amounts: Mapping[str, float]) -> float:
    """The floating-point (or integer) operations of a duration: two for each multiply-add."""
    rated = sum(amount for figure, amount in amounts.items() if figure.startswith("pe_gemm.flop_"))
    return amounts.get(FLOP, rated)
