"""A rank that takes many tokens: its panels, and products and norms in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from kernbench.workloads.architecture import Architecture, Heads
from kernbench.workloads.kernels.layout import IN_CUBES, OVER_PES
from kernbench.workloads.kernels.norm import Normal, Pieces, normalise, sum_features
from kernbench.workloads.kernels.panels import Panel, cut
from kernbench.workloads.kernels.product import Product, multiply_panels
from kernbench.workloads.numbers import EPS
from kernbench.workloads.sip.rank import Normed, Rank

if TYPE_CHECKING:
    from kernbench.host.torch.context import RuntimeContext
    from kernbench.host.torch.tensor import Tensor
    from kernbench.workloads.sip.projection import Projection
    from kernbench.workloads.step import Step

SCRATCH_SHARE = 15 / 16  # of it for results whose sizes kernels choose; the rest is for small ones
READ_AHEAD = 1 << 20  # bytes of TCM for tiles of weights on their way


@dataclass(slots=True)
class PromptRank(Rank):
    """As `Rank`, with activations in panels."""

    panels: tuple[Panel, ...] = field(init=False)
    normal: Tensor = field(init=False)  # what products read behind a norm
    feature_sums: Tensor = field(init=False)

    def __post_init__(self) -> None:
        Rank.__post_init__(self)
        self.panels = find_panels(self.torch, self.network, self.step)
        self.normal = self.activation("normal", self.network.hidden)
        self.feature_sums = self.torch.empty((2 * self.feature_parts, self.tokens), "f32", OVER_PES, "feature_sums")

    @property
    def folds_norms(self) -> bool:
        """As of `Rank`."""
        return False

    @property
    def feature_parts(self) -> int:
        """Parts of the features of a panel, over all PEs."""
        return max(1, self.torch.cubes_per_sip * self.torch.pes_per_cube // len(self.panels))

    @property
    def scratch(self) -> int:
        """Bytes for results."""
        return find_scratch(self.torch)

    def pieces(self, features: int) -> tuple[object, ...]:
        """How kernels cut panels of a number of features."""
        return tuple(Pieces(flat(self.panels), self.feature_parts, features, self.dtype, self.scratch))

    def parts(self, name: str, rows: int) -> Tensor | int:
        """As of `Rank`; products in panels leave none."""
        del name, rows
        return 0

    def norm(self, place: str, name: str, rows: int | None = None) -> Normed:
        """As of `Rank`, with its shift on the device."""
        made = Rank.norm(self, place, name, rows)
        if made.shift is None:
            return made
        width = rows or self.network.hidden
        return made._replace(shift_vector=self.column(f"{place}.{name}.shift", width, made.shift, IN_CUBES))

    def panelled(self, name: str, array: np.ndarray) -> Tensor:
        """A constant activation (features, tokens), in panels."""

        def make() -> np.ndarray:
            pieces = [array[:, first : first + width].ravel() for first, width in self.panels]
            return np.concatenate(pieces).reshape(array.shape)

        return self.torch.computed(array.shape, make, self.dtype, OVER_PES, name)

    def multiply(
        self,
        name: str,
        x: Tensor,
        projections: Sequence[Projection],
        y: Tensor,
        *,
        activation: str = "",
        residual: Tensor | int = 0,
    ) -> None:
        """As of `Rank`, in one launch behind those of the norm."""
        one = projections[0]
        if one.norm is not None:
            self.normalise(x, one.norm, self.normal)
            x = self.normal
        figures = self.torch.driven.machine.figures
        kept = self.torch.driven.machine.places.shape.tcm_bytes - int(figures["pe.scratch_bytes"]) - READ_AHEAD
        sizes = Product(one.rows, one.features, 1, self.scratch, kept)
        weights = tuple(each.weight for each in projections)
        extras = (one.bias, activation, residual)
        self.torch.launch(name, multiply_panels, x, weights, y, flat(self.panels), tuple(sizes), self.types, extras)

    def normalise(self, x: Tensor, norm: Normed, y: Tensor, residual: Tensor | int = 0) -> None:
        """y = the norm of x, plus a residual."""
        pieces = self.pieces(x.shape[0])
        self.torch.launch("sum_features", sum_features, x, self.feature_sums, norm.shift is not None, pieces)
        normal = tuple(Normal(norm.weight, norm.shift_vector, EPS, residual))  # type: ignore[arg-type]
        self.torch.launch("normalise", normalise, x, self.feature_sums, y, normal, pieces)


def flat(panels: Sequence[Panel]) -> tuple[tuple[int, int], ...]:
    """Panels as arguments of a launch."""
    return tuple(map(tuple, panels))  # type: ignore[arg-type]


def find_scratch(torch: RuntimeContext) -> int:
    """Bytes of the scratch of a PE for results whose sizes kernels choose."""
    return int(int(torch.driven.machine.figures["pe.scratch_bytes"]) * SCRATCH_SHARE)


def find_widest(scratch: int, network: Architecture) -> int:
    """The widest panel: its sums may have twice as many columns as rows, and the heads of attention have room beside scores."""
    widest = isqrt(scratch // 14)
    if isinstance(network.attention, Heads):
        widest = min(widest, scratch // (28 * network.attention.size))
    return max(1, widest // 16 * 16)


def find_panels(torch: RuntimeContext, network: Architecture, step: Step) -> tuple[Panel, ...]:
    """The panels of a step: as many as let a PE read the fewest weights and features."""
    widest, pes = find_widest(find_scratch(torch), network), torch.pes_per_cube
    rows = (3 * network.hidden + 2 * network.mlp.inner) // (5 * step.tensor * torch.cubes_per_sip)
    tokens = step.tokens
    counts = [count for count in range(1, pes + 1) if pes % count == 0 and -(-tokens // count) <= widest]
    count = min(counts, key=lambda count: -(-tokens // count) + rows * count // pes, default=0)
    count = count or -(-tokens // (widest * pes)) * pes
    return cut(0, tokens, count)
