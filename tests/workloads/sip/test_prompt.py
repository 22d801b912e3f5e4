"""Prefill of small networks equals numpy, and one program of all layers takes the time of its parts."""

from __future__ import annotations

from typing import Any

import pytest

from kernbench.workloads.architecture import Architecture
from kernbench.workloads.config_json import read_config
from kernbench.workloads.step import Step, Types, make_step
from tests.workloads.configs import decoder
from tests.workloads.sip.steps import time_step
from tests.workloads.sip.test_program import NETWORKS, find_mismatches, read


def step_of(network: Architecture, batch: int, prompt: int, dtype: str, **others: Any) -> Step:
    types = Types(dtype, dtype, dtype)
    sizes: dict[str, Any] = {"phase": "prefill", "batch": batch, "prompt": prompt, "context": 1, "chunk": 1, **others}
    return make_step(network, types=types, **sizes)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("batch", "prompt", "dtype"), [(1, 1, "f32"), (1, 33, "f32"), (3, 7, "f32"), (2, 17, "f16")])
def test_the_logits_behind_prompts_equal_those_of_numpy(name, batch, prompt, dtype):
    network = read(name)
    assert find_mismatches(network, step_of(network, batch, prompt, dtype)) == ()


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(
    ("chunk", "prompt", "dtype"), [(1, 1, "f32"), (7, 33, "f32"), (33, 40, "f32"), (16, 16, "f16")]
)
def test_the_logits_of_a_chunk_beside_decode_equal_those_of_numpy(name, chunk, prompt, dtype):
    network = read(name)
    step = step_of(network, 3, prompt, dtype, phase="chunked", chunk=chunk, context=9)
    assert find_mismatches(network, step) == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "gpt2", "gpt_neox", "gemma2"])
def test_ranks_of_tensor_parallelism_give_the_same_logits(name):
    network = read(name)
    assert find_mismatches(network, step_of(network, 3, 7, "f32", tensor=2), "sip_2x4x4") == ()


@pytest.mark.parametrize(("tensor", "machine"), [(1, "tiny"), pytest.param(2, "sip_2x4x4", marks=pytest.mark.slow)])
def test_one_program_of_all_layers_takes_the_time_of_its_parts_to_the_femtosecond(tensor, machine):
    network = read_config(decoder("llama", "64/4/4/2/16/128/256"), "config.json", "llama")
    step = step_of(network, 2, 33, "f16", tensor=tensor)
    whole = time_step(network, step, machine, {})
    parts = time_step(network, step, machine, {}, every_layer=False)
    assert whole.of("embedding") + whole.of("output") == parts.of("embedding") + parts.of("output")
    for layer in range(4):
        assert whole.of(f"layer {layer}") == parts.of("layer 0")
