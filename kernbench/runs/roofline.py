"""Roofline of a run: its rates against the peak compute and bandwidth of the PEs that it used.

The GEMM work of the run, spread evenly over the engines of these PEs, needs some time; so do the bytes that they read
and wrote, over the bandwidth of their slices of HBM. The kernels can be no faster than the longer of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.runs.metrics import dma_bytes, gemm_flops
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.host.device.launch import Launch
    from kernbench.program.program import Program

GEMM = "pe_gemm."  # the figures of GEMM work, on whatever engine
OF_MEMORY = ("dma_read", "dma_write")


@dataclass(frozen=True, slots=True)
class Roofline:
    """Times in ns, of all launches together. `intensity` is flops a byte; `share` the least time over that of the kernels."""

    pes: int
    compute_ns: float
    memory_ns: float
    kernel_ns: float
    bound: str  # "compute" or "memory"
    intensity: float | None  # None: no byte moved
    attainable_tflops: float
    achieved_tflops: float
    attainable_gbs: float
    achieved_gbs: float
    share: float

    def to_dict(self) -> dict[str, Any]:
        """Its fields by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def find_roofline(program: Program, launches: Sequence[Launch], kernel_fs: int) -> Roofline | None:
    """The roofline of the launches of a run, whose kernels took `kernel_fs`.

    None if there is no launch, or nothing was multiplied or moved.
    """
    pes = {(launch.message.sip, thread.name.partition("/")[0]) for launch in launches for thread, _ in launch.started}
    if not pes or not kernel_fs:
        return None
    nbytes, flops = dma_bytes(program, OF_MEMORY), gemm_flops(program)
    compute_fs, memory_fs = (
        _gemm_fs(program) / len(pes) / _engines(program),
        nbytes / (len(pes) * _slice_bytes_a_fs(program)),
    )
    least_fs = max(compute_fs, memory_fs)
    if not least_fs:
        return None
    return Roofline(
        pes=len(pes),
        compute_ns=compute_fs / FS_PER_NS,
        memory_ns=memory_fs / FS_PER_NS,
        kernel_ns=kernel_fs / FS_PER_NS,
        bound="compute" if compute_fs >= memory_fs else "memory",
        intensity=flops / nbytes if nbytes else None,
        attainable_tflops=flops / least_fs * 1e3,
        achieved_tflops=flops / kernel_fs * 1e3,
        attainable_gbs=nbytes / least_fs * FS_PER_NS,
        achieved_gbs=nbytes / kernel_fs * FS_PER_NS,
        share=least_fs / kernel_fs,
    )


def _gemm_fs(program: Program) -> int:
    """All GEMM work, one after the other on one engine at its full rate."""
    figures = program.machine.figures
    of_duration = np.array(
        [sum(figures[figure] * n for figure, n in terms if figure.startswith(GEMM)) for terms in program.durations]
    )
    return round(float(program.totals().jobs @ of_duration))


def _engines(program: Program) -> int:
    """The number of products that a PE makes at once."""
    machine = program.machine
    return int(machine.server_slots[machine.places.pe(0, 0, 0).gemm_server])


def _slice_bytes_a_fs(program: Program) -> float:
    """The bandwidth of one slice of HBM."""
    machine = program.machine
    memory = machine.terminals[machine.places.hbm(0, 0, 0)]
    return memory.stripes * machine.flit_bytes / int(machine.stations.fs_per_flit[memory.first_station])
