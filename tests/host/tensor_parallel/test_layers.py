"""Layers whose weights the ranks share: the numbers of the whole layer, for any number of ranks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kernbench import (
    ColumnParallelLinear,
    RowParallelLinear,
    RunResult,
    VocabParallelEmbedding,
    bench,
    copy_to_tp_region,
    gather_from_tp_region,
    reduce_from_tp_region,
    run,
    scatter_to_tp_region,
)
from kernbench.errors import InputError
from kernbench.host.tensor_parallel.blocks import ACTIVATION, Blocks

TOKENS, WIDTH, INNER = 5, 12, 24


def on_ranks(worker: Callable[..., object], sips: int = 3, verify: bool = True) -> RunResult:
    @bench("parallel", "For a test")
    def parallel(torch) -> None:
        torch.distributed.init_process_group(backend="ahbm")
        torch.multiprocessing.spawn(worker, args=(torch,), nprocs=sips)

    return run(parallel, "tiny", overrides={"sips.count": sips}, verify=verify)


def right(worker: Callable[..., object], sips: int) -> bool:
    result = on_ranks(worker, sips)
    return (result.verified, result.mismatches) == (True, ())


def activation(torch, width: int = WIDTH):
    """An activation that is the same in every rank."""
    return torch.randn((TOKENS, width), "f32", ACTIVATION, name="x", seed=1)


@pytest.mark.parametrize("sips", [1, 2, 3])
@pytest.mark.parametrize("gather", [True, False])
def test_columns_over_the_ranks(sips: int, gather: bool) -> None:
    def worker(rank: int, torch) -> None:
        x = activation(torch)
        layer = ColumnParallelLinear(torch, WIDTH, INNER, bias=True, gather_output=gather, dtype="f32", seed=2)
        y, share = layer(x), INNER // sips
        assert y.shape == (TOKENS, INNER if gather else share)
        own = slice(None) if gather else slice(rank * share, (rank + 1) * share)
        torch.expect(y, lambda: (x.initial() @ layer.whole_weight + layer.whole_bias)[:, own])

    assert right(worker, sips)


@pytest.mark.parametrize("sips", [1, 2, 3])
def test_rows_over_the_ranks(sips: int) -> None:
    def worker(rank: int, torch) -> None:
        x = activation(torch)
        layer = RowParallelLinear(torch, WIDTH, 7, bias=True, dtype="f32", seed=3)
        torch.expect(layer(x), lambda: x.initial() @ layer.whole_weight + layer.whole_bias)

    assert right(worker, sips)


def test_a_column_then_a_row_layer_with_nothing_between() -> None:
    def worker(rank: int, torch) -> None:
        x = activation(torch)
        up = ColumnParallelLinear(torch, WIDTH, INNER, gather_output=False, activation="silu", dtype="f32", seed=4)
        down = RowParallelLinear(torch, INNER, WIDTH, input_is_parallel=True, dtype="f32", seed=5)

        def reference() -> np.ndarray:
            inner = x.initial() @ up.whole_weight
            return (inner / (1 + np.exp(-inner))) @ down.whole_weight

        torch.expect(down(up(x)), reference)

    result = on_ranks(worker)
    assert result.verified
    assert [one["collective"] for one in result.collectives] == ["all_reduce"]


@pytest.mark.parametrize("sips", [1, 2, 3])
def test_rows_of_a_table(sips: int) -> None:
    ids = [3, 0, 11, 5, 5]

    def worker(rank: int, torch) -> None:
        layer = VocabParallelEmbedding(torch, 12, 10, dtype="f32", seed=6)
        torch.expect(layer(ids), layer.whole_weight[ids], 0)

    assert right(worker, sips)


def test_regions() -> None:
    def worker(rank: int, torch) -> None:
        x = activation(torch)
        assert copy_to_tp_region(x) is x
        own = scatter_to_tp_region(x)
        torch.expect(own, lambda: x.initial()[:, 4 * rank : 4 * rank + 4], 0)
        torch.expect(gather_from_tp_region(own), x.initial, 0)
        other = activation(torch)
        assert reduce_from_tp_region(other) is other
        torch.expect(other, lambda: 3 * other.initial())

    assert right(worker, 3)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda torch: ColumnParallelLinear(torch, 8, 7),
            "ColumnParallelLinear got in_features=8, out_features=7 for 2 ranks; make out_features a multiple of the ranks",
        ),
        (
            lambda torch: RowParallelLinear(torch, 7, 8),
            "RowParallelLinear got in_features=7, out_features=8 for 2 ranks; make in_features a multiple of the ranks",
        ),
        (
            lambda torch: ColumnParallelLinear(torch, 8, 8, activation="gelu"),
            "ColumnParallelLinear got activation='gelu'; known: silu, or none",
        ),
        (
            lambda torch: VocabParallelEmbedding(torch, 9, 8),
            "VocabParallelEmbedding got num_embeddings=9, embedding_dim=8 for 2 ranks; "
            "make num_embeddings a multiple of the ranks",
        ),
        (
            lambda torch: VocabParallelEmbedding(torch, 8, 8)([1, 8]),
            "VocabParallelEmbedding got row 8; rows are 0 to 7",
        ),
        (
            lambda torch: VocabParallelEmbedding(torch, 8, 8)([0.5]),
            "VocabParallelEmbedding got [0.5]; give the row numbers of the tokens, one after the other",
        ),
        (
            lambda torch: ColumnParallelLinear(torch, 8, 8)(torch.ones((4, 8), name="x")),
            "ColumnParallelLinear got tensor 'x' of shape (4, 8) laid out as DPPolicy(cube='replicate', pe='replicate', "
            "num_pes=None, num_cubes=None); give (tokens, 8) laid out as DPPolicy(cube='row_wise', pe='column_wise', "
            "num_pes=None, num_cubes=None)",
        ),
        (
            lambda torch: scatter_to_tp_region(torch.ones((4, 7), dp=ACTIVATION, name="x")),
            "scatter_to_tp_region got tensor 'x' with 7 columns for 2 ranks; make them a multiple of the ranks",
        ),
    ],
)
def test_what_cannot_be(make: Callable, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        on_ranks(lambda rank, torch: make(torch), 2, verify=False)
    assert str(error.value) == f"rank 0: {sentence}"


def test_blocks_find_every_element() -> None:
    blocks = Blocks(tokens=7, features=9, cubes=3, pes=2)
    places = {blocks.find(token, feature)[0] for token in range(7) for feature in range(9)}
    assert places == set(range(63))
    assert blocks.find(0, 0) == (0, 5)
    assert blocks.find(6, 8) == (62, 1)
