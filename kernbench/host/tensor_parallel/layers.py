"""Layers whose weights are split over ranks. Each rank makes the layer and calls it with its own activation.

Each rank draws the whole weights from the same seed and keeps its part on its SIP. `whole_weight` has all of it, for
references.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernbench.dtypes import numpy_dtype
from kernbench.errors import InputError
from kernbench.host.tensor_parallel.blocks import ACTIVATION, WEIGHT
from kernbench.host.tensor_parallel.kernels import add_bias, embed, linear
from kernbench.host.tensor_parallel.regions import (
    blocks_of,
    copy_to_tp_region,
    gather_from_tp_region,
    reduce_from_tp_region,
    scatter_to_tp_region,
)

if TYPE_CHECKING:
    from kernbench.host.torch.context import RuntimeContext
    from kernbench.host.torch.tensor import Tensor

ACTIVATIONS = ("", "silu")


class _Linear:
    """Base of both linear layers: the weight of this rank, and its product with an activation."""

    def __init__(
        self,
        torch: RuntimeContext,
        in_features: int,
        out_features: int,
        bias: bool,
        dtype: str,
        seed: int,
        split: int,
        activation: str = "",
    ) -> None:
        name = type(self).__name__
        world, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
        sizes = (in_features, out_features)
        if min(sizes) < 1 or sizes[split] % world:
            raise InputError(
                f"{name} got in_features={in_features}, out_features={out_features} for {world} ranks; "
                f"make {('in_features', 'out_features')[split]} a multiple of the ranks"
            )
        if activation not in ACTIVATIONS:
            raise InputError(f"{name} got activation={activation!r}; known: silu, or none")
        self._torch, self._dtype, self._activation = torch, dtype, activation
        self.whole_weight = draw((in_features, out_features), in_features**-0.5, dtype, (seed, 0))
        self.whole_bias = draw((out_features,), 1.0, dtype, (seed, 1)) if bias else None
        share = sizes[split] // world
        mine = [slice(None), slice(None)]
        mine[split] = slice(rank * share, (rank + 1) * share)
        self.weight = torch.from_numpy(self.whole_weight[tuple(mine)], WEIGHT, name=f"{name}{seed}.weight")
        self.bias: Tensor | None = None
        if self.whole_bias is not None:
            own = self.whole_bias[mine[1]]
            self.bias = torch.from_numpy(own[None, :], WEIGHT, name=f"{name}{seed}.bias")

    def _multiply(self, x: Tensor, bias: Tensor | None) -> Tensor:
        torch, (features, out_features) = self._torch, self.weight.shape
        _check_input(type(self).__name__, x, features)
        y = torch.empty((x.shape[0], out_features), self._dtype, ACTIVATION, name=f"{self.weight.name}/out")
        blocks = blocks_of(torch, x.shape[0], features), blocks_of(torch, x.shape[0], out_features)
        settings = (*blocks, self._dtype, self._activation)
        torch.launch("linear", linear, x, self.weight, 0 if bias is None else bias, y, *settings)
        return y


class ColumnParallelLinear(_Linear):
    """y = x @ w (+ bias), the columns of w split over the ranks: each rank computes its columns of y from all of x.

    With `gather_output` all ranks get all columns; without, each keeps its own, as the input of a RowParallelLinear.
    Errors: InputError for out_features that are not a multiple of the ranks, or an x of another width.
    """

    def __init__(
        self,
        torch: RuntimeContext,
        in_features: int,
        out_features: int,
        *,
        bias: bool = False,
        gather_output: bool = True,
        activation: str = "",
        dtype: str = "f16",
        seed: int = 0,
    ) -> None:
        super().__init__(torch, in_features, out_features, bias, dtype, seed, 1, activation)
        self._gather_output = gather_output

    def __call__(self, x: Tensor) -> Tensor:
        """(tokens, in_features) → (tokens, out_features), or this rank's columns of it."""
        y = self._multiply(copy_to_tp_region(x), self.bias)
        return gather_from_tp_region(y) if self._gather_output else y


