"""Roofline of a run: its rates against the peak compute and bandwidth of the PEs that it used.

The kernels can be no faster than the longer of the two times of `runs.demand`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernbench.runs.demand import Demand
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import numpy as np

    from kernbench.host.device.launch import Launch
    from kernbench.program.program import Program


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

    @property
    def tflops_of_peak(self) -> float:
        """The achieved rate over the peak of all GEMM engines of these PEs."""
        return self.compute_ns / self.kernel_ns

    @property
    def gbs_of_peak(self) -> float:
        """The achieved rate over the bandwidth of the HBM slices of these PEs."""
        return self.memory_ns / self.kernel_ns

    def to_dict(self) -> dict[str, Any]:
        """Its fields by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def find_roofline(
    program: Program, launches: Sequence[Launch], kernel_fs: int, own: np.ndarray | None = None
) -> Roofline | None:
    """The roofline of the launches of a run, whose kernels took `kernel_fs`; of some of them, with bool[row] which are theirs.

    None if there is no launch, or nothing was multiplied or moved.
    """
    demand = Demand(program, launches, own)
    if not demand.pes or not kernel_fs:
        return None
    compute_fs, memory_fs = demand.least_fs({})
    nbytes, flops = demand.memory_bytes, demand.flops
    least_fs = max(compute_fs, memory_fs)
    if not least_fs:
        return None
    return Roofline(
        pes=demand.pes,
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
