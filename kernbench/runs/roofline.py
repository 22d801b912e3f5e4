"""Roofline of a run: the least time that the work of its kernels needs, and its rates against the peaks of its PEs.

Each engine, each port of a scratchpad, each memory channel and each link has its own work to do, and the kernels take no less
than the one that needs longest. So the least time is the largest over matrix engines, vector engines, TCM ports, memories and
links, of each PE by itself: work that is uneven over PEs is not spread. The peaks of `runs.demand` spread it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.oplog.utilisation import AS_BUSY, JOINED
from kernbench.runs.demand import Demand
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.host.device.launch import Launch
    from kernbench.oplog.utilisation import Parts
    from kernbench.program.program import Program

GEMM = "gemm"
ENGINES = (GEMM, "math", "tcm_read", "tcm_write")  # classes of parts that each PE has one of
STATIONS = (" links", " channels")  # the ends of the classes of links and of memories
EVEN_SHARE = 0.75  # of the longest time of a PE: a mean that is less says that work is uneven


@dataclass(frozen=True, slots=True)
class Rates:
    """What kernels achieved against the peaks of their PEs. Times in ns, of all launches together.

    `compute_ns`, `memory_ns`: the least times of GEMM work and of bytes of memory, spread evenly over the PEs.
    """

    pes: int
    compute_ns: float
    memory_ns: float
    kernel_ns: float
    intensity: float | None  # flops a byte; None: no byte moved
    achieved_tflops: float
    achieved_gbs: float

    @property
    def tflops_of_peak(self) -> float:
        """The achieved rate over the peak of all GEMM engines of these PEs."""
        return self.compute_ns / self.kernel_ns

    @property
    def gbs_of_peak(self) -> float:
        """The achieved rate over the bandwidth of the HBM slices of these PEs."""
        return self.memory_ns / self.kernel_ns


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The least time (ns) that the work needs at the parts of a class: of the busiest part, and in the mean of the PEs."""

    kind: str
    part: str
    least_ns: float
    mean_ns: float | None  # None: parts of this class belong to no PE

    @property
    def is_uneven(self) -> bool:
        """Whether one PE has far more to do than the mean."""
        return self.mean_ns is not None and self.mean_ns < EVEN_SHARE * self.least_ns


@dataclass(frozen=True, slots=True)
class Roofline(Rates):
    """The ceilings of a run, the highest least time first. `share`: the least time over that of the kernels."""

    ceilings: tuple[Ceiling, ...]

    @property
    def least_ns(self) -> float:
        """What the kernels need at least."""
        return self.ceilings[0].least_ns

    @property
    def bound(self) -> str:
        """The class of parts that needs longest, with all that need as long (within 2 %)."""
        return JOINED.join(sorted(one.kind for one in self.ceilings if one.least_ns >= AS_BUSY * self.least_ns))

    @property
    def share(self) -> float:
        """The least time over that of the kernels."""
        return self.least_ns / self.kernel_ns

    @property
    def is_uneven(self) -> bool:
        """Whether one PE has far more to do than the mean, of what needs longest."""
        return self.ceilings[0].is_uneven

    @property
    def attainable_tflops(self) -> float:
        """The rate if the kernels took the least time."""
        return self.achieved_tflops / self.share

    @property
    def attainable_gbs(self) -> float:
        """The rate if the kernels took the least time."""
        return self.achieved_gbs / self.share

    def to_dict(self) -> dict[str, Any]:
        """Its fields and properties by name."""
        derived = ("least_ns", "bound", "share", "attainable_tflops", "attainable_gbs")
        ceilings = [{**asdict(one), "is_uneven": one.is_uneven} for one in self.ceilings]
        return {**asdict(self), "ceilings": ceilings, **{name: getattr(self, name) for name in derived}}


def find_rates(
    program: Program, launches: Sequence[Launch], kernel_fs: int, own: np.ndarray | None = None
) -> Rates | None:
    """The rates of launches whose kernels took `kernel_fs`; of some of a run, with bool[row] which rows are theirs.

    None if there is no launch, or nothing was multiplied or moved.
    """
    found = _measure(Demand(program, launches, own), kernel_fs)
    return Rates(**found) if found is not None and (found["compute_ns"] or found["memory_ns"]) else None


def find_roofline(
    program: Program, launches: Sequence[Launch], kernel_fs: int, parts: Parts, busy_fs: np.ndarray
) -> Roofline | None:
    """The roofline of a run whose kernels took `kernel_fs` and kept each part busy for float64[part].

    None if there is no launch, or no engine, memory or link had anything to do.
    """
    found = _measure(Demand(program, launches), kernel_fs)
    if found is None:
        return None
    ceilings = _list_ceilings(parts, busy_fs, found["pes"])
    return Roofline(**found, ceilings=ceilings) if ceilings else None


def _measure(demand: Demand, kernel_fs: int) -> dict[str, Any] | None:
    """The fields of `Rates`; None if there is no launch or no time."""
    if not demand.pes or not kernel_fs:
        return None
    compute_fs, memory_fs = demand.least_fs({})
    return {
        "pes": demand.pes,
        "compute_ns": compute_fs / FS_PER_NS,
        "memory_ns": memory_fs / FS_PER_NS,
        "kernel_ns": kernel_fs / FS_PER_NS,
        "intensity": demand.flops / demand.memory_bytes if demand.memory_bytes else None,
        "achieved_tflops": demand.flops / kernel_fs * 1e3,
        "achieved_gbs": demand.memory_bytes / kernel_fs * FS_PER_NS,
    }


def _list_ceilings(parts: Parts, busy_fs: np.ndarray, pes: int) -> tuple[Ceiling, ...]:
    """Those of the classes that had anything to do, the highest first."""
    needs_ns, kinds = busy_fs / (parts.slots * float(FS_PER_NS)), np.array(parts.kind)
    all_pes = max(np.count_nonzero(kinds == GEMM), 1)
    found: list[Ceiling] = []
    for kind in dict.fromkeys(kind for kind in parts.kind if kind in ENGINES or kind.endswith(STATIONS)):
        here = np.flatnonzero(kinds == kind)
        top = int(here[np.argmax(needs_ns[here])])
        if needs_ns[top]:
            of_each, rest = divmod(len(here), all_pes)
            own = bool(of_each) and not rest and not kind.endswith(STATIONS[0])
            mean_ns = float(needs_ns[here].sum() / (pes * of_each)) if own else None
            found.append(Ceiling(kind, parts.name[top], float(needs_ns[top]), mean_ns))
    return tuple(sorted(found, key=lambda one: (-one.least_ns, one.kind)))
