"""Least squares over simulated runs: the figures that reproduce measured times, how sure they are, and what is undetermined.

The residual of a row is the logarithm of simulated over measured time, so every row counts by its relative error. Figures
move on a logarithmic scale. The search begins at the best of a set of machines that fill the ranges evenly, since a figure
that binds nothing on the given machine slopes nowhere there.

How sure a figure is follows from the slopes at the solution and the scatter that is left, as in linear least squares. A
figure is undetermined if its interval of 95 % is wider than WIDEST or than half of its range: then it goes back to its
value, the others are fitted again, and the reason names the figures that the data do not separate it from.
"""

# scipy comes without stubs
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import qmc
from scipy.stats import t as student

from kernbench.fitting.cases import Cases
from kernbench.fitting.figures import Figure, LeftOut

STEP = 0.01  # of a figure, either way, for its slope: wide enough for changes of order among flits to average out
STARTS = 64  # machines that fill the ranges, at most
TRIED = 3  # from which the search begins
SAME = 0.01  # of the squares: two ends of the search are one place
MOST_STEPS = 30
EFFECT = 1e-5  # of a time: what changes less has not changed
WIDEST = 0.5  # half of an interval of 95 %, as a share of the value
AT_END = 1e-3  # of a range: what is nearer to its end is there
PUSHED = 2.0  # half of an interval, over the value, of a figure at an end that the data still have an opinion of
TOGETHER = 0.3  # of a direction that the data leave open: the share of a figure that belongs to it
SURE = 0.95
SINGULAR = 1e-9  # of the steepest direction: what is flatter is flat
NO_EFFECT = "no measured time follows from it, wherever in its range it is"
LEAST_SCATTER = 1e-3  # of times: order among flits makes simulated times irregular by about as much

OnStage = Callable[[str], object]


