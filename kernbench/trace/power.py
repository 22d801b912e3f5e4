"""Power of a run over time: the energy of each row, spread evenly over its time, and the static power.

Time is cut into bins of equal length, and a value is the mean of a bin. The bins hold the dynamic energy of the run to the last
attojoule: what rounding leaves goes to the last of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.energy.static import Instances
from kernbench.trace.bins import Bins

if TYPE_CHECKING:
    from kernbench.energy.row_energies import RowEnergies
    from kernbench.machine.machine import Machine
    from kernbench.oplog.causes import Times

W_PER_AJ_FS = 1e-3  # an aJ a fs is a mW
NW_PER_W = 10**9
MOST = 256  # bins of a curve


class PowerCurve(NamedTuple):
    """Power over time; the static power is the same in all bins."""

    start_fs: np.ndarray  # int64[bin]
    length_fs: np.ndarray  # int64[bin]
    dynamic_aj: tuple[int, ...]  # by bin
    static_w: float

    @property
    def dynamic_w(self) -> np.ndarray:
        """float64[bin] the mean dynamic power of each."""
        return np.array([float(aj) for aj in self.dynamic_aj]) / self.length_fs * W_PER_AJ_FS

    @property
    def peak_w(self) -> float:
        """The most of a bin, static power with it."""
        return float(self.dynamic_w.max(initial=0.0)) + self.static_w

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "start_fs": self.start_fs.tolist(),
            "length_fs": self.length_fs.tolist(),
            "dynamic_w": self.dynamic_w.tolist(),
            "static_w": self.static_w,
            "peak_w": self.peak_w,
        }


def find_power(rows: RowEnergies, times: Times, end_fs: int, most: int = MOST) -> PowerCurve | None:
    """The power of a run that ends at a time; None for no time."""
    if end_fs <= 0:
        return None
    bins, energies = Bins.over(0, end_fs, most), rows.energies_aj()
    spent = spread_energy(bins, energies, rows, times)[:, 0]
    total = int(np.dot(energies, rows.program.op.counts().astype(object))) if len(energies) else 0
    until = [min(round(sum_), total) for sum_ in np.cumsum(spent).tolist()]
    until[-1] = total
    each = [after - before for before, after in zip([0, *until], until, strict=False)]
    return PowerCurve(bins.start_fs, bins.length_fs, tuple(each), static_w(rows.program.machine))


def static_w(machine: Machine) -> float:
    """The static power of a machine."""
    return sum(draw.count * draw.nw for draw in Instances.of(machine).draws(machine.prices)) / NW_PER_W


def spread_energy(
    bins: Bins,
    energies: np.ndarray,
    rows: RowEnergies,
    times: Times,
    column: np.ndarray | None = None,
    columns: int = 1,
) -> np.ndarray:
    """float64[bin, column] the energy (aJ) of rows in bins: of all, or in int64[row] the column of each, negative for none."""
    from scipy.sparse import csr_array  # pyright: ignore[reportMissingTypeStubs]

    amount = energies.astype(np.float64)[rows.program.op.entry]
    used = (amount > 0) & (times.end_fs >= 0)
    where = np.zeros(len(amount), np.int64) if column is None else column
    at = np.flatnonzero(used & (where >= 0))
    start = np.maximum(times.start_fs[at], 0)
    return bins.spread(start, times.end_fs[at], amount[at], where[at], csr_array(np.eye(columns)))
