"""A rank that takes many tokens: its panels, and products and norms in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from kernbench.workloads.kernels.layout import IN_CUBES, OVER_PES
from kernbench.workloads.kernels.panels import Copies, Panel
from kernbench.workloads.kernels.product import Product, multiply_panels
from kernbench.workloads.sip.prompt_panels import find_panels
from kernbench.workloads.sip.rank import Rank, find_scratch

if TYPE_CHECKING:
    from kernbench.host.memory.placement import DPPolicy
    from kernbench.host.torch.tensor import Tensor
    from kernbench.workloads.sip.projection import Projection

MOST_ROWS = 1024  # of a block of weights: its product begins when all of it has come
READ_AHEAD = 1 << 20  # bytes of TCM for weights that are loaded and used


@dataclass(slots=True)
class PromptRank(Rank):
    """As `Rank`, with activations in panels."""

    panels: tuple[Panel, ...] = field(init=False)
    copies: Copies = field(init=False)  # of what products read
    copied: list[Tensor] = field(default_factory=list["Tensor"])  # the tensors that have them
    normal: Tensor = field(init=False)  # what products read behind a norm
    prompts: tuple[Panel, ...] = field(init=False)  # panels of prompts
    tokens_beside: Rank | None = field(init=False)  # of the last panel, whose sequences take one token each

    def __post_init__(self) -> None:
        self.panels, self.copies = find_panels(self.torch, self.network, self.step)
        Rank.__post_init__(self)
        self.prompts, self.tokens_beside = self.panels, None
        if len(self.step.parts) > 1:
            self.prompts, step = self.panels[:-1], replace(self.step, phase="decode", parts=self.step.parts[1:])
            self.tokens_beside = Rank(self.torch, self.network, step, self.index, self.numbers, self.marks)
        self.normal = self.read_by_products("normal", self.network.hidden)

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
    def own_panels(self) -> tuple[Panel, ...]:
        """As of `Rank`."""
        return self.panels

    def places_of(self, y: Tensor) -> Copies:
        """As of `Rank`."""
        return self.copies if any(y is one for one in self.copied) else Rank.places_of(self, y)

    def parts(self, name: str, rows: int) -> Tensor | int:
        """As of `Rank`; products in panels leave none."""
        del name, rows
        return 0

    def in_panels(self, name: str, array: np.ndarray) -> Tensor:
        """A constant (features, tokens) that is in each cube, in panels."""

        def make() -> np.ndarray:
            pieces = [array[:, first : first + width].ravel() for first, width in self.panels]
            return np.concatenate(pieces).reshape(array.shape[::-1])

        return self.torch.computed(array.shape[::-1], make, self.dtype, IN_CUBES, name)

    def lay(self, name: str, features: int, make: Callable[[], np.ndarray], copies: Copies) -> Tensor:
        """An activation of numbers that a function makes, (features, tokens), with its copies."""

        def lay() -> np.ndarray:
            array, room = make(), np.zeros(copies.columns * features, np.float32)
            for panel in self.panels:
                for copy in copies.list_all(panel):
                    end = panel.first + panel.width
                    room[copy.at(features) : copy.at(features, features)] = array[:, panel.first : end].ravel()
            return room.reshape(copies.columns, features)

        return self.torch.computed((copies.columns, features), lay, self.dtype, OVER_PES, name)

    def multiply(
        self,
        name: str,
        x: Tensor,
        projections: Sequence[Projection],
        y: Tensor,
        *,
        activation: str = "",
        residual: Tensor | int = 0,
        soft_cap: float = 0.0,
    ) -> None:
        """As of `Rank`, in one launch behind those of the norm."""
        one = projections[0]
        if one.norm is not None:
            self.normalise(x, one.norm, self.normal)
            x = self.normal
        places = self.torch.driven.machine.places
        kept = places.shape.tcm_bytes - int(self.torch.driven.machine.figures["pe.scratch_bytes"]) - READ_AHEAD
        bundle, scratch = min(2, self.copies.groups), find_scratch(self.torch)
        where = (self.panels, bundle, MOST_ROWS, self.copies, self.places_of(y))
        product = Product(one.rows, one.features, *where, scratch, kept)
        weights = tuple(each.weight for each in projections)
        extras = (one.bias, activation, residual, soft_cap)
        self.torch.launch(name, multiply_panels, x, weights, y, product, self.types, extras)
