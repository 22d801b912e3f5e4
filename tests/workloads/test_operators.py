"""Examples worked by hand: the least flops and bytes of steps, and what they take on a SIP of the default machine."""

from __future__ import annotations

from typing import Any

import pytest

from kernbench.errors import InputError
from kernbench.workloads.config_json import read_config
from kernbench.workloads.memory import check_memory, find_memory
from kernbench.workloads.operators import Operator, list_operators, sum_least
from kernbench.workloads.step import Sequences, Step, check_sips, make_step, read_types
from tests.workloads.configs import CONFIGS

FLOPS, BYTES = 1024e12, 32768e9  # a second, of a SIP of sip_2x4x4 in f16
SIP = 768 << 30


def read(name: str) -> Any:
    return read_config(CONFIGS[name], "config.json", name)


def step(name: str, phase: str, *, weights: str = "f16", **sizes: int) -> tuple[Any, Step]:
    network = read(name)
    given = {"batch": 1, "prompt": 2048, "context": 1024, "chunk": 512, **sizes}
    return network, make_step(network, phase=phase, types=read_types(network, weights, "f16", "f16"), **given)


def least(name: str, phase: str, **sizes: Any) -> Any:
    return sum_least(list_operators(*step(name, phase, **sizes)))


def by_name(name: str, **sizes: Any) -> dict[str, Operator]:
    return {one.name: one for one in list_operators(*step(name, "decode", **sizes))}


def test_example_1_the_projection_of_queries():
    q = by_name("Llama-3.1-8B")["q"]
    assert (q.flops, q.bytes) == (33_554_432, 33_554_432)
    assert q.bytes / BYTES == pytest.approx(1.024e-6)
    assert q.flops / FLOPS == pytest.approx(0.033e-6, rel=0.01)


def test_example_2_a_layer_and_the_ends():
    found = by_name("Llama-3.1-8B")
    layer = sum(one.bytes for one in found.values() if one.kind == "matrix" and one.times == 32)
    assert layer == 436_207_616
    assert found["lm_head"].bytes == 1_050_673_152
    assert found["attention"].bytes * 32 == 134_217_728


def test_example_3_decode_of_one_sequence():
    found = least("Llama-3.1-8B", "decode")
    assert (found.bytes, found.flops) == (15_144_067_072, 15_546_720_256)
    assert found.bytes / BYTES == pytest.approx(462.160e-6, rel=1e-5)


@pytest.mark.parametrize(
    ("batch", "moved", "flops", "bound_us"),
    [
        (16, 17_157_332_992, 248_747_524_096, 523.600),
        (64, 23_599_783_936, 994_990_096_384, 971.670),
        (256, 49_369_587_712, 3_979_960_385_536, 3_886.680),
    ],
)
def test_example_4_decode_is_bound_by_flops_from_42_sequences_on(batch, moved, flops, bound_us):
    found = least("Llama-3.1-8B", "decode", batch=batch)
    assert (found.bytes, found.flops) == (moved, flops)
    assert max(found.bytes / BYTES, found.flops / FLOPS) * 1e6 == pytest.approx(bound_us, rel=1e-5)


def test_example_5_prefill():
    assert least("Llama-3.1-8B", "prefill").flops == 29_689_492_013_056


def test_example_6_a_chunk_beside_decodes():
    found = least("Llama-3.1-8B", "chunked", batch=16)
    assert (found.bytes, found.flops) == (17_425_768_448, 7_878_066_962_432)


def test_example_7_memory_of_a_sip():
    network, one = step("Llama-3.1-8B", "decode")
    assert find_memory(network, one).weights == 16_060_522_496
    assert (SIP - 16_060_522_496) // 131_072 == 6_168_923


@pytest.mark.parametrize(
    ("name", "batch", "gigabytes"),
    [
        ("Mixtral-8x7B", 1, 25.498),
        ("Mixtral-8x7B", 8, 84.114),
        ("Mixtral-8x7B", 32, 93.134),
        ("Qwen3-30B-A3B", 1, 6.084),
        ("Qwen3-30B-A3B", 8, 25.843),
        ("Qwen3-30B-A3B", 64, 59.510),
    ],
)
def test_examples_8_and_9_read_the_experts_that_are_expected(name, batch, gigabytes):
    assert least(name, "decode", batch=batch).weight_bytes / 1e9 == pytest.approx(gigabytes, abs=6e-4)


def test_example_10_a_layer_of_gpt_3():
    network, one = step("GPT-3", "decode", batch=8, context=2048)
    layer = [each for each in list_operators(network, one) if each.times == 96 and each.kind == "matrix"]
    assert sum(each.weight_bytes for each in layer) / 2 == 1_811_939_328 + 9 * 12288 * 1  # and its biases


