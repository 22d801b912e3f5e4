from __future__ import annotations

from typing import Any

import pytest

from kernbench.workloads.config_json import read_config
from kernbench.workloads.operators import list_operators, sum_least
from kernbench.workloads.step import Types, make_step
from kernbench.workloads.totals import count_active, count_cached, count_parameters, expect_experts
from tests.workloads.configs import CONFIGS, TOTALS


def read(name: str) -> Any:
    return read_config(CONFIGS[name], "config.json", name)


@pytest.mark.parametrize(("name", "config", "total", "active"), TOTALS, ids=[row[0] for row in TOTALS])
def test_parameters_are_those_of_the_published_model_to_the_last(name, config, total, active):
    network = read_config(config, "config.json", name)
    assert count_parameters(network) == total
    assert count_active(network) == (active or total)
    assert network.not_modelled == ()


@pytest.mark.parametrize(
    ("name", "elements"),
    [
        ("Llama-3.1-8B", 65_536),
        ("Llama-3.1-70B", 163_840),
        ("Llama-2-7B", 262_144),
        ("Qwen3-30B-A3B", 49_152),
        ("GPT-3", 2_359_296),
        ("DeepSeek-V3", 35_136),
        ("BERT-base", 0),
    ],
)
def test_the_cache_of_a_token(name, elements):
    assert count_cached(read(name), 1) == elements


def test_layers_with_a_window_keep_no_more_than_it():
    assert count_cached(read("Gemma-3-1B"), 8192) == 22_544_384


@pytest.mark.parametrize(
    ("name", "elements"), [("Llama-3.1-8B", 7_504_924_672), ("DeepSeek-V3", 36_625_618_432), ("GPT-2", 123_653_376)]
)
def test_a_step_reads_the_output_matrix_though_it_is_tied_and_no_table(name, elements):
    network = read(name)
    f16 = Types("f16", "f16", "f16")
    step = make_step(network, phase="decode", batch=1, prompt=1, context=1, chunk=1, types=f16)
    assert sum_least(list_operators(network, step)).weight_bytes == 2 * elements


@pytest.mark.parametrize(
    ("sizes", "distinct"),
    [((8, 2, 1), 2), ((8, 2, 4), 5.47), ((8, 2, 16), 7.92), ((128, 8, 8), 51.6), ((128, 8, 64), 125.9)],
)
def test_distinct_experts_of_a_step(sizes, distinct):
    assert expect_experts(*sizes) == pytest.approx(distinct, rel=1e-3)
