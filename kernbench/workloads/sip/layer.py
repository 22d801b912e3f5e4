"""A layer of a decoder on a rank: the tensors that it keeps, and the launches of a step of decode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.dtypes import itemsize
from kernbench.workloads.architecture import Heads, LayerKind
from kernbench.workloads.kernels.attention import Decode, attend, merge
from kernbench.workloads.kernels.layout import IN_CUBES, OVER_PES, over
from kernbench.workloads.kernels.spread import spread_heads
from kernbench.workloads.numbers import EPS, rotation
from kernbench.workloads.sip.projection import Part, Projection
from kernbench.workloads.sip.rank import Normed, Rank

if TYPE_CHECKING:
    from kernbench.host.torch.tensor import Tensor

SCORES_SHARE = 8  # of the scratch of a PE: the scores of a unit take no more


class AttentionBlock:
    """Attention of one layer. Rows of queries, keys and values come from one product."""

    def __init__(self, rank: Rank, place: str, kind: LayerKind) -> None:
        network = rank.network
        heads = network.attention
        assert isinstance(heads, Heads)
        self.rank, self.place, self.heads = rank, place, heads
        d, e, own_keys = network.hidden, heads.size, max(1, heads.keys // rank.step.tensor)
        queries, keys = heads.queries * e, heads.keys * e
        self.first = rank.index * heads.keys // rank.step.tensor  # of the heads of keys; ranks beyond them share one
        mine = slice(self.first * e, (self.first + own_keys) * e)
        own = rank.share(queries)
        self.norm = rank.norm(place, "input_norm") if network.norms.before else None
        self.after = find_after(rank, place, "attention")
        bias = heads.bias
        parts = [Part("q", queries, d, own, bias=bias), *(Part(n, keys, d, mine, bias=bias) for n in "kv")]
        self.qkv = Projection(rank, place, parts, self.norm)
        own_bias = heads.out_bias and rank.index == 0  # the sum over ranks takes it once
        self.out = Projection(rank, place, [Part("o", d, queries, slice(None), own, own_bias)])
        self._place_rows()
        self._prepare(kind)

    def _prepare(self, kind: LayerKind) -> None:
        """Make what attention alone needs: the cache, tables, and where its results lie."""
        rank = self.rank
        self.sizes = find_sizes(rank, self.heads, kind)
        self.cache = tuple(self._cache(name) for name in ("keys", "values"))
        self.tables = self._tables()
        self._place_results()
        self.rows_in_cubes = rank.activation("qkv_in_cubes", self.qkv.rows, IN_CUBES)
        self.attended = rank.activation("attended", self.out.features, IN_CUBES)

    def make_room(self) -> None:
        """Make the tensors again whose places are chosen."""
        self._place_rows()
        self._place_results()

    def _place_rows(self) -> None:
        self.rows = self.rank.activation("qkv", self.qkv.rows, over(self.rank.choices.qkv))

    def _place_results(self) -> None:
        rank, a, e = self.rank, self.sizes, self.heads.size
        held = over(rank.choices.units)
        self.units = rank.torch.empty(
            (a.pairs * a.splits, a.group * e), rank.dtype, OVER_PES if a.splits > 1 else held, "units"
        )
        self.parts: tuple[Any, Any] = (0, 0)
        self.merged = self.units
        if a.splits > 1:
            shape = (a.pairs * a.splits, a.group)
            self.parts = tuple(rank.torch.empty(shape, "f32", OVER_PES, name) for name in ("largest", "total"))  # type: ignore[assignment]
            self.merged = rank.torch.empty((a.pairs, a.group * e), rank.dtype, held, "merged")

    def launch(self, x: Tensor, y: Tensor, residual: Tensor | int) -> None:
        """y = residual + attention of x."""
        rank, a = self.rank, self.sizes
        with rank.operator("q, k, v"):
            rank.multiply("qkv", x, [self.qkv], self.rows)
            if rank.choices.spread is not False:
                rank.spread(self.rows, self.rows_in_cubes)
        with rank.operator("attention"):
            self._launch_attend()
        with rank.operator("o"):
            width = a.group * a.size
            given = (self.merged, self.attended, a.keys, width, rank.tokens, rank.dtype)
            rank.torch.launch("spread_heads", spread_heads, *given)
            rank.multiply("o", self.attended, [self.out], y, residual=residual)

    def _launch_attend(self) -> None:
        """From rows, in each cube if they are spread, to the output of each pair."""
        torch, a = self.rank.torch, self.sizes
        rows = self.rows if self.rank.choices.spread is False else self.rows_in_cubes
        torch.launch("attend", attend, rows, self.cache, self.units, self.parts, self.tables, tuple(a))
        if a.splits > 1:
            torch.launch("merge", merge, self.units, self.parts, self.merged, tuple(a))

    def _cache(self, name: str) -> Tensor:
        a = self.sizes
        shape = (a.pairs * a.splits, a.part * a.size)

        def make() -> np.ndarray:
            """The tokens before the new one, as `numbers` draws them for whole heads."""
            whole = draw_cache(self.rank, self.place, name, self.heads, a.context)
            mine = whole[self.first : self.first + a.keys]  # head, sequence, token, element
            room = np.zeros((a.keys, a.tokens, a.splits * a.part, a.size), np.float32)
            room[:, :, : a.context - 1] = mine
            return room

        return self.rank.torch.computed(shape, make, a.cache_dtype, OVER_PES, f"{self.place}.{name}")

    def _tables(self) -> tuple[Any, ...]:
        rank, a, network = self.rank, self.sizes, self.rank.network
        turned = rotation(a.size, network.rotary, rank.step.parts[0].before) if network.rotary else None
        norms = ("q_norm", "k_norm") if self.heads.normalised else ()
        numbers = [rank.numbers.vector(self.place, name, a.size, 1.0)[None] for name in norms]
        return (
            rank.constant("identity", np.eye(a.tokens, dtype=np.float32)),
            rank.constant("lanes", np.eye(a.group, dtype=np.float32)),
            0 if turned is None else rank.constant("rotation", turned),
            *([rank.constant(name, one) for name, one in zip(norms, numbers, strict=True)] or (0, 0)),
        )


class MlpBlock:
    """The MLP of one layer."""

    def __init__(self, rank: Rank, place: str) -> None:
        network, d = rank.network, rank.network.hidden
        mlp, own = network.mlp, rank.share(network.mlp.inner)
        self.rank, self.mlp, self.place = rank, mlp, place
        name = "mlp_norm" if network.norms.per_layer > 1 else "input_norm"
        self.norm = rank.norm(place, name) if network.norms.before else None
        self.after = find_after(rank, place, "mlp")
        self.inputs = [
            Projection(rank, place, [Part(name, mlp.inner, d, own, bias=mlp.bias)], self.norm)
            for name in (("gate", "up") if mlp.gated else ("up",))
        ]
        self.make_room()

    def make_room(self) -> None:
        """Make the tensors, again or at first, whose places are chosen."""
        rank, mlp = self.rank, self.mlp
        own_bias = mlp.bias and rank.index == 0
        part = Part("down", rank.network.hidden, mlp.inner, slice(None), rank.share(mlp.inner), own_bias)
        self.down = Projection(rank, self.place, [part], cut=rank.choices.down)
        self.inner = rank.read_by_products("inner", self.inputs[0].rows, over(rank.choices.inner))

    def launch(self, x: Tensor, y: Tensor, residual: Tensor | int) -> None:
        """y = residual + the MLP of x."""
        rank, mlp = self.rank, self.mlp
        with rank.operator("gate, up" if mlp.gated else "up"):
            rank.multiply("up", x, self.inputs, self.inner, activation=mlp.activation)
        with rank.operator("down"):
            rank.multiply("down", self.inner, [self.down], y, residual=residual)


def find_after(rank: Rank, place: str, block: str) -> Normed | None:
    """The norm behind a block: of what it adds, or of the sum."""
    norms = rank.network.norms
    return rank.norm(place, f"{block}_after") if norms.after or not norms.before else None


def find_sizes(rank: Rank, heads: Heads, kind: LayerKind) -> Decode:
    """The sizes of attention on a rank, with the context cut so that all PEs have a part and its scores fit in scratch."""
    torch, step = rank.torch, rank.step
    keys = max(1, heads.keys // step.tensor)
    group = heads.queries // step.tensor // keys
    (part,) = step.parts
    context = min(part.context, kind.window or part.context)
    pairs, pes = keys * part.count, torch.cubes_per_sip * torch.pes_per_cube
    scratch = int(torch.driven.machine.figures["pe.scratch_bytes"])
    most = max(1, scratch // SCORES_SHARE // (group * itemsize("f32")))
    asked = rank.choices.splits or max(1, pes // pairs)
    splits = min(context, max(asked, -(-context // most)))
    splits = -(-context // -(-context // splits))  # none is empty
    cache = step.types.cache
    sizes = (part.count, keys, group, heads.size, context, splits, rank.dtype, cache, EPS, rank.own_tile)
    return Decode(*sizes, rank.network.soft_caps[0])


def draw_cache(rank: Rank, place: str, name: str, heads: Heads, context: int) -> np.ndarray:
    """float32[head, sequence, token, element] of the tokens before the new one."""
    return rank.numbers.draw(place, name, (heads.keys, rank.step.parts[0].count, context - 1, heads.size))
