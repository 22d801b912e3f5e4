"""Attention as it is served: prefill (all tokens of a prompt) and decode (one new token), with grouped queries.

Both work through keys and values block by block and keep three running figures a query: the largest score, the sum of the
weights and the weighted values, so that no matrix of all scores ever exists (online softmax: M. Milakov and N. Gimelshein,
2018; tiling: T. Dao et al., FlashAttention, 2022). The queries that share a head of keys and values form one tile, which
loads those once: that is what grouping is for.

A *pair* is a head of keys and values of one user. Pairs are shared over the SIPs, then a team of PEs works on each. Prefill
gives the PEs of a team tiles of queries; decode gives them parts of the context and puts their results together afterwards.
What a PE computes stays in its scratch until its kernel ends, so each launch gives it one tile (one pair).
"""

from __future__ import annotations

import numpy as np

from kernbench import DPPolicy, InputError, bench, part_of
from kernbench.dtypes import itemsize

DTYPES = ("f16", "bf16", "f32")  # that scores can have
MASKED = -10_000.0  # below every score, and an f16
SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


# On the device


def prefill(q_ptr, k_ptr, v_ptr, o_ptr, pairs, tokens, group, dim, tile_tokens, block, causal, dtype, turn, tl):
    """One tile of queries against all keys that it may see."""
    work = deal(pairs, tokens, tile_tokens, rank_of(tl), programs_of(tl))
    if turn >= len(work):
        return
    pair, first = work[turn]
    count = min(tile_tokens, tokens - first)
    row, rows = (pair * tokens + first) * group, count * group
    at = row * dim * itemsize(dtype)
    q = tl.load(q_ptr + at, (rows, dim), dtype) * dim**-0.5
    cache = Cache(k_ptr, v_ptr, pairs, tokens, block, programs_of(tl))
    blocks = cache.find_blocks(pair, 0, -(-(first + count) // block) if causal else cache.per_pair)
    visible = Causal(tl, rows, group, first) if causal else None
    _, total, values = attend(q, cache, blocks, dim, dtype, tl, visible)
    tl.store(o_ptr + at, values / total)


def decode(q_ptr, k_ptr, v_ptr, o_ptr, m_ptr, l_ptr, a_ptr, pairs, context, group, dim, block, dtype, turn, tl):
    """The queries of one pair against a part of its context, or against all of it where PEs are few."""
    cache = Cache(k_ptr, v_ptr, pairs, context, block, programs_of(tl))
    mine = cache.share_out(rank_of(tl), turn)
    if mine is None:
        return
    pair, part = mine
    size = itemsize(dtype)
    q = tl.load(q_ptr + pair * group * dim * size, (group, dim), dtype) * dim**-0.5
    blocks = cache.find_blocks(pair, *part_of((0, cache.per_pair), part, cache.splits))
    largest, total, values = attend(q, cache, blocks, dim, dtype, tl)
    if cache.splits == 1:
        tl.store(o_ptr + pair * group * dim * size, values / total)
        return
    at = (cache.home(pair) * cache.splits + part) * group * size
    tl.store(m_ptr + at, largest)
    tl.store(l_ptr + at, total)
    tl.store(a_ptr + at * dim, values)


def combine(o_ptr, m_ptr, l_ptr, a_ptr, pairs, splits, group, dim, dtype, tl):
    """The parts of a pair's context become its output, on the PE in whose memory they have been put."""
    pair, place = divmod(rank_of(tl), programs_of(tl) // pairs)
    if place or pair >= pairs:
        return
    at = rank_of(tl) * splits * group * itemsize(dtype)
    largest = tl.load(m_ptr + at, (splits, group, 1), dtype)
    total = tl.load(l_ptr + at, (splits, group, 1), dtype)
    values = tl.load(a_ptr + at * dim, (splits, group, dim), dtype)
    weight = tl.exp(largest - tl.max(largest, axis=0))
    mean = tl.sum(values * weight, axis=0) / tl.sum(total * weight, axis=0)
    tl.store(o_ptr + pair * group * dim * itemsize(dtype), mean)


def attend(q, cache, blocks, dim, dtype, tl, visible=None):
    """These blocks of keys and values, one by one: (largest score, sum of weights, sum of weighted values)."""
    rows = q.shape[0]
    largest, total, values = (tl.full((rows, width), value, dtype) for value, width in ((MASKED, 1), (0, 1), (0, dim)))
    for first, count, row in blocks:
        at = row * dim * itemsize(dtype)
        scores = tl.dot(q, tl.trans(tl.load(cache.k_ptr + at, (count, dim), dtype)))
        if visible:
            scores = visible.mask(scores, first)
        before, largest = largest, tl.maximum(largest, tl.max(scores, axis=1))
        weights = tl.exp(scores - largest)
        kept = tl.exp(before - largest)
        total = tl.fma(total, kept, tl.sum(weights, axis=1))
        values = tl.fma(values, kept, tl.dot(weights, tl.load(cache.v_ptr + at, (count, dim), dtype)))
    return largest, total, values


class Causal:
    """Which keys the rows of a tile may see: those up to their own token. Masks of one distance are made once."""

    def __init__(self, tl, rows, group, first):
        self.tl, self.rows, self.group, self.first = tl, rows, group, first

    def mask(self, scores, key):
        """Scores of keys from `key` on, with those of later tokens far below all others."""
        tl, count = self.tl, scores.shape[1]
        if key + count - 1 <= self.first:
            return scores
        row = tl.trans(tl.zeros((count, self.rows), "i32") + tl.arange(0, self.rows))
        ahead = row / self.group - tl.arange(key - self.first, key - self.first + count)
        return tl.where(tl.clamp(ahead + 1, 0, 1), scores, MASKED)


def rank_of(tl):
    """Which program of the launch this is, cube by cube."""
    return tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)


def programs_of(tl):
    """How many programs the launch has."""
    return tl.num_programs(0) * tl.num_programs(1)


# Who does what, for kernels as for the host


def deal(pairs, tokens, tile_tokens, rank, programs):
    """The (pair, first token) of each tile of a program: of its team's tiles the long ones first, there and back again."""
    teams = min(pairs, programs)
    size = programs // teams
    team, place = divmod(rank, size)
    if team >= teams:
        return []
    mine = range(*part_of((0, pairs), team, teams))
    tiles = [(pair, first) for first in reversed(range(0, tokens, tile_tokens)) for pair in mine]
    rounds = [tiles[at : at + size] for at in range(0, len(tiles), size)]
    seats = [place if i % 2 == 0 else size - 1 - place for i in range(len(rounds))]
    return [tiles[seat] for tiles, seat in zip(rounds, seats, strict=True) if seat < len(tiles)]


class Cache:
    """Keys and values in blocks: each lies whole in the memory of one PE, those of a pair near the PEs that work on it.

    A tensor of them has room for as many blocks in each PE's part; blocks are spread over that room evenly. A team of PEs
    works on each pair; in decode as many of them as it has parts. Where pairs outnumber PEs, a PE has several.
    """

    def __init__(self, k_ptr, v_ptr, pairs, keys, block, programs):
        self.k_ptr, self.v_ptr = k_ptr, v_ptr
        self.pairs, self.keys, self.block, self.programs = pairs, keys, block, programs
        self.per_pair = -(-keys // block)
        self.room = programs * -(-pairs * self.per_pair // programs)  # in blocks
        self.team = max(1, programs // pairs)
        self.splits = min(self.team, self.per_pair)

    def row(self, pair, index):
        """The first row of a block of a pair."""
        return (pair * self.per_pair + index) * self.room // (self.pairs * self.per_pair) * self.block

    def find_blocks(self, pair, first, end):
        """(first key, how many, row in the tensor) of blocks of a pair."""
        firsts = ((index, index * self.block) for index in range(first, end))
        return [(key, min(self.block, self.keys - key), self.row(pair, index)) for index, key in firsts]

    def share_out(self, rank, turn):
        """The (pair, part of its context) of a PE in decode, or None."""
        if self.team == 1:
            first, end = part_of((0, self.pairs), rank, self.programs)
            return (first + turn, 0) if first + turn < end else None
        pair, place = divmod(rank, self.team)
        part = -(-place * self.splits // self.team)
        here = pair < self.pairs and part < self.splits and part * self.team // self.splits == place
        return (pair, part) if here else None

    def home(self, pair):
        """The PE that puts the parts of a pair together: the first of its team."""
        return pair * self.team


# On the host


@bench(
    "attention-prefill",
    "Causal attention over whole prompts, grouped queries, online softmax",
    choices={"dtype": DTYPES},
)
def run_prefill(
    torch,
    *,
    users=1,
    tokens=512,
    heads=16,
    kv_heads=4,
    head_dim=64,
    tile=32,
    block=64,
    causal=True,
    dtype="f16",
):
    """`tile` queries, `block` keys at a time. Queries lie by user, head of keys, token, head of queries within the group.

    Parameters:
        users: prompts, each attended to by itself
        tokens: tokens of a prompt
        heads: heads of queries; a multiple of kv_heads
        kv_heads: heads of keys and values
        head_dim: elements of a head
        tile: queries of a tile
        block: keys at a time
        causal: a token attends to itself and to those before it alone
        dtype: type of elements
    """
    check(
        "attention-prefill",
        heads,
        kv_heads,
        users=users,
        tokens=tokens,
        head_dim=head_dim,
        tile=tile,
        block=block,
    )
    group, tile_tokens = heads // kv_heads, max(1, tile // (heads // kv_heads))
    for sip, pairs in share_pairs(torch, users * kv_heads):
        with torch.device(sip):
            cache = Cache(0, 0, pairs, tokens, block, torch.cubes_per_sip * torch.pes_per_cube)
            q, k, v, o = make_tensors(torch, cache, tokens * group, head_dim, dtype)
            ranks = range(cache.programs)
            turns = max(len(deal(pairs, tokens, tile_tokens, rank, cache.programs)) for rank in ranks)
            for turn in range(turns):
                sizes = (pairs, tokens, group, head_dim, tile_tokens, block, causal, dtype, turn)
                torch.launch("prefill", prefill, q, k, v, o, *sizes)
            torch.expect(o, reference(q, k, v, cache, tokens, group, causal))


@bench(
    "attention-decode",
    "Attention of one new token a user, grouped queries, the context cut among PEs",
    choices={"dtype": DTYPES},
)
def run_decode(torch, *, users=16, context=1024, heads=32, kv_heads=8, head_dim=128, block=128, dtype="f16"):
    """`block` keys at a time.

    Parameters:
        users: users, with one new token each
        context: tokens whose keys and values are kept
        heads: heads of queries; a multiple of kv_heads
        kv_heads: heads of keys and values
        head_dim: elements of a head
        block: keys at a time
        dtype: type of elements
    """
    check("attention-decode", heads, kv_heads, users=users, context=context, head_dim=head_dim, block=block)
    group = heads // kv_heads
    for sip, pairs in share_pairs(torch, users * kv_heads):
        with torch.device(sip):
            decode_pairs(torch, pairs, context, group, head_dim, block, dtype)


def decode_pairs(torch, pairs, context, group, dim, block, dtype):
    """The pairs of one SIP."""
    cache = Cache(0, 0, pairs, context, block, torch.cubes_per_sip * torch.pes_per_cube)
    q, k, v, o = make_tensors(torch, cache, group, dim, dtype)
    widths = {"largest": 1, "total": 1, "values": dim}
    rows = cache.programs * cache.splits * group
    parts = [torch.empty((rows, width), dtype, SPLIT, name=name) for name, width in widths.items()]
    for turn in range(-(-pairs // cache.programs)):
        torch.launch("decode", decode, q, k, v, o, *parts, pairs, context, group, dim, block, dtype, turn)
    if cache.splits > 1:
        torch.launch("combine", combine, o, *parts, pairs, cache.splits, group, dim, dtype)
    torch.expect(o, reference(q, k, v, cache, 1, group, causal=False))


def check(name, heads, kv_heads, **sizes):
    """Errors: InputError for sizes that cannot be."""
    sizes |= {"heads": heads, "kv_heads": kv_heads}
    if min(sizes.values()) < 1:
        given = ", ".join(f"{key}={value}" for key, value in sizes.items())
        raise InputError(f"{name} got {given}; each must be 1 or more")
    if heads % kv_heads:
        raise InputError(f"{name} got heads={heads} and kv_heads={kv_heads}; heads must be a multiple of kv_heads")


def share_pairs(torch, pairs):
    """(SIP, how many pairs it has) of those that have any."""
    sips = torch.device_count
    parts = [part_of((0, pairs), sip, sips) for sip in range(sips)]
    return [(sip, end - first) for sip, (first, end) in enumerate(parts) if first < end]


def make_tensors(torch, cache, queries, dim, dtype):
    """Q, K, V and the output of the pairs of a SIP, by rows over its PEs; `queries` are rows of a pair."""
    sizes = {"q": cache.pairs * queries, "k": cache.room * cache.block, "v": cache.room * cache.block}
    made = [torch.randn((rows, dim), dtype, SPLIT, name=name) for name, rows in sizes.items()]
    return *made, torch.empty((cache.pairs * queries, dim), dtype, SPLIT, name="o")


def reference(q, k, v, cache, tokens, group, causal):
    """What makes the output in one piece: softmax(q @ k.T / sqrt(dim)) @ v for each head of queries."""
    rows = np.array([[cache.row(pair, i) for i in range(cache.per_pair)] for pair in range(cache.pairs)])
    rows = (rows[..., None] + np.arange(cache.block)).reshape(cache.pairs, 1, -1)[..., : cache.keys]

    def make():
        dim = q.shape[-1]
        queries = q.initial().astype(np.float32).reshape(cache.pairs, tokens, group, dim).transpose(0, 2, 1, 3)
        keys, values = (x.initial().astype(np.float32)[rows] for x in (k, v))
        scores = queries @ keys.swapaxes(-1, -2) / np.sqrt(dim)
        if causal:
            scores = np.where(np.tri(tokens, cache.keys, dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return (weights @ values).transpose(0, 2, 1, 3).reshape(-1, dim)

    return make