class RowParallelLinear(_Linear):
    """y = x @ w (+ bias), the rows of w split over the ranks: each rank multiplies its columns of x, and y is the sum.

    With `input_is_parallel` x has the columns of this rank; without, x is whole and each rank takes its columns.
    Errors: InputError for in_features that are not a multiple of the ranks, or an x of another width.
    """

    def __init__(
        self,
        torch: RuntimeContext,
        in_features: int,
        out_features: int,
        *,
        bias: bool = False,
        input_is_parallel: bool = False,
        dtype: str = "f16",
        seed: int = 0,
    ) -> None:
        super().__init__(torch, in_features, out_features, bias, dtype, seed, 0)
        self._input_is_parallel = input_is_parallel

    def __call__(self, x: Tensor) -> Tensor:
        """(tokens, in_features), or this rank's columns of it, → (tokens, out_features)."""
        y = self._multiply(x if self._input_is_parallel else scatter_to_tp_region(x), None)
        reduce_from_tp_region(y)
        if self.bias is not None:
            blocks = blocks_of(self._torch, *y.shape)
            self._torch.launch("add_bias", add_bias, y, self.bias, blocks, self._dtype)
        return y


class VocabParallelEmbedding:
    """Rows of a table by number, the rows split over the ranks: each rank looks up its own rows, and the result is the sum.

    Errors: InputError for a vocabulary that is not a multiple of the ranks, or numbers outside of it.
    """

    def __init__(
        self, torch: RuntimeContext, num_embeddings: int, embedding_dim: int, *, dtype: str = "f16", seed: int = 0
    ) -> None:
        world, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
        if min(num_embeddings, embedding_dim) < 1 or num_embeddings % world:
            raise InputError(
                f"VocabParallelEmbedding got num_embeddings={num_embeddings}, embedding_dim={embedding_dim} for {world} "
                "ranks; make num_embeddings a multiple of the ranks"
            )
        self._torch, self._dtype = torch, dtype
        self._rows = num_embeddings // world
        self._first = rank * self._rows
        self.whole_weight = draw((num_embeddings, embedding_dim), 1.0, dtype, (seed, 0))
        own = self.whole_weight[self._first : self._first + self._rows]
        self.weight = torch.from_numpy(own, WEIGHT, name=f"VocabParallelEmbedding{seed}.weight")

    def __call__(self, ids: Sequence[int] | np.ndarray) -> Tensor:
        """Row numbers on the host, one for each token → (tokens, embedding_dim)."""
        torch, numbers = self._torch, np.asarray(ids)
        whole = len(self.whole_weight)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not len(numbers):
            raise InputError(
                f"VocabParallelEmbedding got {ids!r}; give the row numbers of the tokens, one after the other"
            )
        if numbers.min() < 0 or numbers.max() >= whole:
            raise InputError(
                f"VocabParallelEmbedding got row {numbers[(numbers < 0) | (numbers >= whole)][0]}; rows are 0 to {whole - 1}"
            )
        y = torch.empty((len(numbers), self.weight.shape[1]), self._dtype, ACTIVATION, name=f"{self.weight.name}/out")
        own = tuple(int(number) - self._first for number in numbers)
        torch.launch("embed", embed, self.weight, y, own, blocks_of(torch, *y.shape), self._rows, self._dtype)
        return reduce_from_tp_region(y)


def draw(shape: tuple[int, ...], scale: float, dtype: str, seed: tuple[int, ...]) -> np.ndarray:
    """Normal numbers with standard deviation `scale`, the same in each rank."""
    return (np.random.default_rng(seed).standard_normal(shape, np.float32) * np.float32(scale)).astype(
        numpy_dtype(dtype)
    )


def _check_input(layer: str, x: Tensor, features: int) -> None:
    if len(x.shape) != 2 or x.shape[1] != features or repr(x.layout.policy) != repr(ACTIVATION):
        raise InputError(
            f"{layer} got tensor {x.name!r} of shape {x.shape} laid out as {x.layout.policy!r}; "
            f"give (tokens, {features}) laid out as {ACTIVATION!r}"
        )
