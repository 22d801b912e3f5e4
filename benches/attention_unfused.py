"""Attention in three launches, as a library without a fused kernel does it: scores, softmax, values.

Scores and weights of all queries and all keys pass through memory, and each head of queries reads its keys and values by
itself, though several heads share them. What `attention-prefill` and `attention-decode` save is the difference.

A *unit* is a head of queries of one user. Units are shared over the SIPs by user, then over the PEs of each.
"""

from __future__ import annotations

import numpy as np

from kernbench import DPPolicy, InputError, bench, part_of
from kernbench.dtypes import itemsize, widen

DTYPES = ("f16", "bf16", "f32")
MASKED = -10_000.0  # below every score, and an f16
ROWS_BYTES = 1 << 18  # of scores at a time, of which a softmax has some in scratch
MOST_IN_FLIGHT = 2  # products of a program
SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


# On the device


def units_of(tl, units):
    """The units of a program."""
    rank = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    return range(*part_of((0, units), rank, tl.num_programs(0) * tl.num_programs(1)))


def score(q_ptr, k_ptr, s_ptr, units, group, tokens, context, dim, dtype, tl):
    """Scores (tokens, context) of each unit; keys lie by feature (dim, context)."""
    size, pipeline = itemsize(dtype), InFlight(tl)
    for unit in units_of(tl, units):
        loaded = tl.load(q_ptr + unit * tokens * dim * size, (tokens, dim), dtype)
        q = loaded * dim**-0.5
        keys = tl.ref(k_ptr + unit // group * dim * context * size, (dim, context), dtype)
        pipeline.add(tl.composite("gemm", q, keys, out_ptr=s_ptr + unit * tokens * context * size), loaded, q)
    pipeline.end()


def softmax(s_ptr, units, tokens, context, dtype, tl):
    """The weights of each unit, in the place of its scores, some rows at a time; the next ones are read meanwhile."""
    size, mine = itemsize(dtype), units_of(tl, units)
    blocks = list_blocks(mine, tokens, max(1, ROWS_BYTES // (context * size)))

    def read(row, _first, count):
        return tl.load(s_ptr + row * context * size, (count, context), dtype)

    ahead = [read(*block) for block in blocks[:1]]
    mask, masked, spent = None, -1, []
    for index, (row, first, count) in enumerate(blocks):
        made = ahead
        ahead = [read(*block) for block in blocks[index + 1 : index + 2]]
        if tokens > 1:
            if masked != first:
                mask, masked = make_mask(tl, context - tokens + first, count, context, dtype, mask), first
            made.append(made[-1] + mask)
        made.append(made[-1] - tl.max(made[-1], axis=1))
        made.append(tl.exp(made[-1]))
        made.append(made[-1] / tl.sum(made[-1], axis=1))
        tl.store(s_ptr + row * context * size, made[-1])
        for each in spent:  # the block before, which has been stored meanwhile
            tl.release(each)
        spent = made


def list_blocks(mine, tokens, most):
    """(row, first token, rows) of blocks of at most `most` rows.

    Blocks with the same tokens follow each other, so that all units share a mask. A block of single tokens has many units.
    """
    if tokens == 1:
        return [(row, 0, min(most, mine.stop - row)) for row in range(mine.start, mine.stop, most)]
    firsts = range(0, tokens, most)
    return [(unit * tokens + first, first, min(most, tokens - first)) for first in firsts for unit in mine]


def make_mask(tl, token, count, context, dtype, before):
    """What to add to scores whose first row is that of a token: 0, and of later tokens a number far below all scores."""
    if before is not None:
        tl.release(before)
    own = tl.zeros((context, count), "i32") + tl.arange(token, token + count)
    behind = tl.trans(own) - tl.arange(0, context)
    seen = tl.clamp(behind + 1, 0, 1)
    mask = tl.where(seen, tl.zeros((count, context), dtype), MASKED)
    for each in (own, behind, seen):
        tl.release(each)
    return mask


def average(p_ptr, v_ptr, o_ptr, units, group, tokens, context, dim, dtype, tl):
    """The output (tokens, dim) of each unit."""
    size, pipeline = itemsize(dtype), InFlight(tl)
    for unit in units_of(tl, units):
        weights = tl.ref(p_ptr + unit * tokens * context * size, (tokens, context), dtype)
        values = tl.ref(v_ptr + unit // group * context * dim * size, (context, dim), dtype)
        pipeline.add(tl.composite("gemm", weights, values, out_ptr=o_ptr + unit * tokens * dim * size))
    pipeline.end()


class InFlight:
    """Products that are under way, with what they read of scratch; a new one begins before the last has ended."""

    def __init__(self, tl):
        self.tl, self.jobs = tl, []

    def add(self, job, *held):
        self.jobs.append((job, held))
        if len(self.jobs) > MOST_IN_FLIGHT:
            self.end_first()

    def end_first(self):
        job, held = self.jobs.pop(0)
        self.tl.wait(job)
        for each in held:
            self.tl.release(each)

    def end(self):
        while self.jobs:
            self.end_first()


# On the host


@bench(
    "attention-unfused",
    "Attention in three launches: scores and weights pass through memory",
    choices={"dtype": DTYPES},
)
def run(torch, *, users=1, tokens=128, cached=0, heads=16, kv_heads=4, head_dim=64, dtype="f16"):
    """Each user has `tokens` new tokens behind `cached` ones; a new one attends to itself and to those before it.

    Parameters:
        users: users with a prompt, or a part of one, each
        tokens: new tokens of a user; 1: decode
        cached: tokens before them
        heads: heads of queries; a multiple of kv_heads
        kv_heads: heads of keys and values
        head_dim: elements of a head
        dtype: type of elements
    """
    sizes = {"users": users, "tokens": tokens, "heads": heads, "kv_heads": kv_heads, "head_dim": head_dim}
    if min(sizes.values()) < 1 or cached < 0:
        given = ", ".join(f"{name}={value}" for name, value in {**sizes, "cached": cached}.items())
        raise InputError(f"attention-unfused got {given}; cached must be 0 or more, the others 1 or more")
    if heads % kv_heads:
        raise InputError(
            f"attention-unfused got heads={heads} and kv_heads={kv_heads}; heads must be a multiple of kv_heads"
        )
    for sip in range(torch.device_count):
        first, end = part_of((0, users), sip, torch.device_count)
        if first < end:
            with torch.device(sip):
                attend(torch, end - first, tokens, cached + tokens, heads, kv_heads, head_dim, dtype)


def attend(torch, users, tokens, context, heads, kv_heads, dim, dtype):
    """The users of one SIP."""
    units, group, pairs = users * heads, heads // kv_heads, users * kv_heads
    q = torch.randn((units * tokens, dim), dtype, SPLIT, name="q")
    k = torch.randn((pairs * dim, context), dtype, SPLIT, name="k")
    v = torch.randn((pairs * context, dim), dtype, SPLIT, name="v")
    s = torch.empty((units * tokens, context), dtype, SPLIT, name="scores")
    o = torch.empty((units * tokens, dim), dtype, SPLIT, name="o")
    torch.launch("score", score, q, k, s, units, group, tokens, context, dim, dtype)
    torch.launch("softmax", softmax, s, units, tokens, context, dtype)
    torch.launch("average", average, s, v, o, units, group, tokens, context, dim, dtype)

    def expected():
        queries = widen(q.initial()).reshape(pairs, group, tokens, dim)
        keys, values = (
            widen(k.initial()).reshape(pairs, 1, dim, context),
            widen(v.initial()).reshape(pairs, 1, context, dim),
        )
        scores = queries @ keys / np.sqrt(dim)
        scores = np.where(np.tri(tokens, context, context - tokens, dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return (weights / weights.sum(-1, keepdims=True) @ values).reshape(-1, dim)

    torch.expect(o, expected)
