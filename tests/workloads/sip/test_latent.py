"""Latent attention in its absorbed form equals an independent network that makes keys and values of all heads."""

from __future__ import annotations

import pytest

from kernbench.workloads.config_json import read_config
from tests.workloads.configs import decoder, deepseek
from tests.workloads.sip.steps import step_of, time_step
from tests.workloads.sip.test_program import find_mismatches

LATENT = {
    "kv_lora_rank": 24,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 12,
    "first_k_dense_replace": 1,
}
GROUPS = {"n_group": 4, "topk_group": 2}
NETWORKS = {
    "v2 without compressed queries": decoder(
        "deepseek_v2", "64/2/4/4/24/96/256", **LATENT, **deepseek(8, 2, 16, 3), routed_scaling_factor=2.0
    ),
    "v2": decoder("deepseek_v2", "64/2/4/4/24/96/256", **LATENT, **deepseek(8, 1, 16, 3), q_lora_rank=20, **GROUPS),
    "v3": decoder(
        "deepseek_v3",
        "64/2/4/4/24/96/256",
        **LATENT,
        **deepseek(16, 1, 16, 3),
        q_lora_rank=40,
        **GROUPS,
        routed_scaling_factor=2.5,
    ),
}


def read(name):
    return read_config(NETWORKS[name], "config.json", name)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("batch", "context", "dtype"), [(1, 40, "f32"), (3, 9, "f32"), (6, 11, "f32"), (3, 9, "f16")])
def test_the_logits_of_a_small_network_equal_those_of_numpy(name, batch, context, dtype):
    network = read(name)
    assert find_mismatches(network, step_of(network, batch, context, dtype)) == ()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "batch"), [("v3", 3), ("v2 without compressed queries", 17)])
def test_it_holds_on_many_cubes_and_where_ranks_share_heads(name, batch):
    network = read(name)
    assert find_mismatches(network, step_of(network, batch, 40, "f32", 2), "sip_2x4x4") == ()


def test_one_program_of_all_layers_takes_the_time_of_its_parts():
    network = read_config({**NETWORKS["v3"], "num_hidden_layers": 4}, "config.json", "v3")
    step = step_of(network, 3, 9, "f16")
    whole, parts = (time_step(network, step, "tiny", {}, every_layer=every) for every in (True, False))
    assert whole.of("layer 0") == parts.of("layer 0")
    assert whole.of("layer 1") == whole.of("layer 2") == whole.of("layer 3") == parts.of("layer 1")
