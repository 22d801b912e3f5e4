"""Attention of a layer over many new tokens of each sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.dtypes import itemsize
from kernbench.workloads.architecture import Heads, LayerKind
from kernbench.workloads.kernels.layout import OVER_PES
from kernbench.workloads.kernels.panels import Panel
from kernbench.workloads.kernels.prompt_attention import (
    Prompt,
    Tables,
    append_keys,
    attend_panels,
    find_span,
    list_runs,
)
from kernbench.workloads.kernels.spread import place_heads, spread
from kernbench.workloads.numbers import EPS
from kernbench.workloads.sip.layer import AttentionBlock
from kernbench.workloads.sip.prompt_panels import flat
from kernbench.workloads.sip.prompt_rank import PromptRank
from kernbench.workloads.sip.rank import find_scratch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernbench.host.torch.tensor import Tensor

MOST_KEYS = 512  # of a block, while scratch has room


class PromptAttention(AttentionBlock):
    """As `AttentionBlock`, in panels."""

    rank: PromptRank

    def _prepare(self, kind: LayerKind) -> None:
        rank = self.rank
        self.prompt = find_prompt(rank, self.heads, kind)
        self.prompt_cache = tuple(self._prompt_cache(name) for name in ("keys", "values"))
        self.turns = self._prompt_tables()
        self.work = deal(self.prompt, rank.prompts, rank.torch.cubes_per_sip * rank.torch.pes_per_cube)
        self.attended = rank.read_by_products("attended", self.out.features)
        self.beside = TokenAttention(self, kind) if rank.tokens_beside else None

    def launch(self, x: Tensor, y: Tensor, residual: Tensor | int) -> None:
        """As of `AttentionBlock`."""
        rank = self.rank
        with rank.operator("q, k, v"):
            rank.multiply("qkv", x, [self.qkv], self.rows)
        with rank.operator("attention"):
            given = (self.turns, tuple(self.prompt))
            panels = flat(rank.prompts)
            rank.torch.launch("append_keys", append_keys, self.rows, self.prompt_cache, panels, *given)
            units = (panels, self.work, *given, rank.copies)
            rank.torch.launch("attend_panels", attend_panels, self.rows, self.prompt_cache, self.attended, *units)
            if self.beside:
                self.beside.attend(self.rows, self.attended)
        with rank.operator("o"):
            rank.multiply("o", self.attended, [self.out], y, residual=residual)

    def _prompt_cache(self, name: str) -> Tensor:
        a, rank = self.prompt, self.rank

        def make() -> np.ndarray:
            """The tokens before the new ones, as `numbers` draws them for whole heads."""
            whole = (self.heads.keys, a.sequences, a.before, a.size)
            mine = rank.numbers.draw(self.place, name, whole)[self.first : self.first + a.keys]
            room = np.zeros((a.keys, a.sequences, a.context, a.size), np.float32)
            room[:, :, : a.before] = mine
            return room.reshape(-1, a.size)

        shape = (a.keys * a.sequences * a.context, a.size)
        return rank.torch.computed(shape, make, a.cache_dtype, OVER_PES, f"{self.place}.{name}")

    def _prompt_tables(self) -> tuple[Any, ...]:
        rank, a, rotated = self.rank, self.prompt, self.rank.network.rotary
        norms: tuple[Any, ...] = (0, 0)
        if self.heads.normalised:
            vectors = {name: rank.numbers.vector(self.place, name, a.size, 1.0) for name in ("q_norm", "k_norm")}
            norms = tuple(rank.constant(name, one[:, None]) for name, one in vectors.items())
        if not rotated:
            return tuple(Tables(0, 0, 0, *norms))
        position = rank.step.parts[0].before + np.arange(rank.tokens) % a.tokens
        cos, sin = turns(a.size, rotated, position)
        made = [rank.in_panels(name, table) for name, table in (("cos", cos), ("sin", sin))]
        return tuple(Tables(rank.constant("turn", quarter_turn(a.size, rotated)), *made, *norms))  # type: ignore[arg-type]


class TokenAttention(AttentionBlock):
    """Attention of the sequences that take one token each, in the last panel, beside prompts."""

    def __init__(self, owner: PromptAttention, kind: LayerKind) -> None:
        """`owner` has the products around it."""
        rank = owner.rank
        assert rank.tokens_beside is not None
        self.rank, self.copies, self.panel = rank.tokens_beside, rank.copies, rank.panels[-1]
        self.place, self.heads, self.first = owner.place, owner.heads, owner.first
        self.qkv, self.out = owner.qkv, owner.out
        self._prepare(kind)

    def attend(self, rows: Tensor, attended: Tensor) -> None:
        """From the panel's queries, keys and values to what `o` reads."""
        torch, a, panel = self.rank.torch, self.sizes, tuple(self.panel)
        torch.launch("spread", spread, rows, self.rows_in_cubes, self.qkv.rows, panel, self.rank.dtype)
        self._launch_attend()
        given = (a.keys, a.group * a.size, panel, self.copies, self.rank.dtype)
        torch.launch("place_heads", place_heads, self.merged, attended, *given)


