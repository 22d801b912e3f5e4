"""Parameters of the stages of tiles."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench import DPPolicy, bench, run
from kernbench.oplog.tiles import Stage, describe_stages

READ, WRITE = Stage("dma_read", "memory", 0), Stage("dma_write", "memory", 0)
FETCH, STORE, GEMM = Stage("fetch", "memory", 0), Stage("store", "memory", 0), Stage("gemm", "gemm", 0)


def composite(m: int, k: int, n: int, tile: tuple[int, int, int], **changes: Any) -> dict[str, Any]:
    """A product of two streamed f16 matrices at 0 and 10,000, to 20,000."""
    a = {"space": "hbm", "address": 0, "shape": [m, k], "dtype": "f16"}
    b = {"space": "hbm", "address": 10_000, "shape": [k, n], "dtype": "f16"}
    out = {"space": "hbm", "address": 20_000, "shape": [m, n], "dtype": "f16"}
    params = {"op": "composite", "kind": "gemm", "inputs": [a, b], "out": out, "epilogue": [], "tile": list(tile)}
    return params | changes


def test_tiles_at_the_edges_are_as_small_as_they_are() -> None:
    params = composite(3, 5, 2, (2, 4, 2))
    first = [READ._replace(nbytes=16), READ._replace(nbytes=16), FETCH, GEMM]
    last_k = [READ._replace(nbytes=4), READ._replace(nbytes=4), FETCH, GEMM, STORE, WRITE._replace(nbytes=8)]
    second = [READ._replace(nbytes=8), READ._replace(nbytes=16), FETCH, GEMM]
    last = [READ._replace(nbytes=2), READ._replace(nbytes=4), FETCH, GEMM, STORE, WRITE._replace(nbytes=4)]
    found = list(describe_stages(params, [first, last_k, second, last]))
    assert [p["tile"] for p in found if "inputs" in p] == [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]]
    assert [(p["operand"], p["address"], p["shape"]) for p in found if "operand" in p] == [
        (0, 0, [2, 4]),
        (1, 10_000, [4, 2]),
        (0, 8, [2, 1]),
        (1, 10_016, [1, 2]),
        (0, 20, [1, 4]),
        (1, 10_000, [4, 2]),
        (0, 28, [1, 1]),
        (1, 10_016, [1, 2]),
    ]
    assert [(p["address"], p["nbytes"]) for p in found if p.get("address", 0) >= 20_000] == [(20_000, 8), (20_008, 4)]
    assert found[2] == {"op": "composite", "tile": [0, 0, 0], "nbytes": 32}


def test_a_tile_in_two_transfers() -> None:
    token = [READ._replace(nbytes=6), READ._replace(nbytes=10), READ._replace(nbytes=16), FETCH, GEMM]
    moves = list(describe_stages(composite(2, 4, 2, (2, 4, 2)), [token]))[:3]
    assert [(p["operand"], p["address"], p["nbytes"]) for p in moves] == [(0, 0, 6), (0, 6, 10), (1, 10_000, 16)]


def test_what_was_loaded_is_not_read_and_what_is_transposed_lies_the_other_way() -> None:
    params = composite(2, 8, 4, (2, 4, 2))
    params["inputs"] = [{**params["inputs"][0], "value": 1}, {**params["inputs"][1], "transposed": True}]
    tokens = [[READ._replace(nbytes=16), FETCH, GEMM]] * 4
    moves = [p for p in describe_stages(params, tokens) if "operand" in p]
    assert [(p["operand"], p["address"]) for p in moves] == [
        (1, 10_000 + 2 * (n * 8 + k)) for n in (0, 2) for k in (0, 4)
    ]


def test_what_an_earlier_token_read_is_not_read_again() -> None:
    def columns_first(m: int, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        order = np.array([[i, p, j] for j in range(n) for p in range(k) for i in range(m)])
        return order, np.array([[True, i == 0] for i, _, _ in order])

    both = [READ._replace(nbytes=16), READ._replace(nbytes=16), FETCH, GEMM, STORE]
    kept = [READ._replace(nbytes=16), FETCH, GEMM, STORE]
    alone = [Stage("kept", "control", 0), FETCH, GEMM, STORE]
    params = composite(4, 4, 2, (2, 4, 2))
    found = list(describe_stages(params, [both, kept], columns_first))
    assert [(p["operand"], p["address"]) for p in found if "operand" in p] == [(0, 0), (1, 10_000), (0, 16)]
    params["inputs"][0]["value"] = 1
    found = list(describe_stages(params, [both[1:], alone], columns_first))
    assert [(p["operand"], p["address"]) for p in found if "operand" in p] == [(1, 10_000)]
    assert found[4] == {"op": "composite", "tile": [1, 0, 0]}


def test_steps_come_scope_by_scope() -> None:
    steps = [{"op": op, "scope": scope, "operand": None} for op, scope in (("relu", "kernel"), ("scale", "k_tile"))]
    token = [FETCH, GEMM, Stage("scale", "math", 0)]
    found = list(
        describe_stages(composite(2, 8, 2, (2, 4, 2), epilogue=steps), [token, [*token, Stage("relu", "math", 0)]])
    )
    steps_found = [(p["function"], p["scope"], p["shape"]) for p in found if "scope" in p]
    assert steps_found == [("scale", "k_tile", [2, 2]), ("scale", "k_tile", [2, 2]), ("relu", "kernel", [2, 2])]


ONE = DPPolicy(num_cubes=1, num_pes=1)
DIMENSION = st.integers(1, 70)


def touched(rows: list[dict[str, Any]], base: int, elements: int) -> np.ndarray:
    """How often each first element of a transfer lies in a matrix of f16."""
    return np.bincount([(row["address"] - base) // 2 for row in rows], minlength=elements)


@pytest.mark.slow
@settings(max_examples=20)
@given(DIMENSION, DIMENSION, DIMENSION, st.booleans())
def test_of_any_composite_all_bytes_are_moved_from_within_the_operands(m: int, k: int, n: int, swapped: bool) -> None:
    def kernel(a, b, c, tl) -> None:
        right = tl.trans(tl.ref(b, (n, k))) if swapped else tl.ref(b, (k, n))
        tl.wait(tl.composite("gemm", tl.ref(a, (m, k)), right, c, tile_shape=(32, 16, 32)))

    def host(torch) -> None:
        tensors = [torch.zeros(size, dp=ONE) for size in ((m, k), (n, k) if swapped else (k, n), (m, n))]
        torch.launch("kernel", kernel, *tensors)

    log = run(bench("any", "x")(host), "tiny").op_log()
    rows = log.filter(pl.col("op_name").is_in(["dma_read", "dma_write"]))
    moves = [json.loads(text) for text in rows["params"]]
    assert [move["nbytes"] for move in moves] == rows["bytes"].to_list()
    (whole,) = (json.loads(text) for text in log.filter(pl.col("op_name") == "composite")["params"])
    for number, times in ((0, -(-n // 32)), (1, -(-m // 32))):
        of, parts = whole["inputs"][number], [move for move in moves if move.get("operand") == number]
        size = of["shape"][0] * of["shape"][1]
        assert sum(part["nbytes"] for part in parts) == 2 * size * times
        assert touched(parts, of["address"], size).max() == times  # each tile begins at an element of its own
    written = [move for move in moves if "operand" not in move]
    assert sum(move["nbytes"] for move in written) == 2 * m * n
    assert touched(written, whole["out"]["address"], m * n).max() == 1
