"""Tensor-parallel regions: the four operations on an activation where parallel work begins or ends, in the forward direction.

Each rank calls them with its own tensor, (tokens, features) laid out as `blocks.ACTIVATION`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.errors import InputError
from kernbench.host.tensor_parallel.blocks import ACTIVATION, Blocks
from kernbench.host.tensor_parallel.kernels import copy_columns

if TYPE_CHECKING:
    from kernbench.host.torch.context import RuntimeContext
    from kernbench.host.torch.tensor import Tensor


def copy_to_tp_region(x: Tensor) -> Tensor:
    """Enter with a tensor that all ranks have; returns it unchanged."""
    return x


def reduce_from_tp_region(x: Tensor) -> Tensor:
    """Leave with the sum over the ranks, in place."""
    x.context.distributed.all_reduce(x, over="ranks")
    return x


def scatter_to_tp_region(x: Tensor) -> Tensor:
    """Enter with the columns of this rank. Errors: InputError if the columns are not a multiple of the ranks."""
    torch, world, rank = _here(x)
    tokens, features = x.shape
    if features % world:
        raise InputError(
            f"scatter_to_tp_region got tensor {x.name!r} with {features} columns for {world} ranks; "
            "make them a multiple of the ranks"
        )
    share = features // world
    out = torch.empty((tokens, share), x.dtype, ACTIVATION, name=f"{x.name}/scattered")
    blocks = blocks_of(torch, tokens, features), blocks_of(torch, tokens, share)
    torch.launch("scatter_columns", copy_columns, (x,), out, *blocks, (-rank * share,), x.dtype)
    return out


def gather_from_tp_region(x: Tensor) -> Tensor:
    """Leave with the columns of all ranks, side by side in the order of the ranks."""
    torch, world, _ = _here(x)
    tokens, share = x.shape
    parts = [torch.empty(x.shape, x.dtype, ACTIVATION, name=f"{x.name}/of{rank}") for rank in range(world)]
    torch.distributed.all_gather(parts, x)
    out = torch.empty((tokens, share * world), x.dtype, ACTIVATION, name=f"{x.name}/gathered")
    blocks = blocks_of(torch, tokens, share), blocks_of(torch, tokens, share * world)
    starts = tuple(rank * share for rank in range(world))
    torch.launch("gather_columns", copy_columns, tuple(parts), out, *blocks, starts, x.dtype)
    return out


def blocks_of(torch: RuntimeContext, tokens: int, features: int) -> Blocks:
    """The blocks of an activation on the SIPs of a run."""
    return Blocks(tokens, features, torch.cubes_per_sip, torch.pes_per_cube)


def _here(x: Tensor) -> tuple[RuntimeContext, int, int]:
    torch = x.context
    return torch, torch.distributed.get_world_size(), torch.distributed.get_rank()
