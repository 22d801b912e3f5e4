"""Mixtures of experts in decode equal those of an independent network, with the experts that its own routers choose."""

from __future__ import annotations

import pytest

from kernbench.workloads.config_json import read_config
from kernbench.workloads.step import Types, make_step
from tests.workloads.configs import decoder
from tests.workloads.sip.steps import step_of, time_step
from tests.workloads.sip.test_program import find_mismatches

SIZES = "64/2/4/2/16/128/256"
QWEN = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
NETWORKS = {
    "mixtral": decoder("mixtral", SIZES, num_local_experts=4, num_experts_per_tok=2),
    "qwen3_moe": decoder("qwen3_moe", SIZES, **QWEN, norm_topk_prob=True, mlp_only_layers=[0]),
    "not normalised": decoder("qwen3_moe", SIZES, **{**QWEN, "moe_intermediate_size": 31}, norm_topk_prob=False),
    "qwen2_moe": decoder("qwen2_moe", SIZES, **QWEN, shared_expert_intermediate_size=40),
}


def read(name):
    return read_config(NETWORKS[name], "config.json", name)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("batch", "dtype"), [(1, "f32"), (5, "f32"), (5, "f16")])
def test_the_logits_of_a_small_mixture_equal_those_of_numpy(name, batch, dtype):
    network = read(name)
    assert find_mismatches(network, step_of(network, batch, 9, dtype)) == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixtral", "qwen2_moe"])
def test_ranks_that_share_the_inner_features_of_experts_give_the_same_logits(name):
    network = read(name)
    assert find_mismatches(network, step_of(network, 3, 9, "f32", 2), "sip_2x4x4") == ()


@pytest.mark.parametrize("name", ["mixtral", "qwen2_moe"])
@pytest.mark.parametrize(("ranks", "batch"), [(2, 2), (2, 6)])
def test_ranks_that_share_experts_give_the_same_logits(name, ranks, batch):
    network = read(name)
    assert find_mismatches(network, sent_step(network, ranks, batch)) == ()


def sent_step(network, ranks, batch):
    sizes = {"batch": batch, "prompt": 1, "context": 9, "chunk": 1, "expert_ranks": ranks}
    return make_step(network, phase="decode", types=Types("f32", "f32", "f32"), **sizes)


@pytest.mark.parametrize("ranks", [2, 4])
def test_layers_whose_experts_ranks_share_are_alike(ranks):
    network = read_config(NETWORKS["mixtral"], "config.json", "mixtral")
    step = sent_step(network, ranks, 4)
    fields = {"sips.count": ranks}
    whole, parts = (time_step(network, step, "tiny", fields, every_layer=every) for every in (True, False))
    assert whole.of("layer 0") == whole.of("layer 1") == parts.of("layer 0")
    assert whole.quiet


def test_one_program_of_all_layers_takes_the_time_of_its_parts():
    network = read("qwen2_moe")
    step = step_of(network, 3, 9, "f16")
    whole, parts = (time_step(network, step, "tiny", {}, every_layer=every) for every in (True, False))
    assert whole.of("layer 0") == whole.of("layer 1") == parts.of("layer 0")
    assert whole.of("output") == parts.of("output")