def test_example_15_deepseek_in_8_bits():
    found = least("DeepSeek-V3", "decode", weights="f8e4m3")
    assert found.weight_bytes == 36_625_618_432


def test_windows_end_what_a_token_sees():
    assert Sequences(1, 4, 0).sum_context(None, causal=True) == 10
    assert Sequences(1, 4, 0).sum_context(2, causal=True) == 1 + 2 + 2 + 2
    assert Sequences(2, 1, 99).sum_context(16, causal=True) == 32
    assert Sequences(1, 4, 0).sum_context(None, causal=False) == 16
    assert Sequences(1, 3, 2).sum_context(4, causal=True) == 3 + 4 + 4


@pytest.mark.parametrize(
    ("name", "phase", "sizes", "sentence"),
    [
        ("BERT-large", "decode", {}, "BERT-large is an encoder, which has no decode; give phase=prefill"),
        ("Llama-3.1-8B", "dekode", {}, "Llama-3.1-8B got phase='dekode'; did you mean 'decode'"),
        ("Llama-3.1-8B", "decode", {"batch": 0}, "Llama-3.1-8B got batch=0; give 1 or more"),
        ("GPT-3", "decode", {"context": 4096}, "GPT-3 attends to at most 2,048 tokens, got 4,096; give fewer"),
        ("Llama-3.1-8B", "chunked", {"chunk": 4096}, "Llama-3.1-8B got chunk=4096 of prompt=2048; give 1 to 2048"),
        (
            "Falcon-7B",
            "decode",
            {"tensor": 2},
            "Falcon-7B has 71 heads, which tp=2 ranks cannot share; give a divisor",
        ),
        (
            "Llama-3.1-8B",
            "decode",
            {"expert_ranks": 2},
            "Llama-3.1-8B has no experts, which ep=2 ranks could share; leave ep out, or give tp=2",
        ),
        (
            "Mixtral-8x7B",
            "decode",
            {"expert_ranks": 3},
            "Mixtral-8x7B has 8 experts, which ep=3 ranks cannot share; give a divisor",
        ),
        (
            "Mixtral-8x7B",
            "decode",
            {"expert_ranks": 2, "batch": 3},
            "Mixtral-8x7B got batch=3, which ep=2 ranks cannot share; give a multiple of 2",
        ),
        (
            "Mixtral-8x7B",
            "decode",
            {"expert_ranks": 2, "tensor": 2, "batch": 2},
            "Mixtral-8x7B got tp=2 and ep=2; collectives of some of the ranks are not modelled: give one of them, and the "
            "other 1",
        ),
    ],
)
def test_steps_that_cannot_be_are_refused_in_a_sentence(name, phase, sizes, sentence):
    with pytest.raises(InputError) as error:
        step(name, phase, **sizes)
    assert sentence in str(error.value)


def test_steps_of_more_sips_than_there_are_are_refused():
    network, one = step("Mixtral-8x7B", "decode", expert_ranks=2, replicas=2, batch=2)
    with pytest.raises(InputError) as error:
        check_sips(network, one, "sip_2x4x4", 2)
    assert str(error.value) == (
        "Mixtral-8x7B got tp=1, ep=2 and dp=2, which take 4 SIPs, and sip_2x4x4 has 2; give fewer, or --set "
        "topology.sips.count=4"
    )


def test_what_does_not_fit_is_refused_with_what_would():
    network, one = step("Llama-3.1-8B", "decode", batch=64, context=4096)
    with pytest.raises(InputError) as error:
        check_memory(network, one, 24 << 30)
    assert str(error.value) == (
        "Llama-3.1-8B needs 50.425 GB on a SIP (16.061 GB of weights, 34.360 GB of cache, 0.005 GB of activations), which has "
        "25.770 GB: 24.655 GB are missing; tp=2 would fit, or batch=18"
    )


@pytest.mark.parametrize(
    ("asked", "held", "remedy"),
    [
        # Of 4.3 GB of cache of 8 sequences of a rank 2.2 GB fit: 4 on each of two ranks.
        (
            {"expert_ranks": 2, "batch": 16, "context": 4096},
            50_500_000_000,
            "; weights and cache of 8 bits would fit, or batch=8",
        ),
        (
            {"expert_ranks": 2, "batch": 16, "context": 4096},
            26_000_000_000,
            "; give fewer sequences or tokens, more stages",
        ),
        ({"expert_ranks": 2, "batch": 16, "context": 4096}, 27_000_000_000, "; weights and cache of 8 bits would fit"),
    ],
)
def test_a_remedy_is_one_that_fits(asked, held, remedy):
    network, one = step("Mixtral-8x7B", "decode", **asked)
    with pytest.raises(InputError) as error:
        check_memory(network, one, held)
    assert remedy in str(error.value)
