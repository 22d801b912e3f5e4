"""Layers of Llama-3.1-8B on the systolic machine against measured times."""

from __future__ import annotations

import polars
import pytest

from kernbench.errors import InputError
from kernbench.evaluation.measured import find_errors
from kernbench.evaluation.tpu import COLUMNS, KEY_HEADS, LAYERS, PRODUCTS, evaluate_tpu, read_measured, summarise
from kernbench.machine import load_machine

TOKENS = [2, 16, 128, 384, 512, 768, 1024, 1408, 2048]


@pytest.fixture(scope="module")
def some() -> polars.DataFrame:
    return evaluate_tpu("tpu_v6e", layers=list(PRODUCTS), tokens=TOKENS)


@pytest.fixture(scope="module")
def attention() -> polars.DataFrame:
    return evaluate_tpu("tpu_v6e", layers=["attention_decode", "attention_prefill"], tokens=[1, 128, 512, 1024])


def test_measured_rows_are_what_can_be() -> None:
    """Weights, keys and values cannot come quicker than HBM brings them."""
    rows = read_measured()
    assert {row["layer"] for row in rows} == set(LAYERS)
    for row in rows:
        cache = 2 * row["users"] * (row["cached"] + row["tokens"]) * KEY_HEADS * 128
        read = sum(k * n for k, n in PRODUCTS[row["layer"]]) if row["layer"] in PRODUCTS else cache
        assert row["measured_ns"] > 0.99 * 2 * read / 1638


def test_layers_take_as_long_as_measured(some: polars.DataFrame) -> None:
    assert some.schema == polars.Schema(COLUMNS)
    assert some["tokens"].unique().sort().to_list() == TOKENS
    for layer in PRODUCTS:
        own = some.filter(polars.col("layer") == layer)
        found = find_errors(own["simulated_ns"].to_list(), own["measured_ns"].to_list())
        assert found.mean < 0.15
        assert found.ordered > 0.95
    assert [line.split(",")[0] for line in summarise(some).splitlines()] == ["lm_head", "mlp"]


def test_few_tokens_take_as_long_as_the_weights_need(some: polars.DataFrame) -> None:
    (row,) = some.filter((polars.col("layer") == "mlp") & (polars.col("tokens") == 2)).to_dicts()
    weights = 2 * sum(k * n for k, n in PRODUCTS["mlp"])
    assert row["simulated_ns"] == pytest.approx(weights / 1638, rel=0.02)
    assert row["bottleneck"].startswith("hbm_ctrl channels")


def test_many_tokens_take_as_long_as_rows_and_loads_of_weights(some: polars.DataFrame) -> None:
    """A part takes a cycle for each token and for each row of its weights; the first activations come before."""
    (row,) = some.filter((polars.col("layer") == "lm_head") & (polars.col("tokens") == 2048)).to_dicts()
    figures = load_machine("tpu_v6e").figures
    parts = 4096 // 256 * 128256 // 256 / figures["pe_gemm.arrays"]
    least = parts * (2048 + 256) / figures["pe_gemm.clock_ghz"] + 2 * 2048 * 4096 / 1638
    assert row["simulated_ns"] == pytest.approx(least, rel=0.01)
    assert row["bottleneck"] == "gemm"


def test_the_peak_is_the_published_one() -> None:
    figures = load_machine("tpu_v6e").figures
    cells = figures["pe_gemm.arrays"] * figures["pe_gemm.rows"] * figures["pe_gemm.columns"]
    assert 2 * cells * figures["pe_gemm.clock_ghz"] / 1e3 == pytest.approx(918, rel=1e-3)
    assert figures["hbm.channels"] * figures["hbm.channel_gbs"] == 1638


def test_attention_without_a_fused_kernel_takes_its_times_in_order(attention: polars.DataFrame) -> None:
    for layer in ("attention_decode", "attention_prefill"):
        own = attention.filter(polars.col("layer") == layer)
        assert find_errors(own["simulated_ns"].to_list(), own["measured_ns"].to_list()).ordered > 0.9


def test_each_head_of_queries_reads_keys_and_values_by_itself(attention: polars.DataFrame) -> None:
    (row,) = attention.filter((polars.col("users") == 64) & (polars.col("cached") == 1024)).to_dicts()
    least = 64 * 1025 * 2 * 32 * 128 * 2 / 1638
    assert row["simulated_ns"] > least


def test_numbers_of_a_layer_are_checked() -> None:
    found = evaluate_tpu("tpu_v6e", layers=["mlp"], tokens=[2], verify=True)
    assert found["verified"].to_list() == [True]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"layers": ["mpl"]},
            "there is no measured layer 'mpl'; did you mean 'mlp'? Known: attention_decode, "
            "attention_prefill, lm_head, mlp",
        ),
        (
            {"tokens": [9000]},
            "no layer was measured with these tokens; give multiples of 16 up to 2048, or leave tokens out",
        ),
    ],
)
def test_what_was_not_measured(settings: dict[str, object], told: str) -> None:
    with pytest.raises(InputError) as raised:
        evaluate_tpu("tpu_v6e", **settings)  # pyright: ignore[reportArgumentType]
    assert str(raised.value) == told