class Screened(NamedTuple):
    """Figures that some time follows from, places to begin at, float64[start, figure], and figures that none follows from."""

    figures: tuple[Figure, ...]
    starts: np.ndarray
    without_effect: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Figures at the solution; `half` has the half of the interval of 95 % of each, over its value."""

    figures: tuple[Figure, ...]
    values: list[float]
    half: list[float]
    log_times: np.ndarray  # float64[row] logarithms of simulated times (ns)
    undetermined: tuple[LeftOut, ...]


@dataclass(slots=True)
class Estimator:
    """Fits figures to the logarithms of measured times, float64[row]."""

    cases: Cases
    log_measured: np.ndarray
    on_stage: OnStage
    runs: int = field(default=0, init=False)

    def estimate(self, screened: Screened) -> Estimate:
        """The figures that reproduce the times best. Errors: KernBenchError for a row that does not run."""
        everything = np.ones(len(self.log_measured), bool)
        moving, undetermined = list(screened.figures), list(screened.without_effect)
        shares = self._search(moving, screened.starts, everything)
        while moving:
            jacobian, logs = self._slopes(moving, shares)
            half = self._half_intervals(moving, jacobian, logs, shares)
            worst = _most_open(moving, half, shares)
            if worst is None:
                values = [float(one.at(share)) for one, share in zip(moving, shares, strict=True)]
                return Estimate(tuple(moving), values, half.tolist(), logs, tuple(undetermined))
            undetermined.append(LeftOut(moving[worst].field, _why(moving, worst, jacobian, half)))
            del moving[worst]
            shares = self._search(moving, np.delete(shares, worst)[None], everything)
        return Estimate((), [], [], self.base(), tuple(undetermined))

    def predict(self, estimate: Estimate, train: np.ndarray) -> np.ndarray:
        """float64[row] logarithms of times by a fit of some rows alone, bool[row], from where that of all rows came to."""
        figures = estimate.figures
        start = np.array([[one.share(value) for one, value in zip(figures, estimate.values, strict=True)]])
        shares = self._search(figures, start, train)
        return self._log_times(figures, shares[None])[0]

    def base(self) -> np.ndarray:
        """float64[row] logarithms of times on the given machine."""
        return self._log_times((), np.zeros((1, 0)))[0]

    def screen(self, figures: Sequence[Figure]) -> Screened:
        """The figures that any time follows from: where the others are as on the machine, or as at the best start."""
        starts = self._starts(figures)
        centres = starts[[0, self._rank(self._log_times(figures, starts))[0]]]
        ends = np.repeat(centres, 2 * len(figures), axis=0).reshape(2, len(figures), 2, -1)
        for at in range(len(figures)):
            ends[:, at, :, at] = 0, 1
        logs = self._log_times(figures, ends.reshape(-1, len(figures))).reshape(2, len(figures), 2, -1)
        matters = np.abs(logs[:, :, 1] - logs[:, :, 0]).max(axis=(0, 2)) > EFFECT
        return Screened(
            tuple(one for one, moves in zip(figures, matters, strict=True) if moves),
            starts[:, matters],
            tuple(LeftOut(one.field, NO_EFFECT) for one, moves in zip(figures, matters, strict=True) if not moves),
        )

    def _starts(self, figures: Sequence[Figure]) -> np.ndarray:
        """float64[start, figure] the given machine, then machines that fill the ranges."""
        count = min(STARTS, 1 << (4 * len(figures)).bit_length())
        filling = qmc.Sobol(len(figures), rng=np.random.default_rng(0)).random(count)
        own = np.array([one.share(one.value) for one in figures])
        return np.clip(np.concatenate([own[None], filling]), 1e-3, 1 - 1e-3)

    def _rank(self, logs: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """int64[start] the best first."""
        wrong = (logs - self.log_measured) ** 2
        return np.argsort(wrong.sum(axis=1) if rows is None else wrong[:, rows].sum(axis=1), kind="stable")

    def _search(self, figures: Sequence[Figure], starts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """float64[figure] the shares with the least squares over some rows, bool[row]."""
        if not figures:
            return np.zeros(0)
        if len(starts) > 1:
            starts = starts[self._rank(self._log_times(figures, starts), rows)[:TRIED]]
        found: list[tuple[float, np.ndarray]] = []
        for start in starts:
            found.append(self._descend(figures, start, rows))
            found.sort(key=lambda one: one[0])
            if len(found) > 1 and found[1][0] < found[0][0] * (1 + SAME) + 1e-8 * len(rows):
                break  # two ways have come to one place
        return found[0][1]

    def _descend(self, figures: Sequence[Figure], start: np.ndarray, rows: np.ndarray) -> tuple[float, np.ndarray]:
        known: dict[bytes, np.ndarray] = {}
        measured = self.log_measured[rows]

        def residuals(shares: np.ndarray) -> np.ndarray:
            known[shares.tobytes()] = logs = self._log_times(figures, shares[None])[0]
            left = logs[rows] - measured
            self.on_stage(
                f"fitting {len(figures)} figures: {np.sqrt(np.mean(left**2)):.2%} off after {self.runs:,} runs"
            )
            return left

        def slopes(shares: np.ndarray) -> np.ndarray:
            return self._slopes(figures, shares, known.get(shares.tobytes()))[0][rows]

        jac: Any = slopes  # the stubs know the names of schemes alone
        result = least_squares(
            residuals,
            start,
            jac=jac,
            bounds=(0, 1),
            x_scale="jac",
            xtol=1e-5,
            ftol=1e-5,
            gtol=1e-9,
            max_nfev=MOST_STEPS,
        )
        return float(result.cost), np.array(result.x, np.float64)

    def _slopes(
        self, figures: Sequence[Figure], shares: np.ndarray, logs: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """float64[row, figure] the slopes of log times by shares, and float64[row] the log times there."""
        steps = np.array([STEP / one.width for one in figures])
        up, down = np.minimum(shares + steps, 1), np.maximum(shares - steps, 0)
        asked = np.concatenate([shares + np.diag(up - shares), shares - np.diag(shares - down), shares[None]])
        found = self._log_times(figures, asked if logs is None else asked[:-1])
        count = len(figures)
        slopes = (found[:count] - found[count : 2 * count]) / (up - down)[:, None]
        return slopes.T, found[-1] if logs is None else logs

    def _half_intervals(
        self, figures: Sequence[Figure], jacobian: np.ndarray, logs: np.ndarray, shares: np.ndarray
    ) -> np.ndarray:
        """float64[figure] half of each interval of 95 % over the value, by the slopes and the scatter; inf for what is open."""
        freedom = len(logs) - len(figures)
        scatter = max(float(np.sum((logs - self.log_measured) ** 2)) / max(freedom, 1), LEAST_SCATTER**2)
        relative = np.array([one.relative(share) for one, share in zip(figures, shares, strict=True)])
        _, singular, directions = np.linalg.svd(jacobian / relative, full_matrices=False)
        known = singular > singular[0] * SINGULAR
        variance = scatter * ((directions[known] / singular[known, None]) ** 2).sum(axis=0)
        half = np.sqrt(variance) * float(student.ppf((1 + SURE) / 2, max(freedom, 1)))
        half[np.abs(directions[~known]).max(axis=0, initial=0) > TOGETHER] = np.inf
        return half

    def _log_times(self, figures: Sequence[Figure], shares: np.ndarray) -> np.ndarray:
        """float64[setting, row] logarithms of simulated times (ns)."""
        self.runs += len(shares) * self.cases.count
        values = {one.field: one.at(shares[:, at]) for at, one in enumerate(figures)}
        return np.log(self.cases.simulate(values, len(shares)))


def _most_open(figures: Sequence[Figure], half: np.ndarray, shares: np.ndarray) -> int | None:
    """The figure that the data determine least, if they do not determine it; not one that they push against an end."""
    limits = np.array([min(WIDEST, one.width / 4) for one in figures])
    limits[((shares < AT_END) | (shares > 1 - AT_END)) & (half < PUSHED)] = np.inf
    worst = int(np.argmax(half / limits))
    return worst if half[worst] > limits[worst] else None


def _why(figures: Sequence[Figure], worst: int, jacobian: np.ndarray, half: np.ndarray) -> str:
    """Why the data leave a figure open."""
    own = jacobian[:, worst]
    if np.abs(own).max() * STEP / figures[worst].width < EFFECT:
        return "no measured time follows from it where the others are fitted"
    cosines = (own @ jacobian) / np.maximum(np.linalg.norm(own) * np.linalg.norm(jacobian, axis=0), 1e-300)
    _, _, directions = np.linalg.svd(jacobian / np.array([one.width for one in figures]), full_matrices=False)
    weakest = np.abs(directions[-1])
    others = [
        f"{one.field} (correlation of the slopes {cosines[at]:+.2f})"
        for at, one in enumerate(figures)
        if at != worst and weakest[at] > TOGETHER and weakest[worst] > TOGETHER
    ]
    if others:
        return f"the times tell it only together with {' and '.join(others)}"
    if half[worst] > 1:
        return "the times leave it open: half of it or twice it fits them as well"
    return f"the times leave it open: they tell it to ± {half[worst]:.0%} only"
