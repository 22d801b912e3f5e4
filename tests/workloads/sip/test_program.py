"""A step of decode equals a network in numpy, and one program of all layers takes the time of its parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.limits.run_options import RunOptions
from kernbench.machine import load_machine
from kernbench.runs.bench import Bench
from kernbench.runs.run import run_kernels
from kernbench.workloads.architecture import Architecture
from kernbench.workloads.config_json import read_config
from kernbench.workloads.kernels import attention
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.plan import Plan
from kernbench.workloads.routing import Routing
from kernbench.workloads.sip.choices import WITHOUT, Choices, read_choices
from kernbench.workloads.sip.program import Known, check_lowered, list_ids
from kernbench.workloads.sip.run import choose_decoder
from kernbench.workloads.step import Step
from tests.workloads.configs import CONFIGS, decoder, gpt2
from tests.workloads.reference import decode, encode_images, encode_text, prefill
from tests.workloads.sip.steps import step_of, time_step

SIZES = "64/2/4/2/16/128/256"
NETWORKS = {
    "llama": decoder("llama", SIZES),
    "qwen3": decoder("qwen3", SIZES, tie_word_embeddings=True),
    "qwen2": decoder("qwen2", SIZES),
    "gpt2": {**gpt2(64, 2, 4, 64), "vocab_size": 256},
    "gpt_neox": decoder("gpt_neox", "64/2/4/4/16/128/256", rotary_pct=0.25, hidden_act="gelu_fast"),
    "falcon": {
        **CONFIGS["Falcon-7B"],
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 256,
    },
    "gemma2": decoder(
        "gemma2", "64/3/4/2/16/128/250", sliding_window=8, final_logit_softcapping=2.0, attn_logit_softcapping=1.5
    ),
    "gemma3": decoder("gemma3_text", "64/3/4/2/16/128/250", sliding_window=8, sliding_window_pattern=2),
    "window": decoder("mistral", "64/3/4/2/16/128/250", sliding_window=8),
}


def read(name: str) -> Architecture:
    return read_config(NETWORKS[name], "config.json", name)


def refer(network: Architecture, numbers: Numbers, step: Step) -> list[tuple[Known, Any]]:
    """For each rank that shares experts, whose sequences are its own: what the host knows, and the logits of the reference."""
    part, n = step.parts[0], step.expert_ranks
    whole = replace(step, parts=tuple(replace(one, count=one.count * n) for one in step.parts))
    every = list_ids(whole, network.vocabulary)
    of_rank = [every[rank * step.tokens : (rank + 1) * step.tokens] for rank in range(n)]
    if step.phase != "decode":
        return [(Known(ids, {}), refer_prompts(network, numbers, step, ids)) for ids in of_rank]
    chosen: list[dict[int, Routing]] = [{} for _ in of_rank]
    logits = [decode(network, numbers, ids, part.context, found) for ids, found in zip(of_rank, chosen, strict=True)]
    routings = {layer: Routing(tuple(one for each in chosen for one in each[layer].chosen)) for layer in chosen[0]}
    return [(Known(ids, routings), each) for ids, each in zip(of_rank, logits, strict=True)]


def refer_prompts(network: Architecture, numbers: Numbers, step: Step, ids: list[int]) -> Any:
    """The logits of prompts, and of the tokens beside them."""
    part = step.parts[0]
    if network.patches:
        return encode_images(network, numbers, step.sequences)
    if not network.causal:
        return encode_text(network, numbers, ids, step.sequences)
    new = part.count * part.tokens
    found = [prefill(network, numbers, ids[:new], part.count, part.before)]
    found += [decode(network, numbers, ids[new:], beside.context) for beside in step.parts[1:]]
    return np.concatenate(found, axis=1)


def find_mismatches(
    network: Architecture, step: Step, machine: str = "tiny", choices: Choices = WITHOUT
) -> tuple[str, ...]:
    """Where the logits of ranks are not those of the reference."""
    numbers = Numbers()
    expected = refer(network, numbers, step)

    def work(torch: Any, index: int) -> None:
        of_experts, of_tensor = divmod(index, step.tensor)
        known, logits = expected[of_experts]
        one = choose_decoder(network, step)(
            torch, Plan(network, every_layer=True), step, index, numbers, known, choices
        )
        one.launch()
        part = -(-len(logits) // step.tensor)
        torch.expect(one.logits, logits[of_tensor * part : (of_tensor + 1) * part], tolerance)

    def run(torch: Any) -> None:
        if step.ranks == 1:
            work(torch, 0)
        else:
            torch.distributed.init_process_group(backend="ahbm")
            torch.multiprocessing.spawn(lambda index: work(torch, index), nprocs=step.ranks)

    tolerance = 1e-3 if step.types.activations == "f32" else 3e-2
    bench = Bench("net", "a network", {}, Path(__file__), run)
    fields = {"sips.count": step.ranks} if step.ranks > 1 else {}
    loaded = load_machine(machine, fields)
    return run_kernels(bench, loaded, range(step.ranks), {}, RunOptions(verify=True), 0.0)["mismatches"]


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("batch", "context", "dtype"), [(1, 40, "f32"), (3, 9, "f32"), (3, 9, "f16")])
def test_the_logits_of_a_small_network_equal_those_of_numpy(name, batch, context, dtype):
    network = read(name)
    assert find_mismatches(network, step_of(network, batch, context, dtype)) == ()


@pytest.mark.parametrize("name", ["llama", "gpt2", "falcon"])
@pytest.mark.parametrize(
    "text",
    ["x=1,qkv=1,units=1,inner=1", "down=2x1", "down=2x2,inner=1,splits=3", "down=1x1,splits=9", "spread=no,qkv=1"],
)
def test_the_logits_are_the_same_whatever_is_chosen(name, text):
    network = read(name)
    choices = read_choices(text, name, 2, 2)
    assert find_mismatches(network, step_of(network, 3, 9, "f32"), choices=choices) == ()


def test_the_units_of_a_pair_are_merged_in_blocks_if_scratch_holds_no_more(monkeypatch):
    monkeypatch.setattr(attention, "MERGED_BYTES", 2 * 2 * 16 * 4)  # two units of two heads of 16 elements
    network = read("llama")
    assert find_mismatches(network, step_of(network, 1, 40, "f32"), choices=Choices(splits=9)) == ()


@pytest.mark.parametrize("name", ["falcon", "qwen3"])
def test_attention_of_one_unit_leaves_scratch_to_the_next(name):
    """Tens of units a PE, in scratch for a few."""
    network = read(name)
    time_step(network, step_of(network, 40, 100, "f16"), "tiny", {"pe.scratch_bytes": "32 KiB"})


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["down=4x4,x=2,inner=1", "down=16x1,qkv=2,splits=2", "down=16x8,units=4,spread=no", "down=4x8"]
)
def test_the_logits_are_the_same_whatever_is_chosen_on_the_default_machine(text):
    network = read("llama")
    choices = read_choices(text, "llama", 16, 8)
    assert find_mismatches(network, step_of(network, 3, 9, "f32"), "sip_2x4x4", choices) == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "gpt2", "gpt_neox", "gemma2"])
def test_ranks_of_tensor_parallelism_give_the_same_logits(name):
    network = read(name)
    assert find_mismatches(network, step_of(network, 3, 9, "f32", 2), "sip_2x4x4") == ()


@pytest.mark.parametrize(("tensor", "machine"), [(1, "tiny"), pytest.param(2, "sip_2x4x4", marks=pytest.mark.slow)])
def test_one_program_of_all_layers_takes_the_time_of_its_parts_to_the_femtosecond(tensor, machine):
    network = read_config(decoder("llama", "64/4/4/2/16/128/256"), "config.json", "llama")
    step = step_of(network, 3, 9, "f16", tensor)
    whole = time_step(network, step, machine, {})
    parts = time_step(network, step, machine, {}, every_layer=False)
    assert whole.of("embedding") + whole.of("output") == parts.of("embedding") + parts.of("output")
    for layer in range(4):
        assert whole.of(f"layer {layer}") == parts.of("layer 0")


@pytest.mark.parametrize(
    ("name", "what"), [("DeepSeek-V3", "phase=prefill of experts"), ("Mixtral-8x7B", "phase=prefill of experts")]
)
def test_what_has_no_kernels_is_refused_by_name(name, what):
    network = read_config(CONFIGS[name], "config.json", name)
    step = replace(step_of(network, 1, 9, "f16"), phase="prefill")
    with pytest.raises(InputError) as error:
        check_lowered(network, step)
    assert str(error.value).startswith(
        f"{name} needs {what}, for which there are no kernels yet; it runs with phase=decode"
    )
