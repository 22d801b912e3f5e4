"""Power over time: the energy of a run in bins of time.

The energy of a job is spread evenly over the job, that of a transfer over the time its data are on the way (`oplog.transfers`).
Floating-point numbers say how an energy falls upon bins. The energies themselves are whole attojoules: those of all bins add
up to the energy of the run, of each part and in all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.energy.row_places import PlacedEnergies, place_energies
from kernbench.energy.static import Instances, count_draws, static_aj
from kernbench.oplog.bins import Bins
from kernbench.oplog.transfers import find_transfers
from kernbench.units import AJ_PER_W_FS, FS_PER_NS, NW_PER_W

if TYPE_CHECKING:
    from kernbench.energy.run_energy import RunEnergy
    from kernbench.energy.static import Draw
    from kernbench.machine.machine import Machine
    from kernbench.oplog.causes import Times
    from kernbench.program.program import Program

BINS = 256  # of a run, at most
_ROWS = 1 << 17  # that are spread at once
_SCALE = 53  # bits of a share of an energy
_HALF = 1 << (_SCALE - 1)
_DIGITS = 9  # in which bins of one power are alike
_NOTHING = 1e-9  # of the largest bin: what sums of floating-point numbers leave of 0


@dataclass(frozen=True)
class PowerOverTime:
    """The energy of a run in bins that follow each other from its start to its end."""

    bins: Bins
    dynamic_aj: Mapping[str, Sequence[int]]  # of each bin, by part; wires are "technology"
    static_aj: Sequence[int]  # of each bin

    @cached_property
    def total_aj(self) -> list[int]:
        """All energy of each bin."""
        return [sum(each) for each in zip(self.static_aj, *self.dynamic_aj.values(), strict=True)]

    @property
    def watts(self) -> np.ndarray:
        """float64[bin] the mean power of each bin."""
        return watts(self.total_aj, self.bins)

    @property
    def peak(self) -> int:
        """The bin of the highest mean power; the first of several."""
        return int(np.argmax(np.round(self.watts / (self.watts.max() or 1), _DIGITS)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: energies are whole attojoules."""
        return {
            "start_ns": [fs / FS_PER_NS for fs in self.bins.start_fs.tolist()],
            "end_ns": self.bins.end_fs / FS_PER_NS,
            "dynamic_aj": {part: list(each) for part, each in self.dynamic_aj.items()},
            "static_aj": list(self.static_aj),
            "peak": {
                "start_ns": int(self.bins.start_fs[self.peak]) / FS_PER_NS,
                "length_ns": int(self.bins.length_fs[self.peak]) / FS_PER_NS,
                "w": float(self.watts[self.peak]),
            },
        }


def find_power(energy: RunEnergy, times: Times, most_bins: int = BINS) -> PowerOverTime:
    """The power over time of a finished run, in bins of whole ns, `most_bins` or fewer."""
    bins = Bins.over(0, max(energy.makespan_fs, 1), most_bins)
    placed = place_energies(energy.rows, lambda _, part: part)
    total = {part: dynamic for part, (dynamic, _) in energy.by_part().items()}
    shares = spread_energies(energy.program, times, bins, placed).T
    found = zip(placed.groups, shares, strict=True)
    dynamic = {str(part): apportion(total[str(part)], share) for part, share in found if total.get(str(part))}
    ordered = dict(sorted(dynamic.items(), key=lambda one: (-sum(one[1]), one[0])))
    return PowerOverTime(bins, ordered, _static(energy.draws, bins, energy.makespan_fs))


def spread_energies(program: Program, times: Times, bins: Bins, placed: PlacedEnergies) -> np.ndarray:
    """float64[bin, group] aJ of the rows that have ended."""
    found = np.zeros((len(bins.start_fs), len(placed.groups)))
    costs = np.diff(placed.aj.indptr) > 0
    for first in range(0, len(placed.kind), _ROWS):
        here = slice(first, first + _ROWS)
        row = first + np.flatnonzero(costs[placed.kind[here]] & (times.end_fs[here] >= 0))
        start_fs, end_fs = times.start_fs[row], times.end_fs[row]
        moved = find_transfers(program, times, row, ends=False)
        start_fs[moved.at], end_fs[moved.at] = moved.leave_fs, moved.arrive_fs
        found += bins.spread(start_fs, end_fs, np.ones(len(row)), placed.kind[row], placed.aj)
    return found


def apportion(total: int, weight: np.ndarray) -> list[int]:
    """A whole number cut by float64[n] weights into whole numbers that add up to it; equally where all weights are 0."""
    kept = np.where(weight > _NOTHING * weight.max(), weight, 0.0)
    until = np.cumsum(kept if kept.any() else np.ones(len(weight)))
    share = np.rint(until / until[-1] * (1 << _SCALE)).astype(np.int64).tolist()
    return _differences([(total * each + _HALF) >> _SCALE for each in share])


def watts(aj: Sequence[int], bins: Bins) -> np.ndarray:
    """float64[bin] mean powers of energies."""
    return np.array(aj, float) / (bins.length_fs * float(AJ_PER_W_FS))


def find_static_w(machine: Machine) -> float:
    """The static power of a machine."""
    return sum(draw.count * draw.nw for draw in Instances.of(machine).draws(machine.prices)) / NW_PER_W


def _static(draws: Sequence[Draw], bins: Bins, end_fs: int) -> list[int]:
    """aJ of each bin of a run that ends at a time."""
    counts = count_draws(draws)
    return _differences([static_aj(counts, min(fs, end_fs)) for fs in np.cumsum(bins.length_fs).tolist()])


def _differences(until: Sequence[int]) -> list[int]:
    return [after - before for before, after in zip((0, *until), until, strict=False)]
