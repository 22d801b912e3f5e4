"""One transformer block, tensor-parallel over the SIPs: attention and MLP, each between a column- and a row-parallel layer.

    h = x + row(attend(column_q(n), column_k(n), column_v(n))), n = rms_norm(x)
    y = h + row(silu(column(rms_norm(h))))

Every rank has its share of the heads and of the MLP's inner features; two all-reduces a block bring the ranks together. On each
SIP tokens are shared by the cubes, features by the PEs of a cube.
"""

from __future__ import annotations

import numpy as np

from kernbench import ColumnParallelLinear, InputError, RowParallelLinear, bench
from kernbench.host.tensor_parallel.blocks import ACTIVATION, Blocks
from kernbench.host.tensor_parallel.kernels import add, attend, rms_norm

EPS = 1e-5


def check(tokens, hidden, heads, mlp, ranks, pes):
    """Errors: InputError for sizes that ranks and PEs cannot share."""
    if min(tokens, hidden, heads, mlp) < 1:
        raise InputError(
            f"transformer-block got tokens={tokens}, hidden={hidden}, heads={heads}, mlp={mlp}; each must be 1 or more"
        )
    if heads % ranks or pes % (heads // ranks) or hidden % (ranks * pes) or mlp % ranks:
        raise InputError(
            f"transformer-block got hidden={hidden}, heads={heads}, mlp={mlp} for {ranks} ranks of {pes} PEs a cube; make "
            f"heads and mlp multiples of {ranks}, the heads of a rank a divisor of {pes} and hidden a multiple of {ranks * pes}"
        )


class Block:
    """The layers of one rank."""

    def __init__(self, torch, hidden, heads, mlp, dtype):
        self.torch, self.heads, self.dtype = torch, heads, dtype
        shape = {"dtype": dtype}
        self.projections = [
            ColumnParallelLinear(torch, hidden, hidden, gather_output=False, seed=seed, **shape) for seed in (1, 2, 3)
        ]
        self.out = RowParallelLinear(torch, hidden, hidden, input_is_parallel=True, seed=4, **shape)
        self.up = ColumnParallelLinear(torch, hidden, mlp, gather_output=False, activation="silu", seed=5, **shape)
        self.down = RowParallelLinear(torch, mlp, hidden, input_is_parallel=True, seed=6, **shape)

    def __call__(self, x):
        """(tokens, hidden) → (tokens, hidden)."""
        normal = self.norm(x)
        queries, keys, values = (projection(normal) for projection in self.projections)
        attended = self.torch.empty(queries.shape, self.dtype, ACTIVATION, name="attended")
        local = self.heads // self.torch.distributed.get_world_size()
        self.torch.launch("attend", attend, queries, keys, values, attended, self.blocks(attended), local, self.dtype)
        after = self.add(x, self.out(attended))
        return self.add(after, self.down(self.up(self.norm(after))))

    def norm(self, x):
        """Each token over the root of its mean square."""
        y = self.torch.empty(x.shape, self.dtype, ACTIVATION, name="normal")
        self.torch.launch("rms_norm", rms_norm, x, y, self.blocks(x), EPS, self.dtype)
        return y

    def add(self, a, b):
        """The residual sum."""
        y = self.torch.empty(a.shape, self.dtype, ACTIVATION, name="sum")
        self.torch.launch("add", add, a, b, y, self.blocks(a), self.dtype)
        return y

    def blocks(self, x):
        """How an activation lies."""
        return Blocks(*x.shape, self.torch.cubes_per_sip, self.torch.pes_per_cube)


@bench("transformer-block", "Attention and MLP of one transformer block, tensor-parallel over the SIPs")
def run(torch, *, tokens=8, hidden=128, heads=8, mlp=256, dtype="f16"):
    """Heads, and the inner features of the MLP, over the SIPs.

    Parameters:
        tokens: tokens
        hidden: elements of an activation
        heads: heads; a multiple of the SIPs
        mlp: inner features of the MLP
        dtype: type of elements: f16, bf16 or f32
    """
    torch.distributed.init_process_group(backend="ahbm")
    ranks = torch.distributed.get_world_size()
    check(tokens, hidden, heads, mlp, ranks, torch.pes_per_cube)

    def worker(rank):
        torch.ahbm.set_device(rank)
        x = torch.randn((tokens, hidden), dtype, ACTIVATION, name=f"x{rank}", seed=7)
        block = Block(torch, hidden, heads, mlp, dtype)
        y = block(x)
        torch.expect(y, lambda: reference(x.initial(), block, heads), TOLERANCE[dtype])

    torch.multiprocessing.spawn(worker, nprocs=ranks)


TOLERANCE = {"f32": 1e-4, "f16": 2e-2, "bf16": 0.15}  # for what a chain of some ten roundings adds up to


def reference(x, block, heads):
    """The block in numpy, of whole weights."""
    wide = np.float64
    x = x.astype(wide)
    queries, keys, values = (by_head(normal(x) @ p.whole_weight.astype(wide), heads) for p in block.projections)
    scores = queries @ keys.swapaxes(1, 2) / np.sqrt(queries.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    attended = (weights / weights.sum(axis=-1, keepdims=True)) @ values
    h = x + attended.swapaxes(0, 1).reshape(x.shape) @ block.out.whole_weight.astype(wide)
    inner = normal(h) @ block.up.whole_weight.astype(wide)
    return h + (inner / (1 + np.exp(-inner))) @ block.down.whole_weight.astype(wide)


def by_head(x, heads):
    """(tokens, features) → (heads, tokens, features of a head)."""
    return x.reshape(len(x), heads, -1).swapaxes(0, 1)


def normal(x):
    """Each token over the root of its mean square."""
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPS)
