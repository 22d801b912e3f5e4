"""The mixture of experts of one layer on a rank: the tensors that it keeps, and its launches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.workloads.kernels.experts import Lists, Mixture, add_cubes, contract, expand, meet
from kernbench.workloads.kernels.layout import IN_CUBES, OVER_PES
from kernbench.workloads.kernels.router import Choice, weigh
from kernbench.workloads.numbers import EPS
from kernbench.workloads.routing import Routing
from kernbench.workloads.sip.projection import Part, Projection
from kernbench.workloads.sip.rank import Rank

if TYPE_CHECKING:
    from kernbench.host.torch.tensor import Tensor


class ExpertsBlock:
    """The router and the experts of one layer. The MLP that all tokens take counts as experts that all of them choose."""

    def __init__(self, rank: Rank, place: str, routing: Routing) -> None:
        network, torch, d = rank.network, rank.torch, rank.network.hidden
        experts = network.experts
        assert experts is not None
        self.rank, self.place, self.experts = rank, place, experts
        self.copies = -(-experts.shared // experts.inner)
        self.own = rank.share(experts.inner)
        self.norm = rank.norm(place, "mlp_norm" if network.norms.per_layer > 1 else "input_norm")
        gates = [Part("shared_router", 1, d, slice(None))] if experts.shared_gate else []
        self.router = Projection(rank, place, [Part("router", experts.count, d, slice(None)), *gates], self.norm)
        one_row = (1, self.router.rows * rank.tokens)  # in one PE, to be read at once
        self.logits = torch.empty(one_row, rank.dtype, OVER_PES, "router_logits")
        self.sizes = m = self._find_sizes(routing)
        self.weights = {name: self._weight(name) for name in ("gate", "up", "down")}
        pes = torch.cubes_per_sip * torch.pes_per_cube
        self.parts = tuple(
            torch.empty((pes * m.places, m.inner), rank.dtype, OVER_PES, f"{name}.parts") for name in ("gate", "up")
        )
        self.inner = torch.empty((torch.cubes_per_sip * m.places, m.inner), rank.dtype, OVER_PES, "experts_inner")
        rows = -(-d // torch.pes_per_cube)
        self.products = torch.empty((pes * m.places, rows), rank.dtype, OVER_PES, "products")
        self.sums = rank.activation("cubes.parts", torch.cubes_per_sip * d)
        self.shares = torch.computed((1, m.places), lambda: np.ones((1, m.places)), rank.dtype, OVER_PES, "shares")
        self.lists, self.choice = self._list_places(routing)

    def launch(self, x: Tensor, y: Tensor, residual: Tensor | int) -> None:
        """y = residual + the experts of x."""
        rank, m, d = self.rank, self.sizes, self.rank.network.hidden
        given = (tuple(self.lists), tuple(m))
        gate, up, down = (self.weights[name] for name in ("gate", "up", "down"))
        with rank.operator("router"):
            rank.multiply("router", x, [self.router], self.logits)
            rank.torch.launch("weigh", weigh, self.logits, self.shares, tuple(self.choice))
        with rank.operator("experts' gate, up"):
            normal = (self.norm.weight, *rank.sums)
            rank.torch.launch("expand", expand, x, (gate, up), self.parts, normal, *given)
            rank.torch.launch("meet", meet, self.parts, self.inner, (*rank.sums, d, EPS), *given)
        with rank.operator("experts' down"):
            rank.torch.launch("contract", contract, self.inner, down, self.products, self.sums, *given)
            rank.torch.launch("add_cubes", add_cubes, self.sums, y, residual, d, rank.tokens, rank.dtype)

    def _find_sizes(self, routing: Routing) -> Mixture:
        rank, experts = self.rank, self.experts
        loads: list[tuple[int, int, int]] = []
        place = 0
        tokens = [(expert, len(tokens)) for expert, tokens in routing.list_loads()]
        for expert, count in [*tokens, *((experts.count + copy, rank.tokens) for copy in range(self.copies))]:
            loads.append((expert, place, count))
            place += count
        inner = -(-(self.own.stop - self.own.start) // rank.torch.cubes_per_sip)
        return Mixture(
            rank.network.hidden,
            inner,
            rank.tokens,
            place,
            experts.count + self.copies,
            tuple(loads),
            rank.types,
            rank.network.mlp.activation,
            rank.own_tile,
        )

    def _list_places(self, routing: Routing) -> tuple[Lists, Choice]:
        """What the host lists of the routing, on the device."""
        rank, experts, t = self.rank, self.experts, self.rank.tokens
        loads = routing.list_loads()
        tokens = [token for _, each in loads for token in each]
        routed = [expert for expert, each in loads for _ in each]
        chosen = np.zeros((experts.count, t), np.float32)
        chosen[routed, tokens] = 1
        every = [*tokens, *(list(range(t)) * self.copies)]
        here = {
            "numbers": np.arange(len(every))[:, None],
            "tokens": np.array(every)[:, None],
            "experts": np.array(routed)[:, None],
            "chosen": chosen,
        }
        on_device = {
            name: rank.torch.computed(array.shape, lambda array=array: array, "f32", IN_CUBES, name)
            for name, array in here.items()
        }
        choice = Choice(
            experts.count,
            t,
            len(routed),
            on_device["chosen"],  # pyright: ignore[reportArgumentType] - a tensor arrives as its address
            on_device["experts"],  # pyright: ignore[reportArgumentType]
            on_device["tokens"],  # pyright: ignore[reportArgumentType]
            experts.sigmoid,
            experts.normalised,
            experts.factor,
            self.copies if experts.shared_gate else 0,
            rank.dtype,
        )
        lists: Any = Lists(on_device["numbers"], on_device["tokens"], self.shares)  # pyright: ignore[reportArgumentType]
        return lists, choice

    def _weight(self, name: str) -> Tensor:
        """A matrix of all experts: the block of a PE follows that of the one before, and has expert after expert."""
        rank, m = self.rank, self.sizes
        pes, cubes = rank.torch.pes_per_cube, rank.torch.cubes_per_sip
        width = -(-m.features // pes)
        shape = (cubes * pes, m.experts * m.inner * width)

        def make() -> np.ndarray:
            found = np.zeros((cubes, pes, shape[1]), np.float32)
            for expert, whole in enumerate(self._draw(name)):
                padded = np.zeros((cubes * m.inner, m.features), np.float32)
                padded[: len(whole)] = whole
                for cube, pe in product(range(cubes), range(pes)):
                    block = padded[cube * m.inner : (cube + 1) * m.inner, pe * width : (pe + 1) * width]
                    flat = (block if name != "down" else block.T).ravel()
                    found[cube, pe, expert * flat.size : (expert + 1) * flat.size] = flat
            return found.reshape(shape)

        return rank.torch.computed(shape, make, rank.step.types.weights, OVER_PES, f"{self.place}.experts.{name}")

    def _draw(self, name: str) -> Iterator[np.ndarray]:
        """(inner features of the rank, hidden features) of each expert."""
        experts, d = self.experts, self.rank.network.hidden
        for expert in range(experts.count):
            yield self._matrix(f"expert{expert}.{name}", experts.inner)[self.own]
        if self.copies:
            shared = self._matrix(f"shared.{name}", experts.shared)
            padded = np.zeros((self.copies * experts.inner, d), np.float32)
            padded[: len(shared)] = shared
            for copy in range(self.copies):
                yield padded[copy * experts.inner : (copy + 1) * experts.inner][self.own]

    def _matrix(self, name: str, inner: int) -> np.ndarray:
        """(inner, hidden): of down its transpose."""
        numbers, d = self.rank.numbers, self.rank.network.hidden
        if name.endswith(".down"):
            return numbers.matrix(self.place, name, d, inner).T
        return numbers.matrix(self.place, name, inner, d)
