"""A small BERT and a small ViT equal numpy from their first input to their last output."""

from __future__ import annotations

import pytest

from kernbench.workloads.architecture import Architecture
from kernbench.workloads.config_json import read_config
from tests.workloads.configs import VIT, bert
from tests.workloads.sip.steps import time_step
from tests.workloads.sip.test_program import find_mismatches
from tests.workloads.sip.test_prompt import step_of

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
IMAGE = {"image_size": 16, "patch_size": 4, "num_labels": 10}
NETWORKS = {"bert": {**bert(64, 2, 4), **SMALL, "vocab_size": 200}, "vit": {**VIT, **SMALL, **IMAGE}}


def read(name: str) -> Architecture:
    return read_config(NETWORKS[name], "config.json", name)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("batch", "prompt", "dtype"), [(1, 1, "f32"), (1, 33, "f32"), (3, 7, "f32"), (2, 17, "f16")])
def test_a_small_encoder_equals_numpy(name, batch, prompt, dtype):
    network = read(name)
    assert find_mismatches(network, step_of(network, batch, prompt, dtype)) == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_ranks_of_tensor_parallelism_give_the_same(name):
    network = read(name)
    assert find_mismatches(network, step_of(network, 3, 7, "f32", tensor=2), "sip_2x4x4") == ()


@pytest.mark.parametrize("name", NETWORKS)
def test_one_program_of_all_layers_takes_the_time_of_its_parts_to_the_femtosecond(name):
    network = read(name)
    step = step_of(network, 2, 33, "f16")
    whole = time_step(network, step, "tiny", {})
    parts = time_step(network, step, "tiny", {}, every_layer=False)
    assert whole.of("embedding") + whole.of("output") == parts.of("embedding") + parts.of("output")
    for layer in range(2):
        assert whole.of(f"layer {layer}") == parts.of("layer 0")
