"""A rank of tensor parallelism: its SIP, its share of the sizes, and the tensors that all layers use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.dtypes import itemsize
from kernbench.host.memory.placement import DPPolicy
from kernbench.workloads.architecture import Architecture
from kernbench.workloads.kernels.cuts import Cut, Grid, place
from kernbench.workloads.kernels.layout import IN_CUBES, OVER_PES, Tile, find_tile
from kernbench.workloads.kernels.linear import finish, multiply
from kernbench.workloads.kernels.norm import Pieces, normalise, sum_features
from kernbench.workloads.kernels.panels import Copies, Panel
from kernbench.workloads.kernels.spread import add, spread
from kernbench.workloads.numbers import EPS, Numbers
from kernbench.workloads.plan import Mark
from kernbench.workloads.sip.choices import WITHOUT, Choices
from kernbench.workloads.step import Step

if TYPE_CHECKING:
    from kernbench.host.device.buffer import Buffer
    from kernbench.host.torch.context import RuntimeContext
    from kernbench.host.torch.tensor import Tensor
    from kernbench.workloads.sip.projection import Projection


SCRATCH_SHARE = 15 / 16  # of it for results whose sizes kernels choose; the rest is for small ones


class Normed(NamedTuple):
    """A norm before products: its weight on the device, and the numbers from which a product folds in its shift."""

    weight: Tensor
    scale: Callable[[], np.ndarray]
    shift: Callable[[], np.ndarray] | None  # None: an RMS norm
    shift_vector: Tensor | int = 0  # on the device, where products do not fold it in


@dataclass(slots=True)
class Rank:
    """Makes tensors and launches operators on one SIP, and marks which launches each operator is."""

    torch: RuntimeContext
    network: Architecture
    step: Step
    index: int  # among those that share its layers
    numbers: Numbers
    marks: list[Mark] = field(default_factory=list[Mark])
    section: str = ""
    columns: int = 0  # of activations; 0: the tokens of the step
    expert_index: int = 0  # among those that share experts
    sums: tuple[Tensor, Tensor] = field(init=False)
    fillers: list[Buffer] = field(default_factory=list["Buffer"])
    choices: Choices = WITHOUT
    feature_sums: Tensor | int = field(init=False)  # of norms that have launches of their own

    def __post_init__(self) -> None:
        shape = (self.torch.pes_per_cube, self.tokens)
        self.sums = (
            self.torch.empty(shape, "f32", IN_CUBES, "squares"),
            self.torch.empty(shape, "f32", IN_CUBES, "elements"),
        )
        norms = self.network.norms
        self.feature_sums = 0
        if norms.after or not norms.before or not self.folds_norms:
            self.feature_sums = self.torch.empty((2 * self.feature_parts, self.tokens), "f32", OVER_PES, "feature_sums")

    @property
    def folds_norms(self) -> bool:
        """Whether products apply the norm of what they read."""
        return True

    @property
    def dtype(self) -> str:
        """The type of activations."""
        return self.step.types.activations

    @property
    def tokens(self) -> int:
        """Columns of activations."""
        return self.columns or self.step.tokens

    def align(self) -> None:
        """Let the next tensors begin at the first channel of each HBM slice, so that all layers of a kind lie alike."""
        self.fillers += align(self.torch)

    def share(self, size: int) -> slice:
        """This rank's part of an axis; of one that ranks do not divide the last part is padded."""
        part = -(-size // self.step.tensor)
        return slice(self.index * part, (self.index + 1) * part)

    def activation(self, name: str, rows: int, policy: DPPolicy = OVER_PES) -> Tensor:
        """A tensor (rows, tokens) that kernels write."""
        return self.torch.empty((rows, self.tokens), self.dtype, policy, name)

    def read_by_products(self, name: str, rows: int, policy: DPPolicy = OVER_PES) -> Tensor:
        """As `activation`, of what only products read."""
        return self.activation(name, rows, policy)

    def grid(self, cut: Cut | None = None) -> Grid:
        """The PEs of the SIP as a cut arranges them; without one rows go over cubes, and features over the PEs of each."""
        cubes, pes = self.torch.cubes_per_sip, self.torch.pes_per_cube
        return Grid(cubes, pes, cut or Cut(1, pes))

    def weight(self, name: str, rows: int, features: int, make: Callable[[], np.ndarray], grid: Grid) -> Tensor:
        """A weight (rows, features) in blocks."""
        return self.torch.computed((rows, features), make, self.step.types.weights, place(grid), name)

    def column(self, name: str, rows: int, make: Callable[[], np.ndarray], policy: DPPolicy = OVER_PES) -> Tensor:
        """A vector (rows, 1) in the type of activations."""
        return self.torch.computed((rows, 1), make, self.dtype, policy, name)

    def constant(self, name: str, array: np.ndarray) -> Tensor:
        """A small matrix that is in each cube."""
        return self.torch.computed(array.shape, lambda: array, self.dtype, IN_CUBES, name)

    def norm(self, place: str, name: str, rows: int | None = None) -> Normed:
        """A norm of the network's kind."""
        width = rows or self.network.hidden

        def scale() -> np.ndarray:
            return self.numbers.vector(place, name, width, 1.0)

        has_mean = self.network.norms.kind == "layer"
        shift = (lambda: self.numbers.vector(place, f"{name}.shift", width)) if has_mean else None
        weight = self.column(f"{place}.{name}", width, scale, IN_CUBES)
        if shift is None or self.folds_norms:
            return Normed(weight, scale, shift)
        return Normed(weight, scale, shift, self.column(f"{place}.{name}.shift", width, shift, IN_CUBES))

    @contextmanager
    def operator(self, name: str) -> Iterator[None]:
        """Mark the launches of a block."""
        first = self._count()
        yield
        self.marks.append(Mark(self.section, name, first, self._count()))

    def _count(self) -> int:
        return self.torch.runtime.count(self.torch.runtime.current_sip)

    # Operators that several layers and ends have

    def spread(self, x: Tensor, y: Tensor) -> None:
        """Bring x, which lies over the PEs, to all cubes."""
        self.torch.launch("spread", spread, x, y, x.shape[0], (0, self.tokens), self.dtype)

    def parts(self, name: str, rows: int) -> Tensor | int:
        """Where PEs leave the parts of a product, of some rows in all."""
        return self.activation(f"{name}.parts", rows)

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
        """y = what projections make of x, with what follows; of two the first is the gate of the second."""
        one = projections[0]
        sizes, norm = (one.rows, one.features, self.tokens), one.norm
        weights, parts = (tuple(getattr(each, of) for each in projections) for of in ("weight", "parts"))
        normal = None if norm is None else (norm.weight, *self.sums)
        self.torch.launch(name, multiply, x, weights, parts, normal, sizes, self.types, self.tile(one), one.grid.cut)
        ended = None
        if norm is not None:
            ended = (*self.sums, one.features, EPS, one.shift if one.shift is not None else 0)
        extras = (one.bias, activation, residual, soft_cap)
        self.torch.launch(f"{name}_sum", finish, parts, y, sizes, self.types, ended, extras, one.grid.cut)

    def tile(self, one: Projection) -> Tile:
        """The tile of a projection's product on a PE, whose weight streams."""
        rows, features = one.grid.block_shape(one.rows, one.features)
        return find_tile(Tile(rows, features, self.tokens), itemsize(self.types[0]), "a", self.own_tile)

    @property
    def own_tile(self) -> Tile:
        """The machine's own tile."""
        figures = self.torch.driven.machine.figures
        return Tile(*(int(figures[f"pe.tile_{axis}"]) for axis in "mkn"))

    @property
    def types(self) -> tuple[str, str]:
        """Of weights and activations."""
        return self.step.types.weights, self.dtype

    def normalise(
        self, x: Tensor, norm: Normed, y: Tensor, residual: Tensor | int = 0, whole: Tensor | int = 0
    ) -> None:
        """y, and `whole` beside its copies, = the norm of x, plus a residual."""
        pieces = self.pieces(self.network.hidden)
        self.torch.launch("sum_features", sum_features, x, self.feature_sums, norm.shift is not None, pieces)
        normal = (norm.weight, norm.shift_vector, EPS, residual, whole)
        self.torch.launch("normalise", normalise, x, self.feature_sums, y, normal, pieces, self.places_of(y))

    def pieces(self, features: int) -> Pieces:
        """How kernels cut activations of a number of features over all PEs."""
        return Pieces(self.own_panels, self.feature_parts, features, self.dtype, find_scratch(self.torch))

    @property
    def feature_parts(self) -> int:
        """Parts of the features of a panel, over all PEs."""
        return max(1, self.torch.cubes_per_sip * self.torch.pes_per_cube // len(self.own_panels))

    @property
    def own_panels(self) -> tuple[Panel, ...]:
        """The panels of activations: here one."""
        return (Panel(0, self.tokens),)

    def places_of(self, y: Tensor) -> Copies:
        """Where the copies of an activation lie: here one."""
        del y
        return Copies((0, self.tokens), self.torch.cubes_per_sip)

    def sum_parts(self, name: str, part: Tensor) -> None:
        """part = the sum of the parts of all ranks."""
        with self.operator(f"{name} all-reduce"):
            self.torch.distributed.all_reduce(part, over="ranks")

    def add_parts(self, name: str, x: Tensor, part: Tensor) -> None:
        """x += the sum of the parts of all ranks."""
        self.sum_parts(name, part)
        with self.operator("add"):
            self.torch.launch("add", add, x, part, x.shape[0], self.tokens, self.dtype)


def find_scratch(torch: RuntimeContext) -> int:
    """Bytes of the scratch of a PE for results whose sizes kernels choose."""
    return int(int(torch.driven.machine.figures["pe.scratch_bytes"]) * SCRATCH_SHARE)


def align(torch: RuntimeContext) -> list[Buffer]:
    """Fill the HBM slices of a SIP up to their first channel; what is returned keeps the memory."""
    figures, fillers = torch.driven.machine.figures, list["Buffer"]()
    burst = int(figures["hbm.burst_bytes"])
    period = burst * int(figures["hbm.channels"])
    for cube, pe in product(range(torch.cubes_per_sip), range(torch.pes_per_cube)):
        fillers.append(torch.reserve("hbm", burst, cube, pe))
        if rest := -(fillers[-1].offset + burst) % period:
            fillers.append(torch.reserve("hbm", rest, cube, pe))
    return fillers
