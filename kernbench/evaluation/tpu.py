"""The evaluation of a systolic machine: layers of Llama-3.1-8B against times measured on one TPU v6e chip.

`tpu.csv` has times of layers in bf16: casys-kaist/LLMServingSim, `profiler/v0/perf_models/TPU-v6e-1/meta-llama/Llama-3.1-8B/
tp1/layers.csv` and `attention.csv`, commit 5daddb2 (MIT, (c) 2024 CASYS Lab at KAIST), a half of the rows of products and some
of those of attention, medians. `tokens` are new ones of each of `users`, behind `cached` ones. `mlp` is the sum of the rows
of gate, up and down, whose names the profiler gives to one or the other, and `lm_head` the product with the vocabulary.
The row of `lm_head` at 1 token is half of what its bytes take and is left out, as are those of q and o, which mean different
products in different rows.

A layer is run product by product with `matmul-composite`: activations come from HBM first, tiles of weights while others are
multiplied. Attention is run with `attention-unfused`, for the measured library has no fused kernel: each head of queries reads
its keys and values by itself, and all scores pass through memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, suggest
from kernbench.evaluation.measure import OnRow, measure
from kernbench.evaluation.measured import find_errors

if TYPE_CHECKING:
    import polars

    from kernbench.runs.result import RunResult

PRODUCT, ATTENTION = "matmul-composite", "attention-unfused"  # benches
FILE = Path(__file__).with_suffix(".csv")
HIDDEN, INNER, VOCABULARY = 4096, 14336, 128256  # meta-llama/Llama-3.1-8B, config.json
HEADS, KEY_HEADS, HEAD_SIZE = 32, 8, 128
PRODUCTS = {
    "mlp": ((HIDDEN, INNER), (HIDDEN, INNER), (INNER, HIDDEN)),  # K and N of gate, up and down
    "lm_head": ((HIDDEN, VOCABULARY),),
}
LAYERS = (*PRODUCTS, "attention_prefill", "attention_decode")

# The columns of the table, with their types.
COLUMNS: dict[str, type] = {
    "topology": str,
    "layer": str,
    "tokens": int,
    "users": int,
    "cached": int,
    "simulated_ns": float,
    "measured_ns": int,
    "error": float,  # of the simulated time, over the measured one
    "achieved_tflops": float,
    "bottleneck": str,  # of the longest product
    "verified": bool,  # null when not asked
}

POINT = ("topology", "layer", "tokens", "users", "cached")  # which run a row is of


def read_measured() -> list[dict[str, Any]]:
    """The measured layers, in the order of the file."""
    import polars

    return polars.read_csv(FILE).to_dicts()


def evaluate_tpu(
    topology: str | Path,
    *,
    layers: Sequence[str] = LAYERS,
    tokens: Sequence[int] | None = None,
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    verify: bool = False,
    on_row: OnRow = lambda _row: None,
) -> polars.DataFrame:
    """Run the measured layers; a row each, with the columns of `COLUMNS`. Times are ns on the device, without the host.

    `layers` are some of `LAYERS`, and `tokens` some of those that were measured (None: all). `overrides` are fields of the
    topology. `on_row` is called with each row. Errors: InputError for a layer or tokens that nobody measured; those of the
    runs; RunError when a check of the numbers fails.
    """
    import polars

    for layer in layers:
        if layer not in LAYERS:
            raise InputError(f"there is no measured layer {layer!r}{suggest(layer, LAYERS)}")
    chosen = [one for one in read_measured() if one["layer"] in layers and (tokens is None or one["tokens"] in tokens)]
    if not chosen:
        raise InputError(
            "no layer was measured with these tokens; give multiples of 16 up to 2048, or leave tokens out"
        )
    rows = list[dict[str, Any]]()
    for one in chosen:
        runs = _list_runs(one)
        results = [measure(bench, topology, given, overrides, mode, verify) for bench, given in runs]
        rows.append(_row(one, results))
        on_row(rows[-1])
    return polars.DataFrame(rows, schema=COLUMNS)


def _list_runs(one: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The benches of a measured row with their parameters."""
    if one["layer"] not in PRODUCTS:
        sizes = {"heads": HEADS, "kv_heads": KEY_HEADS, "head_dim": HEAD_SIZE, "dtype": "bf16"}
        return [(ATTENTION, {**{name: one[name] for name in ("users", "tokens", "cached")}, **sizes})]
    given = {"M": one["tokens"], "dtype": "bf16", "variant": "load_ref"}
    return [(PRODUCT, {**given, "K": k, "N": n}) for k, n in PRODUCTS[one["layer"]]]


def _count_flop(one: Mapping[str, Any]) -> int:
    """Of the whole rectangle of scores, which the library computes."""
    new = one["users"] * one["tokens"]
    if one["layer"] in PRODUCTS:
        return sum(2 * new * k * n for k, n in PRODUCTS[one["layer"]])
    return 4 * HEADS * HEAD_SIZE * new * (one["cached"] + one["tokens"])


def _row(one: Mapping[str, Any], results: Sequence[RunResult]) -> dict[str, Any]:
    simulated = sum(result.pe_exec_ns for result in results)
    flop = _count_flop(one)
    return {
        **one,
        "topology": results[0].topology,
        "simulated_ns": simulated,
        "error": simulated / one["measured_ns"] - 1,
        "achieved_tflops": flop / simulated / 1e3,
        "bottleneck": max(results, key=lambda result: result.pe_exec_ns).bottleneck,
        "verified": results[0].verified and all(result.verified for result in results),
    }


def summarise(table: polars.DataFrame) -> str:
    """The errors of a table, a line for each layer."""
    lines = [
        f"{name}, {find_errors(own['simulated_ns'].to_list(), own['measured_ns'].to_list())}"
        for (name,), own in table.group_by("layer", maintain_order=True)
    ]
    return "\n".join(lines)
