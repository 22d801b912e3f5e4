"""Latent attention of one layer on a rank: the tensors that it keeps, and the launches of a step of decode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.dtypes import itemsize
from kernbench.workloads.architecture import Latent, LayerKind
from kernbench.workloads.kernels.latent import (
    Latents,
    Tables,
    absorb,
    attend_latent,
    expand_values,
    merge_latent,
    spread_part,
)
from kernbench.workloads.kernels.layout import IN_CUBES, OVER_PES
from kernbench.workloads.numbers import EPS, rotation
from kernbench.workloads.sip.layer import SCORES_SHARE
from kernbench.workloads.sip.projection import Part, Projection
from kernbench.workloads.sip.rank import Rank

if TYPE_CHECKING:
    from kernbench.host.torch.tensor import Tensor


class LatentBlock:
    """Attention whose heads share the rows of the cache. Ranks share heads; rows, and what makes them, each rank has."""

    def __init__(self, rank: Rank, place: str, kind: LayerKind) -> None:
        network, torch = rank.network, rank.torch
        latent = network.attention
        assert isinstance(latent, Latent)
        self.rank, self.place, self.latent, d = rank, place, latent, network.hidden
        self.sizes = a = find_sizes(rank, latent, kind)
        norm = rank.norm(place, "input_norm")
        whole = latent.queries * (latent.plain + latent.rotary)
        rows = Part("kv_a", a.rank + a.rotary, d, slice(None))
        own = rank.share(whole)
        self.inner: Projection | None = None  # from compressed queries
        if latent.query_rank is None:
            self.qkv = Projection(rank, place, [Part("q", whole, d, own), rows], norm)
        else:
            self.qkv = Projection(rank, place, [Part("q_a", latent.query_rank, d, slice(None)), rows], norm)
            before = rank.norm(place, "q_a_norm", latent.query_rank)
            self.inner = Projection(rank, place, [Part("q_b", whole, latent.query_rank, own)], before)
            self.queries = rank.activation("queries", self.inner.rows)
        self.out = Projection(
            rank, place, [Part("o", d, latent.queries * a.value, slice(None), rank.share(latent.queries * a.value))]
        )
        self.rows = rank.activation("qkv", self.qkv.rows)
        self.new_rows = rank.activation("new_rows", a.rank + a.rotary, IN_CUBES)
        self.to_keys, self.to_values = self._weight("to_keys"), self._weight("to_values")
        cubes, dtype = torch.cubes_per_sip, rank.dtype
        self.placed = tuple(
            torch.empty((cubes * a.slots * a.heads, width), dtype, OVER_PES, f"absorbed.{width}")
            for width in (a.rank, a.rotary)
        )
        self.cache = self._cache("latent", a.rank), self._cache("rotary", a.rotary)
        units = a.tokens * a.splits
        self.units = (
            torch.empty((units, a.heads * a.rank), dtype, OVER_PES, "units"),
            torch.empty((units, a.heads * 2), "f32", OVER_PES, "scores"),
        )
        self.merged = torch.empty((a.heads * a.tokens, a.rank), dtype, OVER_PES, "merged")
        self.attended = rank.activation("attended", a.heads * a.value)
        self.tables = tuple(self._tables())

    def launch(self, x: Tensor, y: Tensor, residual: Tensor | int) -> None:
        """y = residual + attention of x."""
        rank, torch, a = self.rank, self.rank.torch, self.sizes
        sizes = tuple(a)
        with rank.operator("q, k, v"):
            rank.multiply("qkv", x, [self.qkv], self.rows)
            span = (self.qkv.rows - a.rank - a.rotary, self.qkv.rows)
            torch.launch("spread_part", spread_part, self.rows, self.new_rows, span, a.tokens, rank.dtype)
            if self.inner is not None:
                rank.multiply("q_b", self.rows, [self.inner], self.queries)
        with rank.operator("attention"):
            queries = self.rows if self.inner is None else self.queries
            torch.launch("absorb", absorb, queries, self.to_keys, self.placed, self.tables, sizes)
            given = (self.cache, self.placed, self.units, self.tables, sizes)
            torch.launch("attend_latent", attend_latent, self.new_rows, *given)
            torch.launch("merge_latent", merge_latent, self.units, self.merged, self.tables, sizes)
            torch.launch("expand_values", expand_values, self.merged, self.to_values, self.attended, sizes)
        with rank.operator("o"):
            rank.multiply("o", self.attended, [self.out], y, residual=residual)

    def make_room(self) -> None:
        """Nothing that it makes lies where a choice says, but for the number of parts of a context."""

    def _weight(self, name: str) -> Tensor:
        """What makes plain keys, or values, of a row, of each head one under the other: (rank, plain), (value, rank)."""
        rank, latent, a = self.rank, self.latent, self.sizes
        shape = (a.heads * a.rank, a.plain) if name == "to_keys" else (a.heads * a.value, a.rank)

        def make() -> np.ndarray:
            both = latent.plain + latent.value
            whole = rank.numbers.matrix(self.place, "kv_b", latent.queries * both, a.rank)
            mine = whole.reshape(latent.queries, both, a.rank)[rank.share(latent.queries)]
            found = mine[:, : a.plain].swapaxes(1, 2) if name == "to_keys" else mine[:, a.plain :]
            return np.ascontiguousarray(found).reshape(shape)

        return rank.torch.computed(shape, make, rank.step.types.weights, OVER_PES, f"{self.place}.{name}")

    def _cache(self, name: str, width: int) -> Tensor:
        a = self.sizes

        def make() -> np.ndarray:
            """The tokens before the new one."""
            room = np.zeros((a.tokens, a.splits * a.part, width), np.float32)
            room[:, : a.context - 1] = self.rank.numbers.draw(self.place, name, (a.tokens, a.context - 1, width))
            return room

        shape = (a.tokens * a.splits, a.part * width)
        return self.rank.torch.computed(shape, make, a.types[2], OVER_PES, f"{self.place}.{name}")

    def _tables(self) -> Tables:
        rank, a = self.rank, self.sizes
        numbers = np.arange(max(a.tokens, a.heads), dtype=np.float32)[None]
        weight = rank.numbers.vector(self.place, "kv_a_norm", a.rank, 1.0)[None]
        return Tables(
            rank.torch.computed(numbers.shape, lambda: numbers, "f32", IN_CUBES, "numbers"),  # pyright: ignore[reportArgumentType] - arrives as its address
            rank.constant("rotation", rotation(a.rotary, a.rotary, rank.step.parts[0].before)),  # pyright: ignore[reportArgumentType]
            rank.constant(f"{self.place}.kv_a_norm", weight),  # pyright: ignore[reportArgumentType]
        )


def find_sizes(rank: Rank, latent: Latent, kind: LayerKind) -> Latents:
    """The sizes on a rank, with the context cut so that all PEs have a part and its scores fit in scratch."""
    torch, step = rank.torch, rank.step
    heads, (part,) = latent.queries // step.tensor, step.parts
    context = min(part.context, kind.window or part.context)
    pes = torch.cubes_per_sip * torch.pes_per_cube
    scratch = int(torch.driven.machine.figures["pe.scratch_bytes"])
    most = max(1, scratch // SCORES_SHARE // (heads * itemsize("f32")))
    asked = rank.choices.splits or max(1, pes // part.count)
    splits = min(context, max(asked, -(-context // most)))
    splits = -(-context // -(-context // splits))  # none is empty
    types = (step.types.weights, rank.dtype, step.types.cache)
    sizes = (heads, latent.rank, latent.rotary, latent.plain, latent.value, context, splits)
    found = Latents(part.count, *sizes, 0, types, EPS, rank.own_tile)
    cubes = torch.cubes_per_sip
    return found._replace(slots=max(len(found.list_sequences(cube, cubes)) for cube in range(cubes)))
