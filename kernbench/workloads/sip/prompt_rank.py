"""A rank that takes many tokens: its panels, and products and norms in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from kernbench.workloads.kernels.layout import IN_CUBES, OVER_PES
from kernbench.workloads.kernels.norm import Normal, Pieces, normalise, sum_features
from kernbench.workloads.kernels.panels import Copies, Panel
from kernbench.workloads.kernels.product import Product, multiply_panels
from kernbench.workloads.numbers import EPS
from kernbench.workloads.sip.prompt_panels import find_panels, find_scratch, flat
from kernbench.workloads.sip.rank import Normed, Rank

if TYPE_CHECKING:
    from kernbench.host.memory.placement import DPPolicy
    from kernbench.host.torch.tensor import Tensor
    from kernbench.workloads.sip.projection import Projection

READ_AHEAD = 1 << 20  # bytes of TCM for weights that are loaded and used


@dataclass(slots=True)
class PromptRank(Rank):
    """As `Rank`, with activations in panels."""

    panels: tuple[Panel, ...] = field(init=False)
    copies: Copies = field(init=False)  # of what products read
    copied: list[Tensor] = field(default_factory=list["Tensor"])  # the tensors that have them
    normal: Tensor = field(init=False)  # what products read behind a norm
    feature_sums: Tensor = field(init=False)
    prompts: tuple[Panel, ...] = field(init=False)  # panels of prompts
    tokens_beside: Rank | None = field(init=False)  # of the last panel, whose sequences take one token each

    def __post_init__(self) -> None:
        Rank.__post_init__(self)
        self.panels, self.copies = find_panels(self.torch, self.network, self.step)
        self.prompts, self.tokens_beside = self.panels, None
        if len(self.step.parts) > 1:
            self.prompts, step = self.panels[:-1], replace(self.step, phase="decode", parts=self.step.parts[1:])
            self.tokens_beside = Rank(self.torch, self.network, step, self.index, self.numbers, self.marks)
        self.normal = self.read_by_products("normal", self.network.hidden)
        self.feature_sums = self.torch.empty((2 * self.feature_parts, self.tokens), "f32", OVER_PES, "feature_sums")

    def read_by_products(self, name: str, rows: int, policy: DPPolicy = OVER_PES) -> Tensor:
        """As of `Rank`, with copies."""
        made = self.torch.empty((self.copies.columns, rows), self.dtype, policy, name)
        self.copied.append(made)
        return made

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

    def in_panels(self, name: str, array: np.ndarray) -> Tensor:
        """A constant (features, tokens) that is in each cube, in panels."""

        def make() -> np.ndarray:
            pieces = [array[:, first : first + width].ravel() for first, width in self.panels]
            return np.concatenate(pieces).reshape(array.shape[::-1])

        return self.torch.computed(array.shape[::-1], make, self.dtype, IN_CUBES, name)

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
        places = self.torch.driven.machine.places
        kept = places.shape.tcm_bytes - int(self.torch.driven.machine.figures["pe.scratch_bytes"]) - READ_AHEAD
        written = (
            self.copies if any(y is one for one in self.copied) else Copies((0, self.tokens), places.cubes_per_sip)
        )
        bundle = min(2, self.copies.groups)
        product = Product(one.rows, one.features, self.panels, bundle, self.copies, written, self.scratch, kept)
        weights, extras = tuple(each.weight for each in projections), (one.bias, activation, residual)
        self.torch.launch(name, multiply_panels, x, weights, y, product, self.types, extras)

    def normalise(self, x: Tensor, norm: Normed, y: Tensor, residual: Tensor | int = 0) -> None:
        """y = the norm of x, plus a residual."""
        pieces, copies = self.pieces(self.network.hidden), self.copies
        self.torch.launch("sum_features", sum_features, x, self.feature_sums, norm.shift is not None, pieces)
        normal = tuple(Normal(norm.weight, norm.shift_vector, EPS, residual))  # type: ignore[arg-type]
        self.torch.launch("normalise", normalise, x, self.feature_sums, y, normal, pieces, copies)