def find_prompt(rank: PromptRank, heads: Heads, kind: LayerKind) -> Prompt:
    """The sizes of attention on a rank, with as many keys a block as scratch holds scores of."""
    step, network = rank.step, rank.network
    part = step.parts[0]
    window = kind.window or 0
    before = min(part.before, window - 1) if window else part.before
    keys = max(1, heads.keys // step.tensor)
    group = heads.queries // step.tensor // keys
    block = find_block(
        find_scratch(rank.torch), max(panel.width for panel in rank.prompts), heads.size, itemsize(rank.dtype)
    )
    sizes = (part.count, part.tokens, before, keys, group, heads.size, window, network.causal, block)
    return Prompt(*sizes, rank.dtype, step.types.cache, EPS, network.soft_caps[0])


def find_block(scratch: int, width: int, size: int, itemsize: int) -> int:
    """Keys of a block, so that what attention keeps of a panel fits in scratch.

    They are a power of two times the size of a head, so that scores and outputs, which come and go, have rooms of few sizes.
    """
    of_head = size * (2 * 4 + itemsize)  # of a token: the output, what is added to it, the query
    of_key = 3 * 4 + 2 * itemsize + 1  # scores of three blocks, weights of two, a mask
    block = size
    while block < MOST_KEYS and (2 * block * of_key + of_head) * width <= scratch:
        block *= 2
    while block > 1 and (block * of_key + of_head) * width > scratch:
        block = -(-block // 2)
    return block


def deal(a: Prompt, panels: Sequence[Panel], pes: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """(head, number of the panel) of the units of each PE.

    Units that read the same keys are near the memory in which those lie: the PEs are cut as the cache is, by pairs of a head of
    keys and a sequence. Of a pair's units the longest come first, each to the PE that has the least to do.
    """
    keys = [sum(last - first for first, last in (find_span(run, a) for run in list_runs(panel, a))) for panel in panels]
    costs = [count * panel.width for count, panel in zip(keys, panels, strict=True)]
    numbers = sorted(range(len(panels)), key=lambda number: -costs[number])
    busy = [0] * pes
    dealt: list[list[tuple[int, int]]] = [[] for _ in range(pes)]
    for number in numbers:
        for head in range(a.keys * a.group):
            pair, pairs = head // a.group * a.sequences + panels[number].first // a.tokens, a.keys * a.sequences
            first = pair * pes // pairs
            pe = min(range(first, max(first + 1, (pair + 1) * pes // pairs)), key=lambda pe: busy[pe])
            dealt[pe].append((head, number))
            busy[pe] += costs[number]
    return tuple(map(tuple, dealt))


def quarter_turn(size: int, rotated: int) -> np.ndarray:
    """float32[size, size] R, so that R x is what the sine of a rotation is taken times; see `numbers.rotation`."""
    half = rotated // 2
    turn, i = np.zeros((size, size), np.float32), np.arange(half)
    turn[i, i + half], turn[i + half, i] = -1, 1
    return turn


def turns(size: int, rotated: int, position: np.ndarray, theta: float = 10000.0) -> tuple[np.ndarray, np.ndarray]:
    """float32[size, token] cosines and sines of positions; elements beyond those that are rotated stay as they are."""
    half = rotated // 2
    angle = np.outer(np.tile(theta ** (-np.arange(half) / half), 2), position)
    cos, sin = np.ones((size, len(position)), np.float32), np.zeros((size, len(position)), np.float32)
    cos[: 2 * half], sin[: 2 * half] = np.cos(angle), np.sin(angle)
    return cos, sin
