"""The mixture of experts of one layer on a rank: the tensors that it keeps, and its launches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.workloads.architecture import Experts
from kernbench.workloads.kernels.experts import Mixture, add_cubes, contract, expand, meet
from kernbench.workloads.kernels.layout import IN_CUBES, OVER_PES
from kernbench.workloads.kernels.router import Choice, weigh
from kernbench.workloads.numbers import EPS
from kernbench.workloads.routing import Routing
from kernbench.workloads.sip.projection import Part, Projection
from kernbench.workloads.sip.rank import Normed, Rank

if TYPE_CHECKING:
    from kernbench.host.torch.tensor import Tensor


class Load(NamedTuple):
    """The columns of its input that an expert of a rank takes."""

    expert: int
    columns: Sequence[int]


class Router:
    """The router of one layer, and the weights of places of the tokens of a rank."""

    def __init__(self, rank: Rank, place: str, norm: Normed, experts: Experts, copies: int) -> None:
        gates = [Part("shared_router", 1, rank.network.hidden, slice(None))] if experts.shared_gate else []
        parts = [Part("router", experts.count, rank.network.hidden, slice(None)), *gates]
        self.rank, self.experts, self.gates = rank, experts, copies if gates else 0
        self.projection = Projection(rank, place, parts, norm)
        row = (1, self.projection.rows * rank.tokens)  # in one PE, to be read at once
        self.logits = rank.torch.empty(row, rank.dtype, OVER_PES, "router_logits")

    def list_places(self, routing: Routing, places: Sequence[tuple[int, int]]) -> Choice:
        """What the host lists: (expert, token) of each place in order; -1 for a place that nobody has."""
        rank, by = self.rank, self.experts
        chosen = np.zeros((by.count, rank.tokens), np.float32)
        for token, each in enumerate(routing.chosen):
            chosen[list(each), token] = 1
        lists: dict[str, Any] = {
            "chosen": chosen,
            "experts": [[expert] for expert, _ in places],
            "tokens": [[token] for _, token in places],
        }
        here: dict[str, Any] = {f"{name}_ptr": list_on_device(rank, name, rows) for name, rows in lists.items()}
        return Choice(
            experts=by.count,
            tokens=rank.tokens,
            places=len(places),
            **here,  # tensors arrive as their addresses
            sigmoid=by.sigmoid,
            normalised=by.normalised,
            factor=by.factor,
            gates=self.gates,
            dtype=rank.dtype,
        )

    def launch(self, x: Tensor, shares: Tensor, gates: Tensor, gates_at: int, choice: Choice) -> None:
        """The weights of places go to `shares`, the gates of shared experts to `gates`, from an element on."""
        with self.rank.operator("router"):
            self.rank.multiply("router", x, [self.projection], self.logits)
            self.rank.torch.launch("weigh", weigh, self.logits, shares, (gates, gates_at), tuple(choice))


class ExpertMlps:
    """Some experts of a layer, and the MLP that all tokens take as experts that all of them choose."""

    def __init__(self, rank: Rank, place: str, norm: Normed, columns: int, loads: Sequence[Load], own: range) -> None:
        """`loads` has the experts that have columns, by their numbers in `own` and behind it those that are shared."""
        torch, network = rank.torch, rank.network
        assert network.experts is not None
        self.rank, self.place, self.norm, self.experts, self.own = rank, place, norm, network.experts, own
        self.copies = count_copies(self.experts)
        self.features = rank.share(self.experts.inner)
        self.sizes = m = self._find_sizes(columns, loads)
        self.weights = {name: self._weight(name) for name in ("gate", "up", "down")}
        pes, cubes, dtype = torch.cubes_per_sip * torch.pes_per_cube, torch.cubes_per_sip, rank.dtype
        places = max(1, m.places)
        wide = -(-network.hidden // torch.pes_per_cube)
        self.parts = tuple(
            torch.empty((pes * places, m.inner), dtype, OVER_PES, f"{name}.parts") for name in ("gate", "up")
        )
        self.inner = torch.empty((cubes * places, m.inner), dtype, OVER_PES, "experts_inner")
        self.products = torch.empty((pes * places, wide), dtype, OVER_PES, "products")
        self.cubes = torch.empty((cubes * network.hidden, columns), dtype, OVER_PES, "cubes.parts")
        self.sums = tuple(
            torch.empty((torch.pes_per_cube, columns), "f32", IN_CUBES, f"experts_{name}")
            for name in ("squares", "elements")
        )
        every = [column for load in loads for column in load.columns]
        self.shares = torch.computed((1, places), lambda: np.ones((1, places)), dtype, OVER_PES, "shares")
        numbers = list_on_device(rank, "numbers", np.arange(max(places, columns))[:, None])
        self.lists = (numbers, list_on_device(rank, "columns", np.array(every or [0])[:, None]), self.shares)

    def launch(self, x: Tensor, y: Tensor, residual: Tensor | int) -> None:
        """y = residual + the experts of x, (features, columns); nothing where no expert has a column."""
        torch, m = self.rank.torch, self.sizes
        if not m.loads:
            return
        given = (self.lists, tuple(m))
        gate, up, down = self.weights.values()
        with self.rank.operator("experts' gate, up"):
            torch.launch("expand", expand, x, (gate, up), self.parts, (self.norm.weight, *self.sums), *given)
            torch.launch("meet", meet, self.parts, self.inner, (*self.sums, m.features, EPS), *given)
        with self.rank.operator("experts' down"):
            torch.launch("contract", contract, self.inner, down, self.products, self.cubes, *given)
            torch.launch("add_cubes", add_cubes, self.cubes, y, residual, m.features, m.tokens, self.rank.dtype)

    def _find_sizes(self, columns: int, loads: Sequence[Load]) -> Mixture:
        rank = self.rank
        ends = np.cumsum([0, *(len(load.columns) for load in loads)])
        listed = tuple(
            (load.expert, int(begin), len(load.columns)) for load, begin in zip(loads, ends[:-1], strict=True)
        )
        return Mixture(
            rank.network.hidden,
            -(-(self.features.stop - self.features.start) // rank.torch.cubes_per_sip),
            columns,
            int(ends[-1]),
            len(self.own) + self.copies,
            listed,
            rank.types,
            rank.network.mlp.activation,
            rank.own_tile,
        )

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
        for expert in self.own:
            yield self._matrix(f"expert{expert}.{name}", experts.inner)[self.features]
        if self.copies:
            shared = self._matrix(f"shared.{name}", experts.shared)
            padded = np.zeros((self.copies * experts.inner, d), np.float32)
            padded[: len(shared)] = shared
            for copy in range(self.copies):
                yield padded[copy * experts.inner : (copy + 1) * experts.inner][self.features]

    def _matrix(self, name: str, inner: int) -> np.ndarray:
        """(inner, hidden): of down its transpose."""
        numbers, d = self.rank.numbers, self.rank.network.hidden
        if name.endswith(".down"):
            return numbers.matrix(self.place, name, d, inner).T
        return numbers.matrix(self.place, name, inner, d)


class ExpertsBlock:
    """The router and all experts of one layer, on a rank that has the tokens."""

    def __init__(self, rank: Rank, place: str, routing: Routing) -> None:
        experts, t = rank.network.experts, rank.tokens
        assert experts is not None
        norm = find_norm(rank, place)
        copies = count_copies(experts)
        routed = [Load(expert, tokens) for expert, tokens in routing.list_loads()]
        shared = [Load(experts.count + copy, range(t)) for copy in range(copies)]
        self.router = Router(rank, place, norm, experts, copies)
        self.mlps = ExpertMlps(rank, place, norm, t, [*routed, *shared], range(experts.count))
        places = [(load.expert, token) for load in routed for token in load.columns]
        self.choice = self.router.list_places(routing, places)

    def launch(self, x: Tensor, y: Tensor, residual: Tensor | int) -> None:
        """y = residual + the experts of x."""
        shares = self.mlps.shares
        self.router.launch(x, shares, shares, self.choice.places, self.choice)
        self.mlps.launch(x, y, residual)


def count_copies(experts: Experts) -> int:
    """The experts of the common inner size as which the MLP that all tokens take counts."""
    return -(-experts.shared // experts.inner)


def find_norm(rank: Rank, place: str) -> Normed:
    """The norm before the MLP of a layer."""
    return rank.norm(place, "mlp_norm" if rank.network.norms.per_layer > 1 else "input_norm")


def list_on_device(rank: Rank, name: str, rows: Any) -> Tensor:
    """A list of the host, f32, in each cube."""
    array = np.asarray(rows, np.float32)
    return rank.torch.computed(array.shape, lambda: array, "f32", IN_CUBES, name)
